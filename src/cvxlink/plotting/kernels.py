"""Matrices over pairs of points: kernels and affinities as heat maps, and the spectrum of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.formulation import Learnt
from ..engine.learnt_kernel import LearntKernel
from ..errors import CvxlinkError, InvalidInput
from ..numerics.checks import as_kernel, as_labels, as_square
from ..numerics.matrices import Congruence, Matrix, as_dense, diagonal
from .canvas import CANNOT, COLOURS, SMALL, as_title, axes, bare, count_on_x, drawn_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A heat map shows at most this many points: more would be finer than a screen.
MOST_POINTS = 2000
# Clusters below this share of the points get no name beside a heat map: names would overlap.
LEAST_NAMED = 0.035


@dataclass(frozen=True, eq=False)
class GivenKernel(LearntKernel):
    """A kernel given as a matrix, with the interface of a learnt one."""

    matrix: np.ndarray

    @cached_property
    def learnt(self) -> Learnt:
        """The kernel."""
        return Learnt(kernel=self.matrix)


def as_learnt(kernel: Any) -> LearntKernel:
    """Return a solution as it is, and a matrix wrapped as a kernel."""
    if isinstance(kernel, LearntKernel):
        return kernel
    matrix = as_square(kernel, "K, a solution or a matrix,", "K")
    return GivenKernel(as_kernel(matrix, matrix.shape[0], "K"))


def has_kernel(learnt: LearntKernel) -> bool:
    """Whether a method yields a kernel."""
    try:
        return learnt.stored_kernel is not None
    except CvxlinkError:
        return False


def plot_kernel(K: Any, labels: Any = None, ax: Axes | None = None, title: str = "") -> Axes:
    """Draw a kernel as a heat map, its points ordered by label, with lines between the clusters.

    Parameters
    ----------
    K : Solution or array, n × n
        Of more than 2000 points about 2000 are shown, in proportion from every cluster; the n × n array is not built.
    labels : labels, optional
        Without them the points are in their own order.
    ax : matplotlib Axes, optional
    title : str

    Notes
    -----
    Colours range from −1 to 1 if the kernel has a unit diagonal, and otherwise over all but the largest hundredth of
    the entries.
    """
    return _heat_map(_kernel_of(as_learnt(K)), labels, axes(ax), title)


def plot_affinity(solution: LearntKernel, labels: Any = None, ax: Axes | None = None, title: str = "") -> Axes:
    """Draw the affinity that spectral clustering works on, as :func:`plot_kernel` draws a kernel.

    For methods that yield an affinity and no kernel, such as SRCP, E2CP and SL.
    """
    if not isinstance(solution, LearntKernel):
        problem = f"plot_affinity takes a solution, not {type(solution).__name__}; for a matrix: plot_kernel"
        raise InvalidInput(problem, "solution")
    return _heat_map(solution.affinity, labels, axes(ax), title)


def plot_spectrum(K: Any, ax: Axes | None = None, title: str = "") -> Axes:
    """Draw the eigenvalues of a kernel on a logarithmic scale, with its numerical rank.

    Parameters
    ----------
    K : Solution or array, n × n
        For a method whose variable is not the kernel, such as M in CCSR, the kernel it yields.
    ax : matplotlib Axes, optional
    title : str

    Notes
    -----
    The rank is ``solution.rank``: the number of eigenvalues above 1e-6 times the largest. Eigenvalues below 1e-10 times
    the largest are rounding errors and not drawn.
    """
    learnt = as_learnt(K)
    kernel = _kernel_of(learnt)
    eigenvalues, rank = np.linalg.svd(learnt.factor, compute_uv=False) ** 2, learnt.rank
    if not rank:
        raise InvalidInput("the kernel is zero or negative, so it has no positive eigenvalues to draw", "K")
    ax, numbers = axes(ax), np.arange(1, len(eigenvalues) + 1)
    size = float(np.clip(300 / len(eigenvalues), 2, 6))
    ax.semilogy(numbers[:rank], eigenvalues[:rank], "o", color=COLOURS[0], markersize=size)
    if rank < len(eigenvalues):
        below = {"color": "#777777", "markerfacecolor": "none", "markersize": size}
        ax.semilogy(numbers[rank:], eigenvalues[rank:], "o", **below)
    ax.axvline(rank + 0.5, color=CANNOT, linestyle="--", linewidth=1.2, label=f"numerical rank {rank}")
    ax.legend(fontsize=SMALL)
    negative = eigenvalues.sum() - diagonal(kernel).sum()
    note = f"\nnot drawn: negative eigenvalues, {-negative:.2g} in total" if negative > 1e-6 * eigenvalues[0] else ""
    ax.set(title=as_title(title), xlabel=f"eigenvalues, by size{note}", ylabel="eigenvalue of the kernel")
    count_on_x(ax)
    ax.set_xlim(0, len(eigenvalues) + 1)
    return ax


def _kernel_of(learnt: LearntKernel) -> Matrix:
    """Return the kernel as it is kept, or say what there is to draw instead."""
    try:
        return learnt.stored_kernel
    except CvxlinkError as error:
        raise InvalidInput(f"there is no kernel to draw: {error}; see plot_affinity and plot_embedding", "K") from error


def _heat_map(matrix: Any, labels: Any, ax: Any, title: str) -> Any:
    n = matrix.shape[0]
    which = "evenly spaced" if labels is None else "in proportion from every cluster"
    labels = np.zeros(n, dtype=int) if labels is None else as_labels(labels, n, whose="the matrix K")
    visible = _shown(labels)
    picture = _between(matrix, visible)
    limit, beyond = _limit(picture)
    image = ax.imshow(picture, cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
    bare(ax, title, "" if len(visible) == n else f"{len(visible)} of {n} points, {which}")
    names, starts, counts = np.unique(labels[visible], return_index=True, return_counts=True)
    if len(names) > 1:
        for edge in starts[1:]:
            ax.axhline(edge - 0.5, color="black", linewidth=0.7)
            ax.axvline(edge - 0.5, color="black", linewidth=0.7)
        named = counts >= LEAST_NAMED * len(visible)
        middles = (starts + (counts - 1) / 2)[named]
        ax.set_yticks(middles, [drawn_name(name) for name in names[named]], fontsize=SMALL)
        ax.tick_params(axis="y", length=0)
        ax.set_ylabel("cluster", fontsize=SMALL)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.75, extend="both" if beyond else "neither")
    bar.ax.tick_params(labelsize=SMALL)
    return ax


def _shown(labels: np.ndarray) -> np.ndarray:
    """Return the points in order of their labels; of too many, evenly spaced ones from every cluster, at least one."""
    share = min(MOST_POINTS / len(labels), 1.0)
    parts = []
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        count = max(round(share * len(members)), 1)
        parts.append(members[np.linspace(0, len(members) - 1, count).round().astype(int)])
    return np.concatenate(parts)


def _between(matrix: Any, points: np.ndarray) -> np.ndarray:
    """Return the part of a matrix, dense, sparse or kept as a product, that belongs to some points."""
    if isinstance(matrix, Congruence):
        return Congruence(matrix.T[points], matrix.M).toarray()
    return as_dense(matrix[points][:, points])


def _limit(picture: np.ndarray) -> tuple[float, bool]:
    """Return where the colours end, and whether entries lie beyond."""
    sizes = abs(picture)
    largest = float(sizes.max())
    if largest <= 1 + 1e-4 and np.allclose(picture.diagonal(), 1, atol=1e-4):
        return 1.0, False
    limit = float(np.quantile(sizes, 0.99)) or largest or 1.0
    return limit, largest > limit
