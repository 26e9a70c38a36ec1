"""The table of methods says what there is."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import cvxpy as cp
import pytest

import cvxlink as cl
from cvxlink import methods as formulations
from cvxlink.methods.table import method, own_methods


def test_every_formulation_is_public_and_in_the_table():
    names = [formulation.__name__ for formulation in own_methods()]
    assert cl.methods().names()[: len(names)] == names and set(names) == set(formulations.__all__)
    assert set(formulations.__all__) <= set(cl.__all__)
    values = {name: getattr(cl, name) for name in cl.__all__}
    public = {name for name, value in values.items() if inspect.isclass(value) and issubclass(value, cl.Problem)}
    assert public - {"Problem", "LinearProblem"} == set(formulations.__all__)


def test_it_says_where_from_what_kind_and_how():
    rows = {row.name: row for row in cl.methods()[: len(own_methods())]}
    assert rows["PCP"].paper == "Li et al. 2008" and rows["PCP"].takes == "hard links"
    assert rows["MinKL"].paper == "Lu & Carreira-Perpiñán 2008" and rows["MinKL"].routes == ("dual", "closed-form")
    assert rows["CSC"].forms == ("sdp",) and rows["CSC"].routes == ("exact", "paper")
    assert rows["GFHF"].routes == ("harmonic", "spreading") and rows["GFHF"].takes == "hard labels"
    text = str(cl.methods())
    for row in rows.values():
        assert all(cell and word in text for cell in row.cells() for word in cell.split())
    assert len({len(line) for line in text.splitlines()}) > 1 and max(map(len, text.splitlines())) <= 110


def test_every_method_runs_on_the_same_graph_links_and_labels(small_iris):
    X, y = small_iris
    graph = cl.Graph.knn(X, n_neighbors=5)
    links = cl.Links.sample(y, per_class=2, random_state=1)
    labels = cl.sample_labels(y, per_class=2, random_state=1)
    for name in formulations.__all__:
        row = cl.methods()[name.lower()]
        problem = row.make(graph, links, labels, 3)
        assert isinstance(problem, row.formulation) and row.formulation is getattr(cl, name)
        solution = problem.solve()
        assert solution.status is cl.Status.OPTIMAL
        scores = cl.metrics.scores(y, solution.cluster(3, random_state=0), links)
        assert scores["ari"] > 0.2, name


@dataclass(frozen=True, eq=False)
class Averaged(cl.Problem):
    """The clustering kernel nearest to an average of the graph's and one that links ask for."""

    graph: cl.Graph
    links: cl.Links
    share: float = 0.5

    def variables(self):
        return {"K": cp.Variable((self.graph.n, self.graph.n), symmetric=True)}

    def objective(self, K):
        wanted = self.share * self.graph.kernel() + (1 - self.share) * self.links.matrix.toarray()
        return cp.Minimize(cp.sum_squares(K - wanted))

    def constraints(self, K):
        return {"unit": cp.diag(K) == 1, "psd": K >> 0}


class Demanding(cl.Problem):
    """Cannot be made of a graph and links."""

    def __init__(self, budget):
        self.budget = budget

    def variables(self):
        return {"x": cp.Variable()}

    def objective(self, x):
        return cp.Minimize(x)

    def constraints(self, x):
        return {"budget": x >= self.budget}


def test_a_users_formulation_has_a_place_in_the_table(small_iris):
    X, y = small_iris
    row = cl.methods()["averaged"]
    assert row.formulation is Averaged and row.forms == ("declared", "dual") and row.takes == "links"
    assert row.options == ("share",) and "Averaged" in str(cl.methods())
    graph, links = cl.Graph.knn(X, n_neighbors=5), cl.Links.sample(y, per_class=2, random_state=1)
    problem = row.make(graph, links, None, 3, share=0.25)
    assert problem.share == 0.25 and problem.solve().status is cl.Status.OPTIMAL
    with pytest.raises(cl.InvalidInput, match="Averaged has no option 'part'; it has share"):
        row.make(graph, links, None, 3, part=0.25)


def test_one_that_needs_more_is_listed_and_says_what_it_needs(small_iris):
    row = cl.methods()["Demanding"]
    assert row.forms == ("declared",) and row.options == ("budget",)
    with pytest.raises(cl.InvalidInput, match="Demanding needs budget"):
        row.make(cl.Graph.knn(small_iris[0], n_neighbors=5), cl.Links(30), None, 3)
    assert row.make(None, None, None, 3, budget=2.0).solve().value == pytest.approx(2, abs=1e-6)


def test_names_in_capitals_or_not_and_names_that_are_none():
    assert method("kp").formulation is cl.KP and method(cl.KP).name == "KP"
    with pytest.raises(cl.InvalidInput, match="there is no method 'kmedoids'; there are PCP, KP"):
        method("kmedoids")
