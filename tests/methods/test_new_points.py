"""New points, for methods that cluster old ones."""

from __future__ import annotations

import numpy as np

import cvxlink as cl
from helpers.clusters import blobs


def test_new_points_join_the_clusters():
    graph, y, links = blobs(60)
    labels = cl.sample_labels(y, per_class=4, random_state=0)
    new = graph.points[:6] + 0.01
    for method in ("GFHF", "LLGC", "NCuts", "CSC", "CSCGFHF"):
        extended = cl.methods()[method].make(graph, links, labels, 3).solve().extend(new)
        together = extended.cluster(3, random_state=0)
        assert len(together) == 66
        np.testing.assert_array_equal(together[60:], together[:6])  # next to old points, with these
