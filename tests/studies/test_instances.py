"""Instances: programs from files, data with links and labels as asked, and what each kind of study computes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import cvxlink as cl
from cvxlink.studies.cells import cells_of
from cvxlink.studies.computing import consistent_part, worked_out
from cvxlink.studies.description import Study
from cvxlink.studies.instance import expanded, require_readable, turned
from cvxlink.studies.judging import Outcome, outcome
from cvxlink.studies.parts import Configuration, InstanceChoice
from cvxlink.studies.running import is_failure, run
from cvxlink.studies.task import Task

# max y₁ + y₂ so that [[1, y₁], [y₁, 1]] and [[1, y₂], [y₂, 1]] are semidefinite: 2. The file minimises.
TWO_BLOCKS = """2 =mdim
2 =nblocks
2 2
1.0 1.0
0 1 1 1 -1
0 1 2 2 -1
0 2 1 1 -1
0 2 2 2 -1
1 1 1 2 1
2 2 1 2 1
"""


def study_of(instances, configurations, kind="methods", **more):
    return Study("t", instances, configurations, kind, **more)


def first(study):
    return worked_out(next(iter(cells_of(study))))


# ---------------------------------------------------------------------- programs from files


@pytest.mark.parametrize("solver", ["SCS", "CLARABEL", None])
def test_programs_from_files_are_solved_and_certified_independently(tmp_path, solver):
    (tmp_path / "two.dat-s").write_text(TWO_BLOCKS)
    cl.instances.load("path_ends_apart").problem.export(tmp_path / "path.cbf", store_problem=False)
    study = study_of(
        [InstanceChoice(file="*.dat-s"), InstanceChoice(file="path.cbf")],
        [Configuration(solver=solver)],
        "solvers",
        folder=tmp_path,
        accuracy=1e-5,
    )
    found = {cell.instance.name: worked_out(cell) | {"accuracy": cell.accuracy} for cell in cells_of(study)}
    assert set(found) == {"two.dat-s", "path.cbf"}
    assert {outcome(record) for record in found.values()} == {Outcome.PROVEN}
    assert abs(found["two.dat-s"]["value"]) == pytest.approx(2, abs=1e-4)
    optimum = cl.instances.load("path_ends_apart").reference.value
    assert abs(found["path.cbf"]["value"]) == pytest.approx(abs(optimum), abs=1e-4)


def test_a_file_that_is_cut_short_is_a_result(tmp_path):
    (tmp_path / "two.dat-s").write_text(TWO_BLOCKS[:-8])
    record = first(study_of([InstanceChoice(file="two.dat-s")], [Configuration()], "solvers", folder=tmp_path))
    assert record["refused"] == "InvalidFile" and "two.dat-s, line" in record["reason"]


# ---------------------------------------------------------------------- data


def test_points_classes_and_scales_are_as_the_benchmarks_have_them():
    X, y = cl.datasets.load("wine")
    (one,) = expanded(
        study_of([InstanceChoice(data="wine", links=[3], points=50, scale=True)], [Configuration(method="KP")])
    )
    chosen = np.sort(np.random.default_rng(0).permutation(len(y))[:50])
    mine, classes = one.prepared()
    assert np.allclose(mine, StandardScaler().fit_transform(X[chosen])) and np.array_equal(classes, y[chosen])
    (two,) = expanded(study_of([InstanceChoice(data="wine", links=[3], classes=[1, 2])], [Configuration(method="KP")]))
    mine, classes = two.prepared()
    assert np.array_equal(mine, X[y > 0]) and np.array_equal(classes, y[y > 0] - 1)
    (joined,) = expanded(
        study_of([InstanceChoice(data="wine", links=3, classes=[[0, 2], 1])], [Configuration(method="KP")])
    )
    assert np.array_equal(joined.prepared()[1], (y == 1).astype(int))
    with pytest.raises(cl.InvalidInput, match="classes has 7, and there are only the classes 0 to 2"):
        expanded(study_of([InstanceChoice(data="wine", links=3, classes=[7])], [Configuration(method="KP")]))[
            0
        ].prepared()


def test_links_and_labels_are_drawn_as_asked_and_reproducibly():
    choices = [
        InstanceChoice(data="iris", links=[0, 10], wrong=0.3, draws=2),
        InstanceChoice(data="iris", per_class=[2]),
        InstanceChoice(data="iris", labels=[6, 0.1]),
    ]
    found = {one.name: one for one in expanded(study_of(choices, [Configuration(method="KP")], seed=5))}
    assert list(found) == [
        "iris, 0 links, 0.3 of them wrong, draw 1",
        "iris, 0 links, 0.3 of them wrong, draw 2",
        "iris, 10 links, 0.3 of them wrong, draw 1",
        "iris, 10 links, 0.3 of them wrong, draw 2",
        "iris, 2 links per class, draw 1",
        "iris, 6 labels, draw 1",
        "iris, labels of 0.1, draw 1",
    ]
    one, other = (found[f"iris, 10 links, 0.3 of them wrong, draw {k}"].task() for k in (1, 2))
    assert one.random_state == 5 and other.random_state == 6
    right = cl.Links.sample(one.y, n_links=10, random_state=5)
    wrong = sum(one.y[i] != one.y[j] for i, j in one.links.must) + sum(
        one.y[i] == one.y[j] for i, j in one.links.cannot
    )
    assert wrong == 3 and {frozenset(p) for p in np.vstack([one.links.must, one.links.cannot]).tolist()} == {
        frozenset(p) for p in np.vstack([right.must, right.cannot]).tolist()
    }
    assert np.array_equal(turned(right, 3, 5).must, one.links.must)
    per_class = found["iris, 2 links per class, draw 1"].task().links
    assert (len(per_class.must), len(per_class.cannot)) == (6, 6)
    assert [
        np.count_nonzero(found[f"iris, {w}, draw 1"].task().labels >= 0) for w in ("6 labels", "labels of 0.1")
    ] == [6, 15]


@pytest.mark.parametrize("file", ["points.csv", "points.npz"])
def test_data_of_ones_own_are_read_from_files_beside_the_study(tmp_path, file):
    X, y = cl.datasets.load("iris")
    if file.endswith("csv"):
        names = np.array(["a", "b", "c"])[y]
        rows = [",".join([*map(repr, map(float, row)), name]) for row, name in zip(X, names, strict=True)]
        (tmp_path / file).write_text("\n".join(["p,q,r,s,species", *rows]))
    else:
        np.savez(tmp_path / file, X=X, y=y)
    truth = "species" if file.endswith("csv") else None
    study = study_of([InstanceChoice(data=file, truth=truth, links=20)], [Configuration(method="KP")], folder=tmp_path)
    same = study_of([InstanceChoice(data="iris", links=20)], [Configuration(method="KP")])
    assert first(study)["scores"] == first(same)["scores"]


def test_columns_of_a_table_that_are_no_features_are_named_by_keys(tmp_path):
    X, y = cl.datasets.load("iris")
    rows = [
        ",".join([f"p{k}", *map(repr, map(float, row)), "some words", f"c{c}"])
        for k, (row, c) in enumerate(zip(X, y, strict=True))
    ]
    (tmp_path / "points.csv").write_text("\n".join(["key,p,q,r,s,comment,species", *rows]))

    def points(**keys):
        choice = InstanceChoice(data="points.csv", truth="species", links=20, **keys)
        study = study_of([choice], [Configuration(method="KP")], folder=tmp_path)
        require_readable(study)
        (one,) = expanded(study)
        return one.prepared()[0], one.name

    assert np.array_equal(points(id="key", ignore="comment")[0], X)
    assert np.array_equal(points(ignore=["key", 6])[0], X)
    assert np.array_equal(points(columns=["r", 2])[0], X[:, [2, 0]])
    assert "columns r 2" in points(columns=["r", 2])[1] and "without key 6" in points(ignore=["key", 6])[1]
    with pytest.raises(cl.InvalidInput, match="columns must hold names of columns, or their numbers") as raised:
        points(columns=[True])
    assert raised.value.argument == "columns"


@pytest.mark.parametrize(
    ("table", "keys", "words"),
    [
        ("key,x,class\na,1,u\nb,2,v\n", {}, "line 2, column 1 .key.*with truth or id, leave it out with ignore, or"),
        ("key,x,class\na,1,u\nb,2,v\n", {"ignore": "name"}, "has no column 'name', which ignore asks for"),
        ("key,x,class\na,1,u\nb,2,v\n", {"columns": ["key"]}, "or name the features with columns"),
        ("key,x,class\na,1,u\na,2,v\n", {"id": "key"}, "'a' is also the name of line 2; names must differ"),
        ("x,class\n1,u\n2,?\n3,?\n", {}, "the class of 2 points is unknown; fill it in"),
        ("1,?,u\n2,3,v\n", {"truth": "3"}, "write a header above it"),
        ("x,class\n1,u\n2,v\n", {"classes": [0, 5]}, "classes has 5, and there are only the classes 0 to 1"),
    ],
)
def test_data_that_cannot_be_read_are_said_once_by_their_key_before_anything_runs(tmp_path, table, keys, words):
    (tmp_path / "points.csv").write_text(table)
    choices = [
        InstanceChoice(data="iris", links=3),
        InstanceChoice(data="points.csv", **{"truth": "class"} | keys, links=1),
    ]
    study = study_of(choices, [Configuration(method="KP")], folder=tmp_path)
    told = []
    with pytest.raises(cl.InvalidInput, match=words) as raised:
        run(study, tmp_path / "out", tell=lambda *words: told.append(words))
    said = str(raised.value)
    assert said.startswith("instances[1].data cannot be used: ") and "--" not in said and not told
    assert not (tmp_path / "out").exists()


def test_graphs_are_as_the_study_says_for_methods_and_for_programs():
    X, y = cl.datasets.load("iris")
    X = StandardScaler().fit_transform(X)
    links = cl.Links.sample(y, n_links=20, random_state=0)
    graph = {"n_neighbors": 20, "symmetrize": "mutual", "sigma": 1.0}
    choice = InstanceChoice(data="iris", links=20, scale=True, graph=graph)
    solution = cl.KP(cl.Graph.knn(X, **graph), links).solve()
    scores = first(study_of([choice], [Configuration(method="KP")]))["scores"]
    assert scores["ari"] == pytest.approx(adjusted_rand_score(y, solution.cluster(3, random_state=0)))
    program = InstanceChoice(data="iris", formulation="KP", links=20, scale=True, graph=graph)
    assert first(study_of([program], [Configuration()], "solvers"))["value"] == pytest.approx(solution.value, rel=1e-4)
    whole = InstanceChoice(data="iris", formulation="KP", links=20, graph={"kind": "rbf", "sigma": 2})
    (one,) = expanded(study_of([whole], [Configuration()], "solvers"))
    assert one.name == "KP on iris, graph kind=rbf, sigma=2, 20 links, draw 1"
    assert one.problem().graph.W.nnz > 150 * 100


def test_instances_that_differ_are_called_differently():
    choices = [
        InstanceChoice(data="iris", links=3),
        InstanceChoice(data="iris", links=3, scale=True),
        InstanceChoice(data="iris", links=3, points=100),
        InstanceChoice(data="iris", links=3, classes=[0, (1, 2)]),
        InstanceChoice(data="iris", links=3, graph={"sigma": 1}),
        InstanceChoice(data="iris", links=3, name="another"),
        InstanceChoice(data="iris", links=3),
    ]
    names = [one.name for one in expanded(study_of(choices, [Configuration(method="KP")]))]
    assert len(names) == len(set(names)) == 6 and "another, 3 links, draw 1" in names


# ---------------------------------------------------------------------- methods and functions

PEERS = """
import numpy as np
import cvxlink as cl

