"""The relaxation of a partition as data: its value and violations, from points to blocks and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...model.linear_maps import LinearMap, at_least, at_most, entries
from ...numerics.matrices import Congruence, Matrix, as_dense, inner
from ...terms import stands_for
from .cuts import KINDS, Cuts, rows_of
from .partition import Partition
from .splitting import Multipliers

TEX = {
    "pairs": r"z_{ij} \le z_{ii}",
    "triangles": r"z_{ij} + z_{ik} \le z_{ii} + z_{jk}",
    "cliques": r"\sum_{i<j \in Q} z_{ij} \ge 1/\beta",
}


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The program in Z with Z ≥ 0 as data.

    Attributes
    ----------
    partition : Partition
    cuts : Cuts
    has_upper : bool
        Whether Z ⪯ I is declared; it follows from the other constraints.
    """

    partition: Partition
    cuts: Cuts = field(default_factory=Cuts)
    has_upper: bool = False

    @property
    def n(self) -> int:
        """The order of Z."""
        return self.partition.n

    def to_its_own_size(self) -> tuple[Relaxation, float]:
        """Return the program with a cost of about one, and what its values were divided by."""
        partition, size = self.partition.to_its_own_size()
        return replace(self, partition=partition), size

    def value(self, point: Mapping[str, Matrix]) -> float:
        """Return the objective."""
        C, Z = self.partition.C, point["Z"]
        if isinstance(C, Congruence):  # ⟨TMTᵀ, Z⟩ = ⟨M, TᵀZT⟩
            product = Z.T @ (Z.M @ (Z.T.T @ C.T)) if isinstance(Z, Congruence) else Z @ C.T
            return self.partition.offset + float(np.vdot(C.M, C.T.T @ product))
        return self.partition.offset + inner(C, Z)

    def violations(self, point: Mapping[str, Matrix]) -> dict[str, float]:
        """Return the largest violation of each constraint."""
        Z = as_dense(point["Z"])
        Z = (Z + Z.T) / 2
        partition, links = self.partition, self.partition.links
        d, eigenvalues = partition.d, np.linalg.eigvalsh(Z)
        w = d / np.linalg.norm(d) if self.has_upper else d
        (i, j), (a, b) = links.must.T, links.cannot.T
        # As terms.same_rows has it: rows divided by d, each equation by the size of its numbers.
        share = np.stack([d[j], d[i]])[:, :, None] / (np.hypot(d[i], d[j])[:, None] / np.sqrt(2))
        found = {
            "keeps": abs(Z @ w - w).max(initial=0.0),
            "trace": abs(np.trace(Z) - partition.n_clusters),
            "psd": max(0.0, -eigenvalues[0]),
            "nonnegative": max(0.0, -Z.min(initial=0.0)),
            "must": abs(share[0] * Z[i] - share[1] * Z[j]).max(initial=0.0),
            "cannot": abs(Z[a, b]).max(initial=0.0),
        }
        if self.has_upper:
            found["below"] = max(0.0, eigenvalues[-1] - 1)
        if partition.least > 1:
            found["smallest"] = max(0.0, np.diag(Z).max() - 1 / partition.least)
        if partition.most is not None:
            found["largest"] = max(0.0, 1 / partition.most - np.diag(Z).min())
        for kind, (A, b) in self._rows.items():
            found[kind] = max(0.0, float((A @ Z.ravel() - b).max(initial=0.0)))
        return {name: float(violation) for name, violation in found.items()}

    @cached_property
    def _rows(self) -> dict[str, tuple[Any, np.ndarray]]:
        return {kind: cut_rows(self.partition, self.cuts, kind) for kind in KINDS if len(getattr(self.cuts, kind))}

    def on_blocks(self, Z: Matrix) -> np.ndarray:
        """Return the matrix on blocks whose rows are those of Z, averaged within blocks."""
        T = self.partition.T
        Y = T.T @ (Z.T @ (Z.M @ (Z.T.T @ T.toarray()))) if isinstance(Z, Congruence) else T.T @ Z @ T
        Y = as_dense(Y)
        return (Y + Y.T) / 2

    def duals_of(self, multipliers: Multipliers) -> dict[str, Any]:
        """Return multipliers on blocks as those y of the declared rows A(Z) = b and A(Z) ≤ b: S = C − A*(y)."""
        partition = self.partition
        blocks, T = partition.links.blocks, partition.T
        on_points = T @ multipliers.entries @ T.T
        # A multiplier of the diagonal on blocks is the same one for each point; within a block there are no others.
        on_points[blocks[:, None] == blocks] = 0.0
        np.fill_diagonal(on_points, np.diag(multipliers.entries)[blocks])
        i, j = np.triu_indices(self.n)
        signed = np.where(partition.are_apart[blocks[i], blocks[j]], 0.0, on_points[i, j])
        duals = {"nonnegative": np.maximum(signed, 0) * np.where(i == j, 1.0, 2.0)}
        # A cannot-link between blocks stands for all that were given between them.
        a, b = partition.links.cannot.T
        pairs = np.sort(blocks[partition.links.cannot], axis=1) @ [partition.order, 1]
        _, number, counts = np.unique(pairs, return_inverse=True, return_counts=True)
        scale = partition.d[a] / partition.block_d[blocks[a]] * partition.d[b] / partition.block_d[blocks[b]]
        between = multipliers.entries[blocks[a], blocks[b]]
        duals["cannot"] = -2 * between / np.maximum(counts[number], 1) / scale if len(a) else np.zeros(0)
        diagonal = np.diag(on_points)
        if partition.least > 1:
            duals["smallest"] = np.maximum(-diagonal, 0)
        if partition.most is not None:
            duals["largest"] = np.maximum(diagonal, 0)
            duals["nonnegative"][i == j] = 0.0
        first = 0
        for kind in self._rows:
            count = len(getattr(self.cuts, kind))
            duals[kind], first = multipliers.cuts[first : first + count], first + count
        return {name: 0.0 - dual for name, dual in duals.items()}

    def multipliers_of(self, duals: Mapping[str, Any]) -> Multipliers | None:
        """Return multipliers of the declared constraints as multipliers on blocks; None without usable ones."""
        n, links = self.n, self.partition.links
        sizes = {"nonnegative": n * (n + 1) // 2, "cannot": len(links.cannot), "smallest": n, "largest": n}
        sizes |= {kind: len(getattr(self.cuts, kind)) for kind in KINDS}
        given = {name: -_vector(duals.get(name), size) for name, size in sizes.items()}
        if not np.isfinite(np.concatenate(list(given.values()))).all():
            return None
        entries = np.zeros((n, n))
        i, j = np.triu_indices(n)
        entries[i, j] = np.maximum(given["nonnegative"], 0) / 2
        entries = entries + entries.T
        a, b = links.cannot.T
        np.add.at(entries, (np.concatenate([a, b]), np.concatenate([b, a])), np.tile(-given["cannot"] / 2, 2))
        everyone = np.arange(n)
        entries[everyone, everyone] += np.maximum(given["largest"], 0) - np.maximum(given["smallest"], 0)
        cuts = np.concatenate([np.maximum(given[kind], 0) for kind in KINDS])
        return Multipliers(self.on_blocks(entries), cuts)


def size_constraints(Z: Any, least: int, most: int | None) -> dict[str, Any]:
    """Return 1/most ≤ Z_ii ≤ 1/least: Z_ii is one over the number of points in the cluster of i."""
    everyone = np.arange(Z.shape[0])
    found = {}
    if least > 1:
        found["smallest"] = stands_for(
            at_most(entries(Z, everyone, everyone), 1 / least), rf"@_{{ii}} \le 1/{least} \quad \forall i", Z
        )
    if most is not None:
        found["largest"] = stands_for(
            at_least(entries(Z, everyone, everyone), 1 / most), rf"@_{{ii}} \ge 1/{most} \quad \forall i", Z
        )
    return found


def cut_constraints(Z: Any, partition: Partition, cuts: Cuts) -> dict[str, Any]:
    """Return the cuts as constraints on Z, by their kind."""
    found = {}
    for kind in KINDS:
        if len(getattr(cuts, kind)):
            A, b = cut_rows(partition, cuts, kind)
            found[kind] = stands_for(at_most(LinearMap(Z, A), b), TEX[kind], Z)
    return found


def cut_rows(partition: Partition, cuts: Cuts, kind: str) -> tuple[Any, np.ndarray]:
    """Return the cuts of one kind as rows on all entries of Z."""
    alone = Cuts(**{kind: getattr(cuts, kind)})
    return rows_of(alone, partition.d, np.arange(partition.n), partition.largest_weight)


def _vector(given: Any, size: int) -> np.ndarray:
    """Return multipliers as a vector; those that are missing or of another size count as zero."""
    array = np.zeros(0) if given is None else np.ravel(np.asarray(as_dense(given), dtype=float))
    return array if array.size == size else np.zeros(size)
