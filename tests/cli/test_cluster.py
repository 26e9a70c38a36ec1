"""Clustering data of one's own from the command line."""

from __future__ import annotations

import csv
import dataclasses
import inspect
import io
import json
import re
import tracemalloc

import numpy as np
import pytest
import typer
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import cvxlink as cl
from cvxlink.cli import app
from cvxlink.cli.report import closure_counts
from cvxlink.cli.wording import OPTIONS, remedy, sentence
from cvxlink.estimator.constrained_clustering import ConstrainedClustering
from cvxlink.programs.status import Status

TRUTH = np.repeat([0, 1, 2], 20)
LINKS = cl.Links.sample(TRUTH, per_class=2, random_state=3)
CLASSES = np.array(["red", "green", "blue"])


def blobs() -> np.ndarray:
    """Return three blobs, far apart in two features; without scaling the third, which is noise, hides them."""
    X = np.random.default_rng(5).standard_normal((60, 3))
    X[:, :2] = 0.1 * X[:, :2] + np.array([[0, 0], [3, 0], [0, 3]])[TRUTH]
    return X * [1, 1, 1e3]


X = blobs()
NAMES = [f"p{k * 7 % 60}" for k in range(60)]


def run(*arguments: object, code: int = 0, **options):
    done = CliRunner().invoke(app, [str(a) for a in arguments], **options)
    assert done.exit_code == code, (done.stdout, done.stderr, done.exception)
    return done


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the blobs as plain numbers, and with names, labels and classes; links by number and by name."""
    monkeypatch.chdir(tmp_path)
    np.savetxt("plain.csv", X, delimiter=",", fmt="%.17g")
    known = np.where(np.arange(60) % 5 == 0, CLASSES[TRUTH], "?")
    columns = [NAMES, *X.T.tolist(), known, CLASSES[TRUTH]]
    with open("full.tsv", "w", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(["name", "x", "y", "z", "known", "colour"])
        writer.writerows(zip(*columns, strict=True))
    LINKS.save("links.csv")
    with open("named.csv", "w") as file:
        for kind, pairs in (("ml", LINKS.must), ("cl", LINKS.cannot)):
            file.writelines(f"{NAMES[i]},{NAMES[j]},{kind}\n" for i, j in pairs)
    np.savetxt("must.csv", LINKS.must + 1, fmt="%d")
    np.savetxt("cannot.csv", LINKS.cannot + 1, fmt="%d", delimiter=";")
    return tmp_path


def options_of(command: str) -> set[str]:
    """Return the options of a command, of the library of instances too."""
    group = typer.main.get_command(app)
    commands = {**group.commands, **group.commands["problems"].commands}
    return {option for parameter in commands[command].params for option in parameter.opts}


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def clusters(text: str) -> list[int]:
    return [int(row["cluster"]) for row in table(text)]


FULL = ("full.tsv", "--id-column", "name", "--truth-column", "colour", "--columns", "x,y,z")

# ---------------------------------------------------------------------- the answer


@pytest.mark.parametrize("method", ["kp", "pcp", "ccsr --option order=3", "srcp", "csc"])
def test_separated_blobs_are_found_with_all_links_kept(folder, method):
    asked = ("--links", "links.csv", "--clusters", 3, "--out", "l.csv", "--method", *method.split())
    done = run("cluster", "plain.csv", *asked)
    labels = clusters((folder / "l.csv").read_text())
    assert adjusted_rand_score(TRUTH, labels) == 1 and LINKS.violated(labels) == 0
    assert f"violated    0 of {len(LINKS)} links" in done.stdout and "with 20, 20, 20 points" in done.stdout
    assert [row["point"] for row in table((folder / "l.csv").read_text())] == [str(k) for k in range(60)]
    assert not list(folder.glob(".*")), "no temporary file stays"


def test_the_labels_are_those_of_the_estimator_on_scaled_features(folder):
    options = ("--method", "srcp", "--option", "mu=0.3", "--neighbors", 6, "--symmetrize", "mutual", "--seed", 4)
    done = run("cluster", "plain.csv", "--links", "links.csv", "--clusters", 3, *options)
    estimator = ConstrainedClustering(
        3, method="srcp", method_options={"mu": 0.3}, n_neighbors=6, symmetrize="mutual", random_state=4
    )
    scaled = StandardScaler().fit_transform(X)
    assert clusters(done.stdout) == estimator.fit(scaled, links=LINKS).labels_.tolist()
    assert "scaled to zero mean and unit variance; --no-standardize keeps them" in done.stderr


def test_scaling_is_what_it_says(folder):
    graph = ("cluster", "plain.csv", "--method", "ncuts", "--clusters", 3, "--json")
    scaled, raw = (json.loads(run(*graph, *more).stdout) for more in ((), ("--no-standardize",)))
    for got, points in ((scaled, StandardScaler().fit_transform(X)), (raw, X)):
        expected = cl.NCuts(cl.Graph.knn(points), 3).solve().value
        assert got["certificate"]["value"] == pytest.approx(expected, rel=1e-9)
    assert scaled["data"]["standardized"] and not raw["data"]["standardized"]
    np.savetxt("constant.csv", np.column_stack([X, np.full(60, 7.0)]), delimiter=",", fmt="%.17g")
    constant = run("cluster", "constant.csv", "--links", "links.csv", "--clusters", 3)
    assert "constant, so not scaled: 4" in constant.stderr
    assert constant.stdout == run("cluster", "plain.csv", "--links", "links.csv", "--clusters", 3).stdout


def test_features_in_different_units_are_warned_of_in_the_words_of_the_command_line(folder):
    np.savetxt("units.csv", (X + 1) * [1, 1, 1000], delimiter=",", fmt="%.17g")
    graph = ("cluster", "units.csv", "--links", "links.csv", "--clusters", 3)
    assert "different spread" not in run(*graph).stderr
    said = " ".join(run(*graph, "--no-standardize").stderr.split())
    assert "the data have features of very different spread" in said and "leave out --no-standardize" in said
    assert "StandardScaler" not in said


def test_names_numbers_and_several_files_give_the_same(folder):
    plain = clusters(run("cluster", "plain.csv", "--links", "links.csv", "--clusters", 3).stdout)
    for given in (("--links", "named.csv"), ("--links", "links.csv")):
        named = run("cluster", *FULL, *given, "--clusters", 3)
        assert clusters(named.stdout) == plain
        assert [row["point"] for row in table(named.stdout)] == NAMES
    one = run("cluster", "plain.csv", "--must", "must.csv", "--cannot", "cannot.csv", "--one-based", "--clusters", 3)
    assert clusters(one.stdout) == plain and table(one.stdout)[0]["point"] == "1"
    (folder / "header.csv").write_text("a,b,c\n" + (folder / "plain.csv").read_text())
    assert clusters(run("cluster", "header.csv", "--links", "links.csv", "--clusters", 3).stdout) == plain
    piped = run("cluster", "-", "--links", "links.csv", "--clusters", 3, input=(folder / "plain.csv").read_text())
    assert clusters(piped.stdout) == plain and "standard input: 60 points" in piped.stderr


def test_labels_in_a_column_name_the_clusters(folder):
    for method in ("kp", "gfhf"):
        done = run("cluster", *FULL, "--label-column", "known", "--method", method)
        assert [row["label"] for row in table(done.stdout)] == CLASSES[TRUTH].tolist()
        assert "12 of 60 points, 3 classes (blue, green, red)" in done.stderr and "nmi 1.0000" in done.stderr
    more = run("cluster", *FULL, "--label-column", "known", "--clusters", 4)
    assert {row["label"] for row in table(more.stdout)} == {"red", "green", "blue", ""}, "a fourth has no name"


def test_without_links_it_says_how_many_labels_there_are(folder):
    labelled = run("cluster", *FULL, "--label-column", "known").stderr
    assert "links       only those that follow from 12 labels" in labelled and "give some" not in labelled
    assert (
        "links       none; give some with --links, --must and --cannot, or --label-column"
        in run("cluster", *FULL).stderr
    )


def test_ignored_columns_are_not_used(folder):
    links = ("--links", "named.csv", "--clusters", 3)
    expected = run("cluster", *FULL, *links).stdout
    named = ("cluster", "full.tsv", "--id-column", "name")
    assert run(*named, "--ignore-column", "known", "--ignore-column", "colour", *links).stdout == expected
    assert run(*named, "--ignore-column", "known,6", *links).stdout == expected


def test_classes_for_scores_are_never_used(folder):
    options = ("--links", "links.csv", "--clusters", 3)
    text = (folder / "full.tsv").read_text()
    with_truth = run("cluster", *FULL, *options)
    rows = text.splitlines()
    rotated = [rows[0], *(f"{row.rsplit(chr(9), 1)[0]}\t{k % 2}" for k, row in enumerate(rows[1:]))]
    (folder / "full.tsv").write_text("\n".join(rotated))
    assert run("cluster", *FULL, *options).stdout == with_truth.stdout
    assert "error 0.0000" in with_truth.stderr


# ---------------------------------------------------------------------- the report


def test_json_is_alone_and_agrees_with_the_table(folder):
    done = run("cluster", *FULL, "--links", "named.csv", "--clusters", 3, "--json", "--out", "l.csv", "--plot", "p.png")
    got, written = json.loads(done.stdout), table((folder / "l.csv").read_text())
    assert done.stderr == ""
    assert got["points"] == [row["point"] for row in written]
    assert got["labels"] == [int(row["cluster"]) for row in written]
    graph = cl.Graph.knn(StandardScaler().fit_transform(X))
    value = cl.KP(graph, LINKS).solve(solver="CLARABEL").value + cl.LinkedCut(graph, LINKS, 3).solve().value
    assert got["certificate"]["value"] == pytest.approx(value, rel=1e-5)
    assert got["certificate"]["lower_bound"] <= got["certificate"]["upper_bound"]
    assert got["status"] == "OPTIMAL" and got["method"] == "KPCut" and got["scores"]["ari"] == 1
    assert got["violated"] == [] and got["sizes"] == [20, 20, 20] and got["settings"]["random_state"] == 0
    assert got["timings"]["fit"] >= got["timings"]["solve"] > 0 and got["out"] == "l.csv"
    assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")


def test_links_that_are_broken_are_named(folder):
    wrong = cl.Links(60, must=[(0, 1)], cannot=[(k, k + 1) for k in range(2, 9)])
    rows = [f"{NAMES[i]},{NAMES[j]},-1" for i, j in wrong.cannot] + [f"{NAMES[0]},{NAMES[1]},+1"]
    (folder / "wrong.csv").write_text("\n".join(rows))
    asked = ("cluster", *FULL, "--links", "wrong.csv", "--method", "ncuts", "--clusters", 3)
    done = run(*asked)
    first = ", ".join(f"cannot {NAMES[k]} – {NAMES[k + 1]}" for k in range(2, 7))
    assert f"violated    7 of 8 links: {first}, …" in done.stderr
    assert "warning     NCuts clusters by the graph alone" in done.stderr, "the library's warnings are sentences"
    assert len(json.loads(run(*asked, "--json").stdout)["violated"]) == 7


def test_what_follows_from_links_is_counted_without_writing_it_down():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        links = cl.Links.sample(rng.integers(0, 3, 15), n_links=12, random_state=seed)
        closure = links.closure()
        assert closure_counts(links) == (len(closure.must), len(closure.cannot))


def test_contradictory_links_are_an_error_or_are_said(folder):
    (folder / "bad.csv").write_text(f"{NAMES[0]},{NAMES[1]},ml\n{NAMES[1]},{NAMES[2]},ml\n{NAMES[2]},{NAMES[0]},cl\n")
    chain = f"join them: {NAMES[0]} – {NAMES[1]} – {NAMES[2]}"
    asked = (*FULL, "--links", "bad.csv", "--clusters", 3)
    assert chain in run("cluster", *asked, "--method", "kp", code=1).stderr
    assert chain in run("explain", *asked, "--method", "kp", code=1).stderr
    for soft in (run("cluster", *asked, "--method", "ccsr"), run("cluster", *asked)):
        assert chain in soft.stderr and "violated    1 of 3 links" in soft.stderr
    why = "chosen      LinkedCut with must_weight=0.3, cannot_weight=0.1: the links contradict one another"
    assert why in soft.stderr and why in run("explain", *asked).stdout
    assert json.loads(run("cluster", *asked, "--json").stdout)["chosen"]["method"] == "LinkedCut"


def test_progress_is_shown_on_a_terminal_only(folder, monkeypatch):
    asked = ("cluster", "plain.csv", "--links", "links.csv", "--clusters", 3, "--method")
    quiet = run(*asked, "pcp")
    assert "solving:" not in quiet.stderr
    monkeypatch.setenv("FORCE_COLOR", "1")
    for method in ("pcp", "srcp"):  # one with steps to report, one without
        run(*asked, method)
    assert "solving" in run(*asked, "pcp").stderr and run(*asked, "pcp").stdout == quiet.stdout


# ---------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize(
    ("data", "arguments", "says"),
    [
        ("a,b\n1,2\n3,x\n", (), "data.csv, line 3, column 2 (b): 'x' is not a number"),
        ("a,b\n1,2\n3\n", (), "data.csv, line 3, no column 2 (b)"),
        ("a,b\n1,u\n3,v\n", (), "data.csv, line 2, column 2 (b): the column holds text"),
        ("a,b\n1,2\n3,4\n", ("--links", "none.csv"), "there is no file none.csv"),
        ("a,b\n1,2\n3,4\n", ("--out", "none/l.csv"), "none/l.csv cannot be written: there is no folder none"),
        ("a,b\n1,2\n3,4\n", ("--plot", "p.doc"), "p.doc cannot be drawn"),
        ("a,b\n1,2\n3,4\n", ("--method", "magic"), "there is no method 'magic'; there are PCP"),
        ("a,b\n1,2\n3,4\n5,5\n", ("--option", "mu=3", "--must", "m.csv"), "--option must come with a method"),
        (
            "a,b\n1,2\n3,4\n5,5\n",
            ("--method", "kp", "--option", "graph=1", "--must", "m.csv"),
            "KP has no option 'graph', which",
        ),
        ("a,b\n1,2\n3,4\n5,5\n", ("--solver", "nosuch", "--must", "m.csv"), "no solver named 'nosuch'"),
        (
            "a,b\n1,2\n3,4\n5,5\n",
            ("--cannot", "far.csv"),
            "far.csv, line 2, column 2 (j): 9 is outside the points 0 … 2",
        ),
        ("a,b\n1,2\n3,4\n5,5\n", ("--sigma", "wide", "--must", "m.csv"), "sigma"),
    ],
)
def test_bad_input_is_one_sentence_and_code_1(tmp_path, monkeypatch, data, arguments, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(data)
    (tmp_path / "m.csv").write_text("0,1\n")
    (tmp_path / "far.csv").write_text("0,1\n1,9\n")
    done = run("cluster", "data.csv", *arguments, code=1)
    assert says in done.stderr and done.stdout == "" and done.stderr.count("\n") == 1


@pytest.mark.parametrize("option", ["--out", "--plot"])
@pytest.mark.parametrize("which", ["points.png", "links.png", "must.png", "cannot.png"])
def test_a_file_that_is_read_is_never_overwritten(folder, monkeypatch, option, which):
    monkeypatch.setattr(cl.Problem, "solve", lambda *_, **__: pytest.fail("too late"))
    for name, source in (("points", "plain"), ("links", "links"), ("must", "must"), ("cannot", "cannot")):
        (folder / f"{name}.png").write_text((folder / f"{source}.csv").read_text())
    before = (folder / which).read_bytes()
    (folder / "other.png").symlink_to(folder / which)
    asked = ("cluster", "points.png", "--links", "links.png", "--must", "must.png", "--cannot", "cannot.png")
    for same in (which, f"./{which}", folder / which, "other.png"):
        done = run(*asked, option, same, code=1)
        assert f"{option} would overwrite" in done.stderr and done.stderr.count("\n") == 1
    assert (folder / which).read_bytes() == before


def test_a_dash_is_standard_output(folder):
    asked = ("cluster", "plain.csv", "--links", "links.csv", "--clusters", 3)
    assert run(*asked, "--out", "-").stdout == run(*asked).stdout
    assert not (folder / "-").exists()


PYTHON = re.compile(r"\w=\S|\w\(\)|n_\w+|must_link|cannot_link|\by\b|presolve|cvxlink\.|shape|sample\(s\)")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ("one.csv", 1, "one.csv has one point; clustering needs at least two"),
        (
            "plain.csv --links few.csv --method gfhf",
            1,
            "add cannot-links between points of every two clusters, or give --label-column",
        ),
        ("plain.csv --method kp", 0, "give --links (or --must and --cannot) or --label-column"),
        ("plain.csv --links links.csv --clusters 99", 1, "--clusters must be between 1 and 60, not 99"),
        ("plain.csv --links bad.csv --method ccsr", 1, "how many clusters there are; give --clusters"),
        (
            "plain.csv --links apart.csv --method gfhf --clusters 2",
            1,
            "--clusters is 2, but the points 0, 20, 40 are pairwise kept apart",
        ),
        ("plain.csv --links links.csv --neighbors 99", 0, "--neighbors is 99, but each point has only 59 others"),
        ("plain.csv --links links.csv --sigma wide", 1, "--sigma must be 'mean' or a positive number"),
        ("plain.csv --links links.csv --sigma -3", 1, "--sigma must be 'mean' or a positive number"),
        ("labelled.csv --label-column l --method cscgfhf --option sigma=-3", 1, "--option sigma must be a positive"),
        ("plain.csv --links links.csv --method srcp --option mu=0", 1, "--option mu must be a positive number, not 0"),
        ("same.csv --links few.csv", 1, "their mean distance, the default width, is zero; give --sigma"),
        ("plain.csv --method magic", 1, "; `cvxlink methods` describes them"),
        ("plain.csv --links links.csv --method ncuts", 0, "choose a method that uses them, such as KP"),
        (
            "plain.csv --links links.csv --method csc --route paper --clusters 3",
            4,
            "try --route exact, or ask for less, --accuracy 1e-3",
        ),
        ("plain.csv --links links.csv --method pcp --form low-rank", 1, "'low-rank' is a route, --route low-rank"),
        (
            "plain.csv --links links.csv --method pcp --solver CLARABEL --accuracy 1e-15",
            4,
            "try another --solver, or ask for less, --accuracy 1e-3 for example",
        ),
    ],
)
def test_the_command_speaks_of_options_not_of_python(folder, arguments, code, says):
    (folder / "one.csv").write_text("a,b\n1,2\n")
    (folder / "same.csv").write_text("1,2\n" * 9)
    (folder / "labelled.csv").write_text("a,b,l\n" + "".join(f"{k},{k % 7},{k % 3 // 2}\n" for k in range(20)))
    (folder / "few.csv").write_text("0,1,must\n")
    (folder / "apart.csv").write_text("0,20,cl\n20,40,cl\n0,40,cl\n")
    (folder / "bad.csv").write_text("0,1,ml\n1,2,ml\n0,2,cl\n")
    done = run("cluster", *arguments.split(), code=code)
    said = [line for line in done.stderr.splitlines() if line.startswith(("cvxlink: ", "warning "))]
    assert any(says in line for line in said), said
    assert not PYTHON.search("\n".join(said))


def test_remedies_speak_of_options_too():
    solution = cl.PCP(cl.Graph.knn(X), LINKS).solve("CLARABEL")
    for status in set(Status) - {Status.OPTIMAL}:
        failed = dataclasses.replace(solution, status=status)
        assert not PYTHON.search(remedy(failed)), status
        assert sentence(cl.SolveFailed("look at Links.contradiction()", failed)) == (
            f"{status.sentence} ({solution.reason}); {remedy(failed)}"
        )
    assert "try another --solver, --form or --route" in remedy(dataclasses.replace(solution, status=Status.ERROR))


def test_arguments_become_options_that_exist():
    known = {opt for name in ("cluster", "solve", "optimal") for opt in options_of(name)}
    assert {word for words in OPTIONS.values() for word in re.findall(r"--[a-z-]+", words)} <= known
    callables = (ConstrainedClustering, ConstrainedClustering.fit, cl.KMeans, cl.optimal_clustering)
    taken = {name for one in callables for name in inspect.signature(one).parameters}
    assert {*OPTIONS} - {"n_classes", "memory_limit"} <= taken
    for argument, option in OPTIONS.items():
        assert sentence(cl.InvalidInput.about(argument, "must be less")) == f"{option} must be less"
        assert sentence(cl.LinkWarning.asking_for("too few", argument)) == f"too few; give {option}"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--option", "mu"),
        ("--columns", "a,,b"),
        ("--ignore-column", ","),
        ("--clusters", "0"),
        ("--symmetrize", "no"),
        ("--unknown",),
    ],
)
def test_wrong_usage_is_code_2(folder, arguments):
    run("cluster", "plain.csv", "--links", "links.csv", *arguments, code=2)


def test_no_answer_is_code_3_and_leaves_no_file(folder):
    (folder / "l.csv").write_text("old")
    limited = ("--method", "pcp", "--solver", "SCS", "--form", "paper", "--time-limit", 0.02, "--out", "l.csv")
    done = run("cluster", "plain.csv", "--links", "links.csv", *limited, code=3)
    assert "stopped at a limit" in done.stderr and done.stdout == ""
    assert (folder / "l.csv").read_text() == "old" and not list(folder.glob(".*"))


def test_a_less_accurate_answer_is_code_4_with_its_labels(folder):
    asked = ("--links", "links.csv", "--clusters", 3, "--method", "csc", "--route", "paper", "--out", "l.csv")
    done = run("cluster", "plain.csv", *asked, code=4)
    assert len(clusters((folder / "l.csv").read_text())) == 60
    assert "INACCURATE: solved, but less accurately than asked for" in done.stdout and "warning" in done.stdout


def test_pictures_need_matplotlib_and_say_so_before_solving(folder, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.backend_bases", None)
    monkeypatch.setattr(cl.Problem, "solve", lambda *_, **__: pytest.fail("too late"))
    done = run("cluster", "plain.csv", "--links", "links.csv", "--plot", "p.png", code=1)
    assert "pip install 'cvxlink[plot]'" in done.stderr


# ---------------------------------------------------------------------- the other commands


def test_methods_are_listed_with_their_options():
    listed = run("methods").stdout
    found = {method["name"]: method for method in json.loads(run("methods", "--json").stdout)}
    assert set(found) >= {"KP", "PCP", "CCSR", "SRCP", "MinKL", "CSC", "GFHF", "LLGC", "NCuts"}
    assert all(name in listed for name in found)
    assert "mu" in found["SRCP"]["options"] and "hard links" in found["KP"]["takes"] and "dual" in found["KP"]["forms"]


def test_explain_prints_the_program_and_the_plan_and_solves_nothing(folder, monkeypatch):
    monkeypatch.setattr(cl.Problem, "solve", lambda *_, **__: pytest.fail("it solved"))
    problem = cl.PCP(cl.Graph.knn(StandardScaler().fit_transform(X)), LINKS)
    asked = (
        "explain",
        "plain.csv",
        "--links",
        "links.csv",
        "--method",
        "pcp",
        "--solver",
        "CLARABEL",
        "--form",
        "dual",
    )
    printed = run(*asked).stdout
    assert str(problem) in printed and str(problem.explain("CLARABEL", "dual")) in printed
    got = json.loads(run(*asked, "--json").stdout)
    assert got["solver"] == "CLARABEL" and got["form"] == "dual" and got["route"] is None
    assert [step["name"] for step in got["steps"]] == ["contraction", "dualisation"]
    alone = run("explain", "plain.csv", "--solver", "CLARABEL")
    assert "chosen      NCuts: there are no links" in alone.stdout


def test_the_version_is_told_either_way():
    assert run("--version").stdout == run("version").stdout == f"{cl.__version__}\n"


def test_help_tells_the_exit_codes():
    said = " ".join(run("cluster", "--help").stdout.split())
    assert all(f"{code} {meaning}" in said for code, meaning in ((3, "no answer"), (4, "an answer, but less accurate")))


def test_problems_have_json_too():
    solved = json.loads(run("problems", "solve", "kp_path", "--json").stdout)
    assert solved["certificate"]["value"] == pytest.approx(0.5, abs=1e-6) and solved["holds"]
    listed = {instance["name"]: instance for instance in json.loads(run("problems", "list", "--json").stdout)}
    assert listed["kp_path"]["reference"]["value"] == 0.5


def test_ten_thousand_points_need_no_square_arrays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    n = 10_000
    y = np.arange(n) % 2
    points = np.random.default_rng(0).standard_normal((n, 2)) + 12 * y[:, None]
    np.savetxt("big.csv", points, delimiter=",", fmt="%.6f")
    cl.Links.sample(y, n_links=10, random_state=0).save("links.csv")
    tracemalloc.start()
    try:
        done = run("cluster", "big.csv", "--links", "links.csv", "--clusters", 2)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert adjusted_rand_score(y, clusters(done.stdout)) == 1
    assert peak < n * n, "one byte an entry would be more"


def test_standard_input_is_read_once_and_takes_no_picture(folder):
    done = run("cluster", "-", "--links", "-", "--clusters", 3, code=1, input="1,2\n3,4\n")
    assert "standard input can be read only once" in done.stderr
    assert "standard output" in run("cluster", "plain.csv", "--plot", "-", code=1).stderr
