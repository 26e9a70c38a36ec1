"""Affinity propagation as a minimum-divergence problem (Lu & Carreira-Perpiñán 2008)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular

from ... import terms
from ...data.graph import Graph
from ...data.link_weights import as_link_values, on_links
from ...data.links import Links
from ...engine.formulation import Learnt
from ...engine.problem import Problem
from ...errors import InvalidInput
from ...model.about import About
from ...numerics.arguments import as_choice
from ...numerics.checks import as_kernel
from ...numerics.matrices import Arrays, as_dense
from ...programs.declared import SpecialProgram
from ..shared.solvable import AlwaysSolvable
from .definite_kernel import DefiniteKernel
from .nearness import Nearness
from .proof import certify_nearness
from .routes import ClosedForm, DualNewton

ALGORITHMS = ("auto", "A", "B")
LINK_ARGUMENTS = ("must_bound", "cannot_bound", "must_noise", "cannot_noise")
# Bounds and squared noise below this fraction of the kernel cannot be told from zero in what remains of its digits.
LEAST_LEVEL = 1e-10

# The noise of the affinity propagation of Lu & Carreira-Perpiñán, where none is given.
NOISE = 0.1


def noisy_unless_bounded(options: Collection[str]) -> dict[str, Any]:
    """Return noise for links that were given neither bounds nor noise, and the jitter that makes a kernel definite."""
    bounded = any(name in options for name in ("must_bound", "cannot_bound"))
    noise = {} if bounded else {"must_noise": NOISE, "cannot_noise": NOISE}
    return {name: value for name, value in {**noise, "jitter": "smallest"}.items() if name not in options}


@dataclass(frozen=True, eq=False)
class MinKL(Problem):
    r"""Minimum-divergence affinity propagation.

    .. math::

        \min_{\bar K \succ 0}\ -\log\frac{|\bar K|}{|K|} + \operatorname{tr}(K^{-1} \bar K) \quad\text{s.t.}\quad
        \bar K_{ii} + \bar K_{jj} - 2\bar K_{ij} \le \alpha_{ij} \text{ on } \mathcal{M},\quad
        \bar K_{ii} + \bar K_{jj} + 2\bar K_{ij} \le \beta_{ij} \text{ on } \mathcal{C}.

    A kernel is the covariance of a Gaussian f. Among all Gaussians in which must-linked values differ little,
    :math:`E(f_i - f_j)^2 \le \alpha`, and cannot-linked values are nearly opposite, :math:`E(f_i + f_j)^2 \le \beta`,
    this is the one nearest to the given one: the objective is n plus twice the Kullback-Leibler divergence.

    With noise instead of bounds, links are observations :math:`f_i \mp f_j \sim \mathcal N(0, \varepsilon^2)`, and

    .. math::

        \min_{\bar K \succ 0}\ -\log\frac{|\bar K|}{|K|} + \operatorname{tr}(K^{-1} \bar K)
        + \sum_{\mathcal{M}} \frac{\bar K_{ii} + \bar K_{jj} - 2\bar K_{ij}}{\varepsilon_m^2}
        + \sum_{\mathcal{C}} \frac{\bar K_{ii} + \bar K_{jj} + 2\bar K_{ij}}{\varepsilon_c^2}

    is solved by the posterior covariance :math:`\bar K = (K^{-1} + M)^{-1}`, equation (1) of the paper.

    Parameters
    ----------
    kernel : array, n × n
        The prior K, symmetric and positive definite; ``graph.kernel()`` makes one of a graph.
    links : Links
        They may contradict one another: that only makes the kernel small.
    must_bound, cannot_bound : number, mapping, matrix or array
        The bounds α and β: one number for all links; by pair ``{(0, 1): 0.1}``, every link named; a symmetric matrix;
        or an array in the order of ``links.must`` and ``links.cannot``, which are sorted. With a unit diagonal
        :math:`E(f_i \mp f_j)^2` is between 0 and 4 in the prior: a bound of 2 asks for hardly anything, one of 0.1 for
        near equality or opposition.
    must_noise, cannot_noise : likewise
        The standard deviations ε of the observations, instead of bounds.
    jitter : None, "smallest" or a number
        What is added to the diagonal of a kernel that is not positive definite. None refuses such a kernel, "smallest"
        adds the least that makes it positive definite, and a number is added as it is. ``explain()`` says how much was
        added. As much as the diagonal itself means that the affinity was not a kernel to begin with.
    algorithm : "auto", "A" or "B"
        How an affinity is made for spectral clustering. A, for two clusters: max(0, K̄) with all links. B, for more,
        where "not the same" no longer means "the opposite": K̄ from the must-links alone, then one cannot-link at a time
        added to it, and the smallest entry over these. "auto" goes by the number of clusters.

    Notes
    -----
    ``duals["must"]`` and ``duals["cannot"]`` are −λ, one per link in the order of ``links.must`` and
    ``links.cannot``. A link whose multiplier is zero, up to rounding, does not bind.

    ``solution.affinity`` does not know the number of clusters and is that of algorithm A under "auto"; what
    ``cluster(k)`` uses is ``solution.affinity_for(k)``.

    The paper prints ``+log(|K̄|/|K|)``, which is not convex; the divergence has the minus.

    References
    ----------
    Lu & Carreira-Perpiñán (2008), CVPR; equation (1), Algorithms A and B, and the minimum-divergence formulation.
    """

    kernel: Any
    links: Links
    must_bound: Any = None
    cannot_bound: Any = None
    must_noise: Any = None
    cannot_noise: Any = None
    jitter: Any = None
    algorithm: str = "auto"

    about = About(
        "lu2008",
        program="log-determinant",
        form="logdet",
        takes="hard bounds or soft links",
        yields="kernel, affinity",
        cluster="spectral",
        defaults=noisy_unless_bounded,
    )
    adjustable = ("must_bound", "cannot_bound", "must_noise", "cannot_noise")

    def variables(self) -> dict[str, cp.Variable]:
        """The new kernel K̄."""
        K = cp.Variable((self.links.n, self.links.n), symmetric=True, name="K")
        return {"K": terms.written_as(K, r"\bar K")}

    def objective(self, K: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """The divergence from the prior, and the misfit of the observations where they are soft."""
        divergence = terms.divergence(K, self.prior, self.precision, symbol="K")
        if not self.is_soft:
            return cp.Minimize(divergence)
        must = terms.must_distances(K, self.links, self.parameter("must_precision"))
        cannot = terms.cannot_sums(K, self.links, self.parameter("cannot_precision"))
        return cp.Minimize(divergence + must + cannot)

    def constraints(self, K: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """Must-linked values differ little, cannot-linked values are nearly opposite."""
        if self.is_soft:
            return {}
        return {
            "must": terms.must_distances_at_most(K, self.links, self.parameter("must_level")),
            "cannot": terms.cannot_sums_at_most(K, self.links, self.parameter("cannot_level")),
        }

    @cached_property
    def program(self) -> SpecialProgram:
        """Matrix nearness: a concave program in one multiplier per link, or a closed form."""
        return SpecialProgram(
            self,
            self._as_data,
            (DualNewton(), ClosedForm()),
            certify_nearness,
            not_linear="its objective is a logarithm of a determinant",
            suits_solvers=False,
            refutes=AlwaysSolvable(
                "a small enough multiple of the prior satisfies all bounds",
                f"its objective is at least {self.links.n}: x − log x ≥ 1 for every eigenvalue x of K⁻¹K̄",
            ),
        )

    # ------------------------------------------------------------------ what is given

    def __post_init__(self) -> None:
        if not isinstance(self.links, Links):
            raise InvalidInput(
                "MinKL takes a kernel and Links: MinKL(graph.kernel(), Links(n, must=…, cannot=…), …)", "links"
            )
        if isinstance(self.kernel, Graph):
            raise InvalidInput("MinKL takes a kernel matrix; make one of the graph with graph.kernel()", "kernel")
        object.__setattr__(self, "kernel", as_kernel(self.kernel, self.links.n))
        as_choice(self.algorithm, "algorithm", ALGORITHMS)
        self._check_bounds_or_noise()
        self._check_levels()

    def _check_bounds_or_noise(self) -> None:
        given = {name for name in LINK_ARGUMENTS if getattr(self, name) is not None}
        if {name.partition("_")[2] for name in given} == {"bound", "noise"}:
            both = " and ".join(sorted(given))
            raise InvalidInput(
                f"give bounds, which are enforced, or noise, which is soft, but not both; {both} are given", min(given)
            )
        mode = "noise" if any("noise" in name for name in given) else "bound"
        for kind, pairs in (("must", self.links.must), ("cannot", self.links.cannot)):
            name = f"{kind}_{mode}"
            if name in given:
                values = as_link_values(getattr(self, name), pairs, self.links.n, name)
                on_links(values, pairs, name)
                object.__setattr__(self, name, values)
            elif len(pairs):
                asked = f"{kind}_bound=… or {kind}_noise=…" if not given else f"{name}=…"
                raise InvalidInput(f"there are {len(pairs)} {kind}-links; say how closely they hold: {asked}", name)

    def _check_levels(self) -> None:
        least = LEAST_LEVEL * float(np.diag(self.prior).max())
        for kind, levels in zip(("must", "cannot"), self.levels, strict=True):
            bounds = levels**2 if self.is_soft else levels
            if (bounds < least).any():
                name, smallest = (f"{kind}_noise", np.sqrt(least)) if self.is_soft else (f"{kind}_bound", least)
                raise InvalidInput(
                    f"{name} of {levels[bounds.argmin()]:.3g} cannot be told from zero beside a kernel with "
                    f"{np.diag(self.prior).max():.3g} on its diagonal, jitter included; give at least {smallest:.2g}",
                    name,
                )

    @property
    def is_soft(self) -> bool:
        """Whether links are noisy observations instead of bounds."""
        return self.must_noise is not None or self.cannot_noise is not None

    @cached_property
    def _definite(self) -> DefiniteKernel:
        return DefiniteKernel.of(self.kernel, self.jitter)

    @property
    def added_jitter(self) -> float:
        """What was added to the diagonal of the kernel."""
        return self._definite.jitter

    @property
    def prior(self) -> np.ndarray:
        """The prior kernel K, with the jitter."""
        return self._definite.matrix

    @cached_property
    def precision(self) -> np.ndarray:
        """The inverse K⁻¹ of the prior; only CVXPY needs it.

        From the inverse of a triangular factor, whose condition is the root of that of K.
        """
        factor = solve_triangular(self._as_data.prior_factor, np.eye(self.links.n), lower=True)
        inverse = factor.T @ factor
        return np.asarray((inverse + inverse.T) / 2)

    @cached_property
    def levels(self) -> tuple[np.ndarray, np.ndarray]:
        """The bounds α and β, or the noise ε_m and ε_c, one per link."""
        mode = "noise" if self.is_soft else "bound"
        must, cannot = (
            on_links(getattr(self, f"{kind}_{mode}"), pairs, f"{kind}_{mode}") if len(pairs) else np.zeros(0)
            for kind, pairs in (("must", self.links.must), ("cannot", self.links.cannot))
        )
        return must, cannot

    @property
    def must_level(self) -> np.ndarray:
        """α, or ε_m."""
        return self.levels[0]

    @property
    def cannot_level(self) -> np.ndarray:
        """β, or ε_c."""
        return self.levels[1]

    @property
    def must_precision(self) -> np.ndarray:
        """1/ε_m²."""
        return 1 / self.must_level**2

    @property
    def cannot_precision(self) -> np.ndarray:
        """1/ε_c²."""
        return 1 / self.cannot_level**2

    @cached_property
    def _as_data(self) -> Nearness:
        """A column e_i − e_j or e_i + e_j for each link, its bound or its weight 1/ε²."""
        must, cannot = self.links.must, self.links.cannot
        pairs, n_must, count = np.vstack([must, cannot]), len(must), len(self.links)
        signs = np.column_stack([np.ones(count), np.repeat([-1.0, 1.0], [n_must, len(cannot)])])
        columns = np.repeat(np.arange(count), 2)
        U = sp.csc_array((signs.ravel(), (pairs.ravel(), columns)), shape=(self.links.n, count))
        groups, levels = {"must": slice(0, n_must), "cannot": slice(n_must, count)}, np.concatenate(self.levels)
        if self.is_soft:
            return Nearness(self.prior, U, groups, weights=1 / levels**2)
        return Nearness(self.prior, U, groups, bounds=levels)

    # ------------------------------------------------------------------ how it reads, and what is made of it

    @property
    def remarks(self) -> tuple[str, ...]:
        """The jitter, if there is any."""
        added, least = self._definite.jitter, self._definite.least
        text = f"jitter {added:.2e} on the diagonal: the least eigenvalue of the kernel is {least:.2e}"
        return (text,) if added else ()

    def learnt(self, values: Arrays) -> Learnt:
        """The new kernel, and the affinity of algorithm A or B."""
        values = self.answer(values)
        return Learnt(kernel=values.stored["K"], affinity=lambda n_clusters: self._affinity(values, n_clusters))

    def _affinity(self, values: Arrays, n_clusters: int | None) -> np.ndarray:
        """Return the affinity of algorithm A or B: negative entries are set to zero."""
        several = n_clusters is not None and n_clusters > 2
        algorithm = self.algorithm if self.algorithm != "auto" else "B" if several else "A"
        if algorithm == "A" or not len(self.links.cannot):
            return np.maximum(values["K"], 0)
        return np.maximum(self._one_cannot_link_at_a_time(), 0)

    def _one_cannot_link_at_a_time(self) -> np.ndarray:
        r"""Return the entrywise least of kernels, one per cannot-link, each nearest to that of the must-links.

        With v = K^m u and g = uᵀK^m u one more link is a rank-one update :math:`K^m - c\,vv^\top`: c = 1/(ε² + g) for
        an observation; for a bound β < g it is (g − β)/g², which makes uᵀK̄u = β.
        """
        K_m = as_dense(self.must_only.solve().values["K"])
        i, j = self.links.cannot.T
        V = K_m[:, i] + K_m[:, j]
        g = K_m[i, i] + K_m[j, j] + 2 * K_m[i, j]
        level = self.levels[1]
        c = 1 / (level**2 + g) if self.is_soft else np.maximum(g - level, 0) / g**2
        most, update = np.full_like(K_m, -np.inf), np.empty_like(K_m)
        for r in range(len(c)):
            np.maximum(most, np.outer(c[r] * V[:, r], V[:, r], out=update), out=most)
        return K_m - most

    @cached_property
    def must_only(self) -> MinKL:
        """The same problem without its cannot-links: the first step of algorithm B."""
        bound, noise = (None, self.cannot_noise) if self.is_soft else (self.cannot_bound, None)
        alone = Links(self.links.n, self.links.must)
        return replace(self, links=alone, cannot_bound=bound, cannot_noise=noise)
