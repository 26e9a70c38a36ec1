"""Small studies: how scores grow with more links, method by method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import metrics
from ..data.graph import Graph
from ..data.links import Links
from ..errors import InvalidInput
from ..methods.table import Method, method
from ..numerics.arguments import as_list, shown
from ..numerics.checks import MOST_REPEATS, as_count, as_generator, as_labels, is_known

SCORES = ("nmi", "ari", "error", "pairwise", "violated")


@dataclass(frozen=True, eq=False)
class LinkCurve(Mapping[str, list[tuple[int, np.ndarray]]]):
    """Scores against the number of links: by method, pairs (number of links, an array with one score per repeat)."""

    score: str
    curves: Mapping[str, list[tuple[int, np.ndarray]]] = field(repr=False)

    def __getitem__(self, name: str) -> list[tuple[int, np.ndarray]]:
        return self.curves[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.curves)

    def __len__(self) -> int:
        return len(self.curves)

    def __str__(self) -> str:
        lines = [f"{self.score}, mean of the repeats, by number of links"]
        for name, pairs in self.items():
            lines.append(f"{name:<14}" + "  ".join(f"{number}: {scores.mean():.3f}" for number, scores in pairs))
        return "\n".join(lines)


def link_curve(
    X: Any,
    y: Any,
    methods: Sequence[Any] = ("KP", "PCP"),
    n_links: Sequence[int] = (10, 20, 40),
    repeats: int = 3,
    random_state: Any = 0,
    score: str = "nmi",
) -> LinkCurve:
    """Return the scores of methods, with their default options, for several numbers of random links.

    Parameters
    ----------
    X : array, n × d, or Graph
        The data, which ``Graph.knn`` turns into a graph, or a graph.
    y : labels
        The classes: links are drawn from them, and as many clusters are formed and scored against them.
    methods : names or classes
        Methods of ``cl.methods()`` that take links, or only the graph.
    n_links : whole numbers
    repeats : int
        How often links are drawn for each number. All methods get the same links.
    random_state : None, int or numpy generator
        Everything random follows from it; the links for one number do not depend on the other numbers.
    score : str
        "nmi", "ari", "error", "pairwise" or "violated", see :func:`cvxlink.metrics.scores`.
    """
    if not isinstance(score, str) or score not in SCORES:
        raise InvalidInput(f"there is no score {shown(score)}; there are {', '.join(SCORES)}", "score")
    graph = X if isinstance(X, Graph) else Graph.knn(X)
    y = as_labels(y, graph.n, "y")
    if not is_known(y).all():
        raise InvalidInput("y must hold the class of every point, as clusters are scored against it; some are -1", "y")
    most = graph.n * (graph.n - 1) // 2
    numbers = [
        as_count(number, "each of n_links", 0, most) for number in as_list(n_links, "n_links", "numbers of links")
    ]
    wanted = [methods] if isinstance(methods, str | type) else as_list(methods, "methods", "names or classes")
    rows = [_linked(which) for which in wanted]
    if not rows or not numbers:
        raise InvalidInput("there is nothing to do; name at least one method and one number in n_links", "methods")
    seed = int(as_generator(random_state).integers(2**31))
    draws = range(as_count(repeats, "repeats", 1, MOST_REPEATS))
    links = {m: [Links.sample(y, n_links=m, random_state=[seed, m, draw]) for draw in draws] for m in numbers}
    classes = len(np.unique(y))
    return LinkCurve(
        score,
        {
            row.name: [
                (m, np.array([_score(row, graph, drawn, y, classes, seed, score) for drawn in links[m]]))
                for m in numbers
            ]
            for row in rows
        },
    )


def _linked(which: Any) -> Method:
    row = method(which, "methods")
    if "labels" in row.needs:
        raise InvalidInput(
            f"{row.name} takes labels, not links, so it has no curve over links; leave it out", "methods"
        )
    return row


def _score(row: Method, graph: Graph, links: Links, y: np.ndarray, classes: int, seed: int, score: str) -> float:
    try:
        problem = row.make(graph, links, None, classes)
    except InvalidInput as error:
        raise InvalidInput(f"{row.name} cannot take {len(links)} of n_links: {error}", "n_links") from error
    solution = problem.solve(random_state=seed)
    return metrics.scores(y, solution.cluster(classes, random_state=seed), links)[score]