def by_task(task, shift=0):
    assert isinstance(task, cl.studies.Task) and task.graph.n == len(task.X)
    return (task.y + shift) % task.n_clusters

def by_names(X, n_clusters, links, random_state):
    return cl.clustering.kmeans(X, n_clusters, random_state)

def raises(task):
    raise RuntimeError("found no clustering")

def short(task):
    return [0, 1]

def missing(task):
    import no_such_package

def number(n, size=1.0):
    return {"twice": 2 * n, "size": np.float32(size), "none": None, "far": float("inf"), "how": "by hand", "seconds": 7}

def listed(n):
    return [n]

def nested(n):
    return {"n": {}}
"""


@pytest.fixture
def peers(tmp_path):
    (tmp_path / "peers.py").write_text(PEERS)
    return tmp_path


def test_estimators_of_ones_own_get_a_task_or_what_they_name(peers):
    data = [InstanceChoice(data="iris", links=10)]
    configurations = [
        Configuration(name="task", estimator="peers:by_task"),
        Configuration(name="shifted", estimator="peers:by_task", options={"shift": 1}),
        Configuration(name="names", estimator="peers:by_names"),
        Configuration(name="raises", estimator="peers:raises"),
        Configuration(name="short", estimator="peers:short"),
        Configuration(name="missing", estimator="peers:missing"),
    ]
    study = study_of(data, configurations, folder=peers)
    found = {cell.configuration.name: worked_out(cell) for cell in cells_of(study)}
    assert found["task"]["scores"]["ari"] == found["shifted"]["scores"]["ari"] == 1
    X, y = cl.datasets.load("iris")
    assert found["names"]["scores"]["ari"] == pytest.approx(adjusted_rand_score(y, cl.clustering.kmeans(X, 3, 0)))
    assert found["raises"]["reason"] == "RuntimeError: found no clustering (peers.py, line 13)" and is_failure(
        found["raises"] | {"accuracy": 1}
    )
    assert "2 labels for 150 points of peers:short" in found["short"]["reason"]
    assert found["missing"]["refused"] == "MissingDependency" and "no_such_package" in found["missing"]["reason"]


def test_methods_take_labels_routes_and_options():
    data = InstanceChoice(data="iris", labels=[12], scale=True)
    configurations = [
        Configuration(method="GFHF"),
        Configuration(name="paper", method="CSC", route="paper", options={"fraction": 0.5}),
        Configuration(name="exact", method="CSC", options={"fraction": 0.5}),
    ]
    found = {cell.configuration.name: worked_out(cell) for cell in cells_of(study_of([data], configurations))}
    X, y = cl.datasets.load("iris")
    labels = cl.sample_labels(y, n_labels=12, random_state=0)
    solution = cl.GFHF(cl.Graph.knn(StandardScaler().fit_transform(X)), labels).solve()
    assert found["GFHF"]["scores"]["ari"] == pytest.approx(adjusted_rand_score(y, solution.cluster(3)))
    assert "the route 'paper' does not take this problem" in found["paper"]["reason"]  # it was asked for
    assert found["exact"]["status"] == "OPTIMAL"


def test_links_that_contradict_others_are_left_out_for_methods_that_enforce_them():
    data = InstanceChoice(data="iris", links=[60], points=40, wrong=0.2)
    record = first(study_of([data], [Configuration(method="KP")]))
    (one,) = expanded(study_of([data], [Configuration(method="KP")]))
    task = one.task()
    kept = consistent_part(task.links, task.random_state)
    assert task.links.contradiction() and not kept.contradiction()
    assert record["links_left_out"] == len(task.links) - len(kept) > 0 and set(record["scores"]) >= {"ari", "violated"}


def test_anything_measurable_is_a_study(peers):
    instances = [InstanceChoice(name="size", over={"n": [1, 2]}), InstanceChoice(options={"n": 3})]
    configurations = [Configuration(run="peers:number", options={"size": 0.5}), Configuration(run="peers:listed")]
    configurations += [Configuration(run="peers:nested")]
    study = study_of(instances, configurations, "functions", folder=peers)
    assert [one.name for one in expanded(study)] == ["size, n=1", "size, n=2", "n=3"]
    found = {(r["instance"], r["configuration"]): r for r in run(study, peers / "out")}
    record = found["size, n=2", "peers:number, size=0.5"]
    assert record["numbers"] == {"twice": 4, "size": 0.5, "none": None, "far": None}
    assert record["texts"] == {"how": "by hand"} and record["seconds"] == 7 and not is_failure(record)
    assert "peers:listed must return numbers and texts by name, not [3]" in found["n=3", "peers:listed"]["reason"]
    assert "'n' is {}" in found["n=3", "peers:nested"]["reason"] and is_failure(found["n=3", "peers:nested"])
    again = []
    run(study, peers / "out", tell=lambda *told: again.append(told))
    assert not again


def test_tasks_are_checked():
    X, y = cl.datasets.load("iris")
    links = cl.Links.sample(y, n_links=3, random_state=0)
    assert Task(X, y, links).n_clusters == 3
    for wrong, words in [
        ((X[:5], y, links), "150 labels for 5 points"),
        ((X, np.where(y == 2, -1, y), links), "y must hold the class of every point"),
        ((X, y, cl.Links(4)), "links are on 4 points, and X has 150"),
        ((X, y, None), "links must be Links"),
    ]:
        with pytest.raises(cl.InvalidInput, match=words):
            Task(*wrong)
