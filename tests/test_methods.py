"""The table of methods says what there is."""

from __future__ import annotations

import inspect

import cvxlink as cl
from cvxlink import formulations
from cvxlink.methods import OWN


def test_every_formulation_is_public_and_in_the_table():
    names = [formulation.__name__ for formulation in OWN]
    assert cl.methods().names()[: len(names)] == names and set(names) == set(formulations.__all__)
    assert set(formulations.__all__) <= set(cl.__all__)
    public = {name for name, value in vars(cl).items() if inspect.isclass(value) and issubclass(value, cl.Problem)}
    assert public - {"Problem"} == set(formulations.__all__)


def test_it_says_where_from_what_kind_and_how():
    rows = {method.name: method for method in cl.methods()[: len(OWN)]}
    assert rows["PCP"].paper == "Li et al. 2008" and rows["PCP"].takes == "hard links"
    assert rows["MinKL"].paper == "Lu & Carreira-Perpiñán 2008" and rows["MinKL"].routes == ("dual", "closed-form")
    assert rows["CSC"].forms == ("sdp",) and rows["CSC"].routes == ("exact", "paper")
    assert rows["GFHF"].routes == ("harmonic",) and rows["GFHF"].takes == "hard labels"
    text = str(cl.methods())
    for method in rows.values():
        assert all(cell and cell in text for cell in method.cells())
    assert len({len(line) for line in text.splitlines()}) > 1 and max(map(len, text.splitlines())) < 180


def test_every_method_runs_on_the_same_graph_links_and_labels(small_iris):
    X, y = small_iris
    graph = cl.Graph.knn(X, n_neighbors=5)
    links = cl.Links.sample(y, per_class=2, random_state=1)
    labels = cl.sample_labels(y, per_class=2, random_state=1)
    for name in formulations.__all__:
        method = cl.methods()[name.lower()]
        problem = method.make(graph, links, labels, 3)
        assert isinstance(problem, method.formulation) and method.formulation is getattr(cl, name)
        solution = problem.solve()
        assert solution.status is cl.Status.OPTIMAL
        scores = cl.metrics.scores(y, solution.cluster(3, random_state=0), links)
        assert scores["ari"] > 0.2, name
