"""The library of instances: every solver finds the proven optimum or says why not; wrong references are found out."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import cvxlink as cl
from cvxlink import library
from cvxlink.cli import app
from cvxlink.instances.building import SHAPES
from cvxlink.methods.table import own_methods
from cvxlink.solvers.catalogue import installed_solvers, kinds_of

pytestmark = pytest.mark.slow

NAMES = library.names()
SMALL, LARGE = library.names(tag="small"), library.names(tag="large")
# What a solver is known to fail on; it must say so.
KNOWN = {
    ("SCS", "gfhf_weak_bridge"): "weights of 1e-8 are below its tolerance",
    ("MOREAU", "gfhf_weak_bridge"): "weights of 1e-8 are below its tolerance",
    ("HIGHS", "gfhf_weak_bridge"): "weights of 1e-8 are below its tolerance",
    ("OSQP", "gfhf_weak_bridge"): "weights of 1e-8 are below its tolerance",
    ("DSDP", "complete_without_links"): "the optimum of the dual is at the origin, where it does not start",
    ("DSDP", "kmeans_across"): "a single matrix is feasible, and it needs an interior",
    ("COPT", "ccsr_two_points"): "it takes no semidefinite block of order one",
    ("COPT", "srcp_iris"): "too large without a licence",
    ("COPT", "e2cp_iris"): "too large without a licence",
}


def test_the_library_covers_every_formulation():
    assert len(NAMES) >= 40
    assert {library.load(name).formulation for name in NAMES} == {formulation.__name__ for formulation in own_methods()}
    assert len({library.load(name).title + library.load(name).formulation for name in NAMES}) >= len(NAMES) - 3
    sizes = [library._points_of(library.load(name)) for name in NAMES]
    assert min(sizes) == 2 and max(sizes) >= 3000


@pytest.mark.parametrize("name", NAMES)
def test_every_instance_says_what_it_is(name):
    instance = library.load(name)
    assert sum(tag in library.SIZES for tag in instance.tags) == 1 and set(instance.tags) <= set(library.TAGS)
    assert len(instance.reference.proof) > 20 and instance.reference.by in (*library.PROOFS, "verdict")
    if "large" in instance.tags:  # counting their cones takes seconds
        return
    text = str(instance)
    assert instance.why in text and "proven by" in text and ", ".join(instance.tags) in text
    assert instance.is_small == ("small" in instance.tags)


# ---------------------------------------------------------------------- worth a study

# Their own routes prove them within a second; `cvxlink problems verify` proves the others too.
SOON_PROVEN = ("large_pcp_dense", "large_minkl_digits", "large_ncuts_digits", "large_kmeans_wines", "large_srcp_digits")


def test_twenty_instances_and_more_are_worth_a_study():
    assert len(LARGE) >= 20 and {name for name in LARGE if name.startswith("large_")} >= set(LARGE) - {"pcp_blobs_1000"}
    kinds = [kind for kind in library.TAGS if kind not in (*library.SIZES, "infeasible", "unbounded")]
    for kind in kinds:
        assert set(library.names(tag=kind)) & set(LARGE), kind
    assert len({library.load(name).formulation for name in LARGE}) >= 12
    for name in LARGE:
        instance = library.load(name)
        assert (library.folder() / f"{name}.toml").stat().st_size < 2000  # generated, or shipped with scikit-learn
        content = instance.content["data"]
        assert content["set"] in ("blobs", "two_moons", "control", "iris", "wine", "wdbc", "digits")
        assert "certified" in instance.reference.proof and instance.reference.tolerance <= 1e-5


@pytest.mark.parametrize("name", SOON_PROVEN)
def test_large_ones_are_proven_again(name):
    verdict = library.prove(name)
    assert verdict.holds, verdict.words
    assert verdict.gap is None or abs(verdict.gap) <= 1e-5


def test_names_by_tag():
    assert set(SMALL) | set(LARGE) | set(library.names(tag="medium")) | set(library.names(tag="huge")) == set(NAMES)
    assert library.names(tag="infeasible") == ["cut_five_apart", "cut_seven_apart"]
    with pytest.raises(cl.InvalidInput, match="there is no tag 'lage'; did you mean 'large'?"):
        library.names(tag="lage")


@pytest.mark.parametrize("name", ["cut_five_apart", "cut_seven_apart"])
def test_a_verdict_holds_and_a_wrong_one_is_found_out(tmp_path, name):
    assert library.load(name).reference.verdict is cl.Status.INFEASIBLE
    verdict = library.prove(name)
    assert verdict.holds and verdict.words == "proven again"
    more = int(library.load(name).content["parameters"]["n_clusters"]) + 1
    changed(tmp_path, name, (f"n_clusters = {more - 1}", f"n_clusters = {more}"))
    assert "it is OPTIMAL" in library.prove(name, tmp_path).words
    shown = run(app, ["problems", "show", name])
    assert "optimum    none: no point satisfies all constraints" in shown.output


@pytest.mark.parametrize("solver", [*installed_solvers(), None])
@pytest.mark.parametrize("name", SMALL)
def test_every_solver_finds_the_optimum_or_says_why_not(name, solver):
    instance = library.load(name)
    problem, reference = instance.problem, instance.reference
    try:
        solution = problem.solve(solver=solver, strict=False)
    except (cl.SolverUnavailable, cl.FormUnavailable) as error:
        words = str(error)
        expected = {
            "no valid licence": solver == "MOSEK",
            "cannot take this program": True,  # a cone it does not have
            "is not convex": not problem.convex,
        }
        assert any(allowed and text in words for text, allowed in expected.items()), words
        if "cannot take" in words:
            kind = "logarithms" if isinstance(problem, cl.MinKL) else "semidefinite"
            quadratic = "quadratic terms are not supported" in words
            assert kind not in kinds_of(solver) or quadratic or isinstance(problem, cl.ImprovedOrder), words
        return
    if reference.verdict is not None:  # never an answer, and the verdict only with a proof
        assert solution.status in (reference.verdict, cl.Status.ERROR, cl.Status.UNPROVEN), solution
        assert solution.status is not cl.Status.UNPROVEN or not solution.values
        assert solution.status is not reference.verdict or "proven" in solution.reason
        return
    if not solution.status.has_answer:  # with a reason, and only where it is known
        assert solution.reason
        assert (solver, instance.formulation) in {("COPT", "MinKL")} or (solver, name) in KNOWN, solution
        return
    certificate = solution.certificate
    if solution.status is cl.Status.OPTIMAL and certificate.lower_bound is not None:
        assert reference.off(solution.value) <= 1e-4
    # Others are asked for much more than this accuracy: their tolerances are those that reach it on hard programs.
    asked = 1e-4 if solver in ("SCS", "OSQP", "SDPA") else 0
    assert reference.off(solution.value) <= max(reference.tolerance, asked)
    slack = 1e-8 * (1 + abs(reference.value))
    if certificate.lower_bound is not None:
        assert certificate.lower_bound <= reference.value + slack
        upper = certificate.value if certificate.upper_bound is None else certificate.upper_bound
        assert upper >= reference.value - slack or certificate.largest_violation > 0


# ---------------------------------------------------------------------- proving


def changed(tmp_path, name, *changes):
    text = (library.folder() / f"{name}.toml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (tmp_path / f"{name}.toml").write_text(text)
    return name


def test_references_hold_and_a_wrong_one_is_found_out(tmp_path):
    assert library.prove("kp_path").holds
    assert library.prove("improved_order_iris").holds
    changed(tmp_path, "kp_path", ("value = 0.5", "value = 0.5001"))
    verdict = library.prove("kp_path", tmp_path)
    assert not verdict.holds and "the optimum is 0.5" in verdict.words
    # Within the tolerance, but outside the certified bounds.
    changed(tmp_path, "kp_path", ("value = 0.5", "value = 0.500001"))
    assert "the optimum is at most 0.5" in library.prove("kp_path", tmp_path).words
    changed(tmp_path, "kp_path", ("value = 0.5", "value = 0.499999"))
    assert "the optimum is at least 0.49999999" in library.prove("kp_path", tmp_path).words
    # A wrong optimum of a maximisation is contradicted as well, beyond its tolerance and within.
    changed(tmp_path, "improved_order_iris", ("value = 1.69", "value = 1.70"))
    assert "reference says 1.70" in library.prove("improved_order_iris", tmp_path).words
    changed(tmp_path, "improved_order_iris", ("value = 1.69187366", "value = 1.69187866"))
    assert "the optimum is at most 1.69187366" in library.prove("improved_order_iris", tmp_path).words
    # And one that a named solver does not find does not hold either: OSQP has no second-order cones.
    changed(tmp_path, "improved_order_iris", ('"SCS"', '"OSQP"'))
    verdict = library.prove("improved_order_iris", tmp_path)
    assert not verdict.holds and "OSQP" in verdict.words


BROKEN = {
    "misspelt": ([("[reference]", "[refrence]")], "no key 'refrence'; did you mean 'reference'?"),
    "inside": ([("tolerance =", "tolerence =")], "no key 'tolerence' in [reference]; did you mean 'tolerance'?"),
    "missing": ([('by = "hand"\n', "")], "the key 'by' is missing in [reference]"),
    "formulation": ([('"KP"', '"KPP"')], "no formulation 'KPP'; did you mean 'KP'?"),
    "parameter": ([("normalized = false", "normalised = false")], "unexpected keyword argument 'normalised'"),
    "links": ([("must = []", "must = [[0, 9]]")], "9"),
    "toml": ([("[links]", "[links")], "cannot be read"),
    "how": ([('by = "hand"', 'by = "magic"')], "reference.by must be one of hand, certificate, solvers"),
    "value": ([("value = 0.5", 'value = "half"')], "must be numbers"),
    "solvers": ([('by = "hand"', 'by = "solvers"')], "names two solvers or more"),
    "tag": ([("tags = [", 'tags = ["lareg", ')], "no tag 'lareg'; did you mean 'large'?"),
    "tags": ([('tags = ["small", "semidefinite", "linear"]', 'tags = "small"')], "tags must be a list of words"),
    "verdict": ([("[reference]", '[reference]\nverdict = "INFEASIBLE"')], "no key 'value' in [reference]"),
    "unequal": ([("[0, 1, 0, 0, 0],", "[0, 1, 0, 0],")], "kp_path.toml: the problem cannot be built"),
    "huge": ([("affinity = [", 'kind = "complete"\nsize = 100000000000000\nunused = [')], "kp_path.toml"),
    "words": ([("cannot = [[0, 4]]", 'cannot = "none"')], "kp_path.toml"),
    "truth": ([("value = 0.5", "value = true")], "must be numbers"),
    "title": ([('title = "Path', 'title = 3 # "Path')], "title must be text"),
    "data": ([("[graph]", '[data]\nset = "no such set"\n\n[graph]')], "no data set 'no such set'"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_is_one_sentence_and_the_next_instance_runs(tmp_path, kind):
    changes, says = BROKEN[kind]
    changed(tmp_path, "kp_path", *changes)
    changed(tmp_path, "kp_star")
    broken, whole = library.verify(where=tmp_path)
    assert not broken.holds and says in broken.words and "\n" not in broken.words
    assert whole.holds


def test_a_data_set_that_is_not_there_is_one_sentence_and_the_next_instance_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("CVXLINK_DATA", str(tmp_path / "empty"))
    changed(tmp_path, "pcp_iris", ('set = "iris"', 'set = "mnist0123"'))
    changed(tmp_path, "sl_path")
    missing, whole = library.verify(where=tmp_path)
    assert not missing.holds and "pcp_iris.toml" in missing.words and "mnist0123" in missing.words
    assert whole.holds


def test_a_solve_that_takes_too_long_is_one_sentence():
    verdict = library.prove("improved_order_iris", time_limit=1e-3)
    assert not verdict.holds and "stopped after" in verdict.words


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ('kind = "rign"\nsize = 5', "no graph of the kind 'rign'; did you mean 'ring'?"),
        ('kind = "ring"\nlength = 5', "unexpected keyword argument 'length'"),
        ('kind = "knn"', "needs points; add a section [data]"),
        ("", "'affinity' or 'kind'"),
    ],
)
def test_graphs_that_cannot_be_made(tmp_path, section, says):
    text = f'title = "x"\nformulation = "NCuts"\nwhy = "x"\n[graph]\n{section}\n[parameters]\n'
    text += '[reference]\nvalue = 1\ntolerance = 1e-5\nby = "hand"\nproof = "x"\n'
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(cl.InvalidFile, match=says.replace("?", r"\?").replace("[", r"\[")):
        library.load("x", tmp_path).problem  # noqa: B018


def test_shapes_have_the_edges_their_names_say():
    degrees = {
        "path": [1, 2, 2, 2, 1],
        "ring": [2] * 5,
        "star": [4, 1, 1, 1, 1],
        "complete": [4] * 5,
    }
    for name, expected in degrees.items():
        assert SHAPES[name](5).sum(axis=1).tolist() == expected
    assert SHAPES["grid"](2, 3).sum(axis=1).tolist() == [2, 3, 2, 2, 3, 2]


# ---------------------------------------------------------------------- the command line

run = CliRunner().invoke


def test_problems_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    listed = run(app, ["problems", "list"])
    assert listed.exit_code == 0 and all(name in listed.output for name in NAMES)
    tagged = json.loads(run(app, ["problems", "list", "--tag", "infeasible", "--json"]).output)
    assert [one["reference"]["verdict"] for one in tagged] == ["INFEASIBLE", "INFEASIBLE"]
    assert tagged[0]["tags"] == ["small", "semidefinite", "linear", "infeasible"]
    shown = run(app, ["problems", "show", "strong_ties"])
    assert shown.exit_code == 0 and "minimise" in shown.output and "902.94" in shown.output
    solved = run(app, ["problems", "solve", "strong_ties", "--solver", "CLARABEL"])
    assert solved.exit_code == 0 and "within the tolerance" in solved.output.replace("\n", " ")
    exported = run(app, ["problems", "export", "strong_ties", "--out", "s.cbf"])
    assert exported.exit_code == 0 and (tmp_path / "s.cbf").exists() and (tmp_path / "s.cbf.lift").exists()
    proven = run(app, ["problems", "verify", "kp_path", "kp_star"])
    assert proven.exit_code == 0 and "2 of 2 hold" in proven.output


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["problems", "show", "kp_pth"], "did you mean 'kp_path'?"),
        (["problems", "solve", "kp_path", "--solver", "nosuch"], "no solver named 'nosuch'"),
        (["problems", "export", "minkl_one_bound"], "SDPA's format holds"),
        (["problems", "list", "--folder", "nowhere"], "there is no folder 'nowhere'"),
        (["bring-back", "x.dat-s", "y"], "there is no x.dat-s.lift"),
        (["problems", "verify", "--folder", "."], "there are no instances"),
        (["problems", "list", "--folder", "."], "there are no instances"),
    ],
)
def test_what_goes_wrong_on_the_command_line_is_one_sentence(tmp_path, monkeypatch, command, says):
    monkeypatch.chdir(tmp_path)
    done = run(app, command)
    assert done.exit_code == 1 and says in done.output.replace("\n", " ") and "Traceback" not in done.output


def test_verify_fails_on_a_wrong_reference(tmp_path):
    changed(tmp_path, "kp_path", ("value = 0.5", "value = 0.6"))
    changed(tmp_path, "kp_star")
    done = run(app, ["problems", "verify", "--folder", str(tmp_path)])
    assert done.exit_code == 1 and "1 of 2 hold" in done.output and "not proven: kp_path" in done.output


def test_solvers_on_the_command_line():
    done = run(app, ["solvers", "--no-check"])
    assert done.exit_code == 0 and "CLARABEL" in done.output and "pip install gurobipy" in done.output
    found = json.loads(run(app, ["solvers", "--no-check", "--json"]).output)
    assert {"name", "installed", "version", "licence", "cones", "works"} <= found[0].keys()
