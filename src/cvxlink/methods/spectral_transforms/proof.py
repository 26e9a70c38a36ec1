"""Bounds for spectra fitted to links: derived in the modules ``ordered_spectrum`` and ``enclosure``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.optimize import nnls

from ...certificates.certificate import Certificate
from .enclosure import largest_alignment
from .ordered_spectrum import OrderedSpectrum, along_rays
from .shifted_spectrum import ShiftedSpectrum


def certify_ordered(program: OrderedSpectrum, point: Mapping[str, np.ndarray], duals: Mapping[str, Any]) -> Certificate:
    """Compare with the bound at the projection, computed again; multipliers are not needed."""
    mu = point["mu"]
    bound = upper_bound(program, _projection(program))
    basis = "Lagrange bound at the projection of the link signs, computed again"
    return Certificate(
        program.value(point),
        program.violations(point),
        lower_bound=_attained(program, mu),
        upper_bound=bound if np.isfinite(bound) else None,
        maximises=True,
        basis=basis if np.isfinite(bound) else "some eigenvectors nearly vanish on the linked points",
        scale=max(float(abs(mu).max()), 1 / float(np.linalg.norm(program.norm_root, axis=0).max() or 1.0)),
    )


def upper_bound(program: OrderedSpectrum, w: np.ndarray) -> float:
    """Return a number that no ordered spectrum exceeds, from any w; infinity if rounding prevents it."""
    a, R = program.agreement, program.norm_root
    rounding = 4 * (sum(R.shape) + 4) * float(np.finfo(float).eps)
    lengths = np.linalg.norm(R, axis=0)
    used = lengths > 0
    u = np.linalg.lstsq((R[:, used] / lengths[used]).T, np.ones(int(used.sum())), rcond=None)[0]
    left = along_rays(a - R.T @ w) + rounding * along_rays(abs(a) + abs(R).T @ abs(w))
    limits = along_rays(R.T @ u) - rounding * along_rays(abs(R).T @ abs(u))
    if (left[limits <= 0] > 0).any():
        return np.inf
    ratio = float(np.max(left[limits > 0] / limits[limits > 0], initial=0.0))
    return (float(np.linalg.norm(w)) + float(np.linalg.norm(u)) * ratio) * (1 + rounding)


def _projection(program: OrderedSpectrum) -> np.ndarray:
    """Return R times the best spectrum, up to its length; zero if that cannot be computed."""
    a, R = program.agreement, program.norm_root
    columns = along_rays(R)
    lengths = np.linalg.norm(columns, axis=0)
    columns = columns / np.where(lengths > 0, lengths, 1.0)
    c = np.linalg.lstsq(R.T, a, rcond=None)[0]
    try:
        return columns @ nnls(columns, c)[0]
    except RuntimeError:  # too many iterations
        return np.zeros(len(R))


def _attained(program: OrderedSpectrum, mu: np.ndarray) -> float:
    """Return the value of an exactly feasible spectrum near the given one."""
    feasible = np.maximum(mu, 0)
    feasible[1:] = np.minimum.accumulate(feasible[1:])
    rounding = 4 * (len(mu) + 4) * float(np.finfo(float).eps)
    size = float(np.linalg.norm(program.norm_root @ feasible)) * (1 + rounding)
    feasible = feasible / max(1.0, size)
    return float(program.agreement @ feasible) - rounding * float(abs(program.agreement) @ feasible)


def certify_shifted(program: ShiftedSpectrum, point: Mapping[str, Any], duals: Mapping[str, Any]) -> Certificate:
    """Compare with a bound over all shifts, computed again."""
    epsilon, value = float(point["epsilon"]), program.value(point)
    enclosure = largest_alignment(program)
    size = max(float(program.eigenvalues[-1]), 1e-300)
    return Certificate(
        value,
        {"positive": max(0.0, -epsilon) / size},
        lower_bound=value if epsilon >= 0 and np.isfinite(value) else None,
        upper_bound=enclosure.high if np.isfinite(enclosure.high) else None,
        maximises=True,
        basis="the largest alignment over all shifts from 0 to infinity, enclosed by intervals",
    )
