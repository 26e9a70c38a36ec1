"""k-means with links: the relaxation of Peng & Wei (2007)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import cvxpy as cp
import numpy as np

from ... import terms
from ...data.links import Links
from ...engine.formulation import Learnt
from ...engine.problem import Problem
from ...errors import InvalidInput
from ...model.about import About
from ...numerics.arguments import as_choice, as_instance, as_mapping
from ...numerics.checks import as_count, as_labels, as_points
from ...numerics.matrices import Arrays, Congruence
from ...programs.declared import SpecialProgram
from .cuts import Cuts, require_within
from .kmeans_on_blocks import KMeansOnBlocks
from .partition import Partition, refuted, require_enough_clusters
from .proof import certify_relaxation, disproof
from .relaxation import Relaxation, cut_constraints, size_constraints
from .rounding import rounded_answer
from .routes import Splitting
from .strengthening import Strengthening, strengthening_of

# Squares of larger differences, and products of these, leave the range of numbers.
LARGEST = 1e70


@dataclass(frozen=True, eq=False)
class KMeans(Problem):
    r"""k-means with links, relaxed.

    .. math::

        \min_Z \langle XX^\top, I - Z\rangle \quad\text{s.t.}\quad Z\mathbf{1} = \mathbf{1},\quad
        \operatorname{tr} Z = k,\quad Z \succeq 0,\quad Z \ge 0,\quad
        Z_{ik} = Z_{jk} \text{ on } \mathcal{M},\quad Z_{ij} = 0 \text{ on } \mathcal{C}.

    A clustering with the clusters S has the matrix :math:`Z = \sum_S \mathbf{1}_S\mathbf{1}_S^\top/|S|`, and the value
    is its sum of squared distances to the means. So the optimum is a lower bound for all clusterings that keep the
    links, and :func:`cvxlink.optimal_clustering` finds the best of them, with a proof.

    Parameters
    ----------
    X : array, n × d
        The points. Only differences count, so they are centred first.
    links : Links, optional
    n_clusters : int
        The number k of clusters; none of them is empty.
    size_min, size_max : int, optional
        How many points each cluster has at least and at most: :math:`1/\text{max} \le Z_{ii} \le 1/\text{min}`.
    cuts : Cuts, optional
        Inequalities that hold for all clusterings, added to the program; see :meth:`strengthened`.

    References
    ----------
    Peng & Wei (2007), SIAM Journal on Optimization 18(1), with the links of Piccialli, Russo Russo & Sudoso (2022).
    """

    X: Any
    links: Links = None  # type: ignore[assignment]
    n_clusters: int = 2
    size_min: int | None = None
    size_max: int | None = None
    cuts: Cuts | None = None

    about = About(
        "peng2007",
        program="semidefinite",
        form="paper",
        takes="points, hard links",
        hard_links=True,
        yields="kernel, embedding",
        embedding=True,
        cluster="partition",
    )

    def variables(self) -> dict[str, cp.Variable]:
        """Z in place of the matrix of a clustering."""
        return {"Z": cp.Variable((self.links.n, self.links.n), symmetric=True, name="Z")}

    def objective(self, Z: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """Squared distances to the means."""
        return cp.Minimize(terms.distortion(Z, self.centred @ self.centred.T, r"XX^\top"))

    def constraints(self, Z: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """Row sums, the number of clusters, both kinds of positivity, links; then sizes and cuts."""
        return {
            "keeps": terms.keeps_vector(Z, np.ones(self.links.n), "1"),
            "trace": terms.trace_equals(Z, self.n_clusters),
            "psd": terms.semidefinite(Z),
            "nonnegative": terms.nonnegative(Z),
            "must": terms.same_rows(Z, self.links),
            "cannot": terms.cannot_links(Z, self.links),
            **size_constraints(Z, self.size_min or 1, self.size_max),
            **cut_constraints(Z, self.partition, self.cuts or Cuts()),
        }

    @cached_property
    def program(self) -> SpecialProgram:
        """The program on blocks, with its algorithm and its proof."""
        return SpecialProgram(
            self,
            Relaxation(self.partition, self.cuts or Cuts()),
            (Splitting(),),
            certify_relaxation,
            not_linear="its bound comes from the eigenvalues of all feasible matrices",
            refutes=refuted,
            disproves=disproof,
        )

    @property
    def equivalents(self) -> Mapping[str, KMeansOnBlocks]:
        """The program on blocks of must-linked points."""
        return {"blocks": KMeansOnBlocks(Relaxation(self.partition, self.cuts or Cuts()))}

    prefers = "blocks"

    def point_from(self, form: str, values: Mapping[str, Any], duals: Mapping[str, Any]) -> tuple[dict, dict]:
        """Return Z and the multipliers of the declared constraints."""
        on_blocks = self.equivalents[as_choice(form, "form", tuple(self.equivalents))]
        Y = on_blocks.answer(values)["Y"]
        multipliers = on_blocks.multipliers(dict(as_mapping(duals, "duals", "multipliers by name")))
        return {"Z": Congruence(self.partition.T, (Y + Y.T) / 2)}, on_blocks.data.duals_of(multipliers)

    # ------------------------------------------------------------------ what is given

    def __post_init__(self) -> None:
        points = as_points(self.X, "X")
        object.__setattr__(self, "X", points)
        if np.ptp(points, axis=0).max(initial=0.0) > LARGEST:
            raise InvalidInput.about("X", f"has features that spread over more than {LARGEST:g}; divide X by a number")
        if self.links is None:
            object.__setattr__(self, "links", Links(len(points)))
        as_instance(self.links, Links, "links", "a Links object: KMeans(X, Links(n, must=…, cannot=…), n_clusters=3)")
        if len(points) != self.links.n:
            raise InvalidInput(f"X has {len(points)} points, but the links are on {self.links.n}", "links")
        self.links.require_consistent()
        k = as_count(self.n_clusters, "n_clusters", 1, len(points))
        if k > self.links.n_blocks:
            raise InvalidInput(
                f"the must-links leave only {self.links.n_blocks} blocks of points, so there cannot be {k} clusters; "
                f"ask for fewer, or remove must-links",
                "n_clusters",
            )
        least = 1 if self.size_min is None else as_count(self.size_min, "size_min", 1, len(points))
        most = len(points) if self.size_max is None else as_count(self.size_max, "size_max", 1, len(points))
        if least * k > len(points):
            raise InvalidInput(
                f"{k} clusters of at least {least} points need more than {len(points)} points; lower one of them",
                "size_min",
            )
        if most * k < len(points):
            raise InvalidInput(
                f"{k} clusters of at most {most} points hold fewer than {len(points)} points; raise one of them",
                "size_max",
            )
        self._require_room_for_blocks(most)
        require_enough_clusters(self.links, k)
        if self.cuts is not None:
            require_within(as_instance(self.cuts, Cuts, "cuts", "a set of cuts, or None"), len(points), k)

    def _require_room_for_blocks(self, most: int) -> None:
        sizes = np.bincount(self.links.blocks)
        if sizes.max() > most:
            point = int(np.flatnonzero(self.links.blocks == sizes.argmax())[0])
            raise InvalidInput(
                f"must-links join point {point} with {sizes.max() - 1} others, and a cluster has at most {most} "
                f"points; raise size_max, or remove must-links",
                "size_max",
            )

    @cached_property
    def centred(self) -> np.ndarray:
        """The points with mean zero."""
        return self.X - self.X.mean(axis=0)

    @cached_property
    def partition(self) -> Partition:
        """The same as a cost, weights and links."""
        X = self.centred
        return Partition(
            Congruence(X, -np.eye(X.shape[1])),
            np.ones(len(X)),
            self.links,
            self.n_clusters,
            float(np.trace(X @ X.T)) if len(X) <= X.shape[1] else float(np.vdot(X, X)),
            self.size_min or 1,
            self.size_max,
            is_distortion=True,
        )

    def strengthened(self, rounds: int = 10, time_limit: float | None = None) -> Strengthening:
        """Add cuts in rounds: those that the answer violates most, as long as they raise the bound.

        Returns
        -------
        Strengthening
            ``.problem`` is this problem with the cuts that count in the end, ``.bound`` its bound, and ``.history``
            what each round achieved; print it to read it.
        """
        return strengthening_of(self, rounds, time_limit)

    # ------------------------------------------------------------------ what is made of a solution

    def learnt(self, values: Arrays) -> Learnt:
        """The kernel Z, and the best clustering near it that keeps the links."""
        Z = self.answer(values).stored["Z"]
        return Learnt(kernel=Z, rounding=partial(rounded_answer, self.partition, Z))

    def point_of_clustering(self, labels: Any) -> dict[str, Any]:
        """The matrix of a clustering, whose value is its sum of squared distances."""
        H = self.partition.columns(as_labels(labels, self.links.n))
        return {"Z": Congruence(H, np.eye(H.shape[1]))}
