"""All generalised eigenvectors of a Laplacian and another symmetric matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from ...numerics.eigenpairs import Complement

# Eigenvalues nearer than this, relative to the largest, count as one: double precision does not tell their eigenvectors
# apart.
CLOSE = 1e-9


def close_groups(numbers: np.ndarray, close: float) -> list[np.ndarray]:
    """Return the positions of numbers in groups, in which each is close to the next."""
    order = np.argsort(numbers)
    return np.split(order, np.flatnonzero(np.diff(numbers[order]) > close) + 1)


def generalised_eigenvectors(
    L: Any, B: Any, trivial: np.ndarray, orthogonal: bool
) -> tuple[np.ndarray, np.ndarray] | None:
    r"""Return all finite λ ≠ 0 and unit f with Lf = λBf, as 1/λ and columns; None where L has further null vectors.

    With ``orthogonal`` the equation is that of the forms on the complement of the null vector of L. Without, f is a
    vector g of the complement plus a multiple of v; as :math:`v^\top L = 0`, also :math:`v^\top B f = 0`, which
    determines the multiple, and leaves a Schur complement of B for g.
    """
    space = Complement(len(trivial), trivial)
    Bv = B @ trivial
    own = float(trivial @ Bv)
    form = space.restrict(B)
    if not orthogonal:
        if abs(own) <= 1e-14 * max(float(abs(form).max()), abs(own)):
            return None
        c = space.lift(np.eye(space.dimension)).T @ Bv
        form = form - np.outer(c, c) / own
    try:
        inverses, y = scipy.linalg.eigh(form, space.restrict(L))
    except np.linalg.LinAlgError:
        return None
    f = space.lift(y)
    if not orthogonal:
        f = f - np.outer(trivial, (Bv @ f) / own)
    finite = abs(inverses) > 1e-12 * abs(inverses).max(initial=0.0)
    f = f[:, finite]
    return inverses[finite], f / np.linalg.norm(f, axis=0)
