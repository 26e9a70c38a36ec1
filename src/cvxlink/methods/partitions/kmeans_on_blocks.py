"""k-means with links on the blocks of must-linked points: the same program with fewer unknowns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from ... import terms
from ...data.links import Links
from ...engine.problem import Problem
from ...model.about import About
from ...model.linear_maps import LinearMap, at_least, at_most, entries
from ...numerics.matrices import as_dense
from .cuts import rows_of
from .relaxation import Relaxation
from .splitting import Multipliers


@dataclass(frozen=True, eq=False)
class KMeansOnBlocks(Problem):
    r"""The relaxation of k-means on blocks.

    .. math::

        \min_Y\ c_0 + \langle C, Y\rangle \quad\text{s.t.}\quad Yd = d,\quad \operatorname{tr} Y = k,\quad
        Y \succeq 0,\quad Y \ge 0,\quad Y_{ab} = 0 \text{ for blocks that are apart},

    where :math:`d_a` is the root of the number of points in block a, and :math:`Z = TYT^\top`.
    """

    data: Relaxation

    about = About("peng2007", form="blocks")

    def variables(self) -> dict[str, cp.Variable]:
        """Y, on blocks."""
        order = self.data.partition.order
        return {"Y": cp.Variable((order, order), symmetric=True, name="Y")}

    def objective(self, Y: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """Squared distances to the means."""
        partition = self.data.partition
        return cp.Minimize(partition.offset + terms.smoothness(Y, as_dense(partition.block_C), "C"))

    def constraints(self, Y: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """Those of k-means, on blocks."""
        partition, cuts = self.data.partition, self.data.cuts
        (low, high), everyone = partition.diagonal_bounds, np.arange(partition.order)
        found = {
            "keeps": terms.keeps_vector(Y, partition.block_d),
            "trace": terms.trace_equals(Y, partition.n_clusters),
            "psd": terms.semidefinite(Y),
            "nonnegative": terms.nonnegative(Y),
            "cannot": terms.cannot_links(Y, Links(partition.order, cannot=partition.apart)),
        }
        if partition.least > 1:
            found["smallest"] = terms.stands_for(at_most(entries(Y, everyone, everyone), high), r"@_{aa} \le h_a", Y)
        if partition.most is not None:
            found["largest"] = terms.stands_for(at_least(entries(Y, everyone, everyone), low), r"@_{aa} \ge l_a", Y)
        if len(cuts):
            A, b = rows_of(cuts, partition.block_d, partition.links.blocks, partition.largest_weight)
            found["cuts"] = terms.stands_for(at_most(LinearMap(Y, A), b), r"A(@) \le b", Y)
        return found

    def multipliers(self, duals: dict[str, Any]) -> Multipliers:
        """Return the multipliers of these constraints as those of entries and cuts."""
        partition = self.data.partition
        on_blocks = Relaxation(partition.on_blocks())
        found = on_blocks.multipliers_of({name: dual for name, dual in duals.items() if name != "cuts"})
        mu = np.maximum(-np.ravel(as_dense(duals.get("cuts", np.zeros(len(self.data.cuts))))), 0)
        entries_ = np.zeros((partition.order, partition.order)) if found is None else found.entries
        return Multipliers(entries_, mu if len(mu) == len(self.data.cuts) else np.zeros(len(self.data.cuts)))
