"""Tables out, tables of other tools in, and a folder that benchopt really runs."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest

import cvxlink as cl
from cvxlink.studies.claims import claims
from cvxlink.studies.description import Study
from cvxlink.studies.exchange.benchmark_folder import write_benchmark
from cvxlink.studies.exchange.outside import compared, read_outside
from cvxlink.studies.exchange.tables import write_table
from cvxlink.studies.judging import Outcome, outcome
from cvxlink.studies.running import run
from cvxlink.studies.store import Store
from cvxlink.studies.summary import summary
from helpers.records import record, scored

STUDY = Study.of(
    {
        "title": "Two solvers",
        "instances": [{"library": "path_*"}],
        "configurations": [{"solver": "SCS"}, {"solver": "CLARABEL"}],
        "time_limit": 10,
    }
)


def written(tmp_path, text, name="other.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


# ---------------------------------------------------------------------- tables


def test_every_kind_of_table_holds_the_same_numbers(tmp_path):
    timings = {"compile": 0.25, "solve": 0.5}
    records = [
        record("a", "SCS", 1.5, timings=timings, dimacs=[1e-9, 2e-9], reason='said "fine", twice'),
        record("b", "SCS", 2.5, solved=False, value=None, stopped_by="time"),
    ]
    tables = {}
    for suffix in ("csv", "jsonl", "parquet"):
        write_table(STUDY, records, tmp_path / f"cells.{suffix}")
    with (tmp_path / "cells.csv").open() as file:
        tables["csv"] = list(csv.DictReader(file))
    tables["jsonl"] = [json.loads(line) for line in (tmp_path / "cells.jsonl").read_text().splitlines()]
    tables["parquet"] = pyarrow.parquet.read_table(tmp_path / "cells.parquet").to_pylist()
    for rows in tables.values():
        assert [row["outcome"] for row in rows] == ["proven", "time limit"]
        assert [float(row["seconds"]) for row in rows] == [1.5, 2.5] and float(rows[0]["value"]) == 1.0
        assert rows[0]["reason"] == 'said "fine", twice' and rows[1]["value"] in (None, "")
    for rows in (tables["csv"], tables["parquet"]):
        assert float(rows[0]["seconds_solve"]) == 0.5 and float(rows[0]["dimacs_2"]) == 2e-9
    assert tables["jsonl"][0]["timings"] == timings


def test_scores_are_columns(tmp_path):
    methods = Study.of(
        {
            "title": "x",
            "kind": "methods",
            "instances": [{"data": "iris", "links": 5}],
            "configurations": [{"method": "KP"}],
        }
    )
    write_table(methods, [scored("a", "KP", ari=0.5), scored("b", "KP")], tmp_path / "cells.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "cells.parquet")["ari"].to_pylist() == [0.5, None]
    with pytest.raises(cl.InvalidInput, match="must end in .csv, .jsonl or .parquet"):
        write_table(methods, [], tmp_path / "cells.xlsx")


# ---------------------------------------------------------------------- tables of other tools

CLARABEL_BENCHMARKS = """problem,solver,solve_time,iterations,status,primal_cost,dual_cost,group
a,Mosek,0.5,9,OPTIMAL,1.0,1.0,sdp
b,Mosek,1.5,12,ALMOST_OPTIMAL,2.0,2.0,sdp
c,Mosek,10.0,,TIME_LIMIT,NaN,NaN,sdp
"""
SOLVER_BENCHMARKS = [
    {"problem_name": "a", "solver_name": "MOSEK", "total_time": 0.5, "solve_time": 0.1, "status": "optimal"},
    {"problem_name": "b", "solver_name": "MOSEK", "total_time": 1.5, "status": "optimal_inaccurate"},
    {"problem_name": "c", "solver_name": "MOSEK", "total_time": None, "status": "user_limit", "num_iters": 7},
]


def test_the_formats_of_other_benchmarks_are_read(tmp_path):
    first = read_outside(written(tmp_path, CLARABEL_BENCHMARKS)).records
    lines = "".join(json.dumps(row) + "\n" for row in SOLVER_BENCHMARKS)
    second = read_outside(written(tmp_path, lines, "other.jsonl")).records
    for records in (first, second):
        assert [(r["instance"], r["claimed"]) for r in records] == [("a", "OPTIMAL"), ("b", "INACCURATE"), ("c", None)]
        assert [r["seconds"] for r in records[:2]] == [0.5, 1.5] and all(r["outside"] for r in records)
    assert [str(outcome(r)) for r in first] == ["no bound", "no bound", "time limit"]
    assert outcome(second[2]) is Outcome.ITERATIONS and first[0]["iterations"] == 9
    assert first[0]["configuration"] == "Mosek (other)"


def test_a_column_for_each_solver(tmp_path):
    found = read_outside(written(tmp_path, "problem;COPT;CSDP\na;3;12.5\nb;t;f\nc;4;\n"))
    told = {(r["instance"], r["configuration"]): (r["seconds"], r["claimed"], str(outcome(r))) for r in found.records}
    assert told == {
        ("a", "COPT (other)"): (3.0, "OPTIMAL", "no bound"),
        ("a", "CSDP (other)"): (12.5, "OPTIMAL", "no bound"),
        ("b", "COPT (other)"): (None, None, "time limit"),
        ("b", "CSDP (other)"): (None, None, "error"),
        ("c", "COPT (other)"): (4.0, "OPTIMAL", "no bound"),
    }
    assert not found.damaged


def test_nothing_outside_is_ever_proven(tmp_path):
    for status in ("optimal", "infeasible", "unbounded", "optimal_inaccurate", "timeout", "oom", "failed", ""):
        text = f"instance,solver,time,status,value\na,X,1.0,{status},3.0\n"
        (found,) = read_outside(written(tmp_path, text)).records
        assert not outcome(found).is_success and not outcome(found, 0.4).is_success


def test_damaged_rows_are_named_with_their_line(tmp_path):
    text = (
        "instance,solver,time,status\na,X,1.0,optimal\nb,X,fast,optimal\nc,X,1.0\n,X,1,optimal\n"
        "e,X,,optimal\nf,X,1,wonderful\n\ng,X,-1,optimal\nh,X,2,optimal\n"
    )
    found = read_outside(written(tmp_path, text))
    assert [r["instance"] for r in found.records] == ["a", "h"]
    assert [words.partition(": ")[0] for words in found.damaged] == [f"other.csv, line {k}" for k in (3, 4, 5, 6, 7, 9)]
    said = " ".join(found.damaged)
    for words in (
        "the time 'fast'",
        "has 3 cells",
        "has no instance",
        "has no time",
        "'wonderful' is not known",
        "'-1'",
    ):
        assert words in said


def test_rows_of_other_tools_are_kept_as_they_were_read(tmp_path):
    found = read_outside(written(tmp_path, CLARABEL_BENCHMARKS)).records
    with Store(tmp_path / "out").writer() as writer:
        for row in (*found, *found):
            writer.add(row)
    assert Store(tmp_path / "out").records() == found and not Store(tmp_path / "out").damaged()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("solver,time\nX,1\n", "has no column for instance: instance may be called"),
        ("instance,time\na,1\n", "has no column for solver"),
        ("instance,solver\na,X\n", "has no column for seconds"),
        ("", "no column for instance"),
        ("instance,solver,time\n", "has no row that can be used"),
        ("instance,solver,time\na,X,never\n", "no row that can be used; other.csv, line 2: the time 'never'"),
    ],
)
def test_tables_that_cannot_be_used(tmp_path, text, words):
    with pytest.raises(cl.InvalidFile, match=words):
        read_outside(written(tmp_path, text))


def test_claims_are_compared_apart(tmp_path):
    records = [
        record("a", "SCS", 1.0, value=2.0, claimed="OPTIMAL"),
        record("b", "SCS", 3.0, solved=False, value=2.0, claimed="OPTIMAL"),
        record("c", "SCS", 3.0, claimed="OPTIMAL"),
    ]
    text = "instance,solver,time,status,value\na,X,0.5,optimal,2.1\nb,X,,timeout,\nz,X,1,optimal,1\n"
    other = read_outside(written(tmp_path, text)).records
    everything = [*records, *other]
    assert compared(everything) == (["a", "b"], ["z"])
    (found,) = claims(everything, 10.0, 1e-4)
    assert found.instances == ("a", "b")
    told = {one.name: one for one in found.claims}
    mine, theirs = told["SCS"], told["X (other)"]
    assert (mine.optimal, mine.off, mine.outside) == (2, 0, False)  # what is refuted is claimed all the same
    assert mine.mean == pytest.approx((1.1 * 3.1) ** 0.5 - 0.1)
    assert (theirs.optimal, theirs.off, theirs.outside) == (1, 1, True)  # 2.1 where 2 is proven
    assert theirs.mean == pytest.approx((0.6 * 10.1) ** 0.5 - 0.1)
    text = summary(STUDY, everything)
    proven, _, claimed = text.partition("AS CLAIMED, NOT PROVEN")
    assert "X (other)" not in proven and re.search(r"X \(other\) +outside +1 of 2 ", claimed)
    words = "10 s, the limit of this study, stands for 1 instance of X (other), where no optimum is claimed"
    assert words in " ".join(claimed.split())
    assert claims(records, 10.0, 1e-4) == [] and "AS CLAIMED" not in summary(STUDY, records)


def test_a_tool_with_few_instances_takes_none_from_another(tmp_path):
    records = [record(name, "SCS", 1.0, claimed="OPTIMAL") for name in "abc"]
    text = "problem,FEW,MANY,ALSO\na,0.5,1,2\nb,,1,2\nc,,t,2\n"
    everything = [*records, *read_outside(written(tmp_path, text)).records]
    found = claims(everything, 10.0, 1e-4)
    told = {one.instances: [claim.name for claim in one.claims if claim.outside] for one in found}
    assert told == {("a",): ["FEW (other)"], ("a", "b", "c"): ["MANY (other)", "ALSO (other)"]} or told == {
        ("a",): ["FEW (other)"],
        ("a", "b", "c"): ["ALSO (other)", "MANY (other)"],
    }
    assert [one.at_limit for one in found] == [[], [("MANY (other)", 1)]]
    assert summary(STUDY, everything).count("AS CLAIMED") == 2


def command(where, *words):
    line = [sys.executable, "-m", "cvxlink", "study", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, cwd=where, env=dict(os.environ), check=False)


def test_the_command_line_imports_and_reports(tmp_path):
    text = 'title = "Small"\n[[instances]]\nlibrary = "path_ends_apart"\n[[configurations]]\nsolver = "SCS"\n'
    file = written(tmp_path, text, "small.toml")
    run(Study.read(file), tmp_path / "small-results")
    other = written(tmp_path, "problem,solver,time\npath_ends_apart,OTHER,0.001\nx,OTHER,soon\n")
    for _ in range(2):  # the second time replaces the first
        done = command(tmp_path, "import", other, "--into", "small-results")
        assert done.returncode == 0 and "1 rows of other.csv" in done.stdout
        assert "left out: other.csv, line 3: the time 'soon'" in done.stderr
    said = command(tmp_path, "report", file).stdout
    assert said.count("OTHER (other)") == 1 and "AS CLAIMED, NOT PROVEN" in said
    assert command(tmp_path, "export", file, "--out", "cells.jsonl").returncode == 0
    rows = [json.loads(line) for line in (tmp_path / "cells.jsonl").read_text().splitlines()]
    assert [row["outcome"] for row in rows] == ["proven", "no bound"]
    assert "say what to write" in command(tmp_path, "export", file).stderr


# ---------------------------------------------------------------------- benchopt


@pytest.mark.slow
def test_benchopt_runs_the_folder(tmp_path):
    pytest.importorskip("benchopt", reason="benchopt is not installed: pip install 'cvxlink[benchopt]'")
    written(
        tmp_path,
        "from dataclasses import dataclass\nimport cvxlink as cl\n\n"
        "@dataclass(frozen=True, eq=False)\nclass Mine(cl.PCP):\n    pass\n\n"
        "@dataclass(frozen=True, eq=False)\nclass Broken(cl.PCP):\n"
        "    def constraints(self, K):\n        raise KeyError('unit')\n",
        "mine.py",
    )
    file = written(
        tmp_path,
        'title = "Soft [links]"\naccuracy = [1e-4]\ntime_limit = 60\n'
        '[[instances]]\nlibrary = "ring_antipodes"\n'
        '[[instances]]\ndata = "iris"\nformulation = "mine:Broken"\nlinks = [4]\n'
        '[[configurations]]\nsolver = "SCS"\n'
        '[[configurations]]\nname = "careless [1]"\nsolver = "SCS"\noptions = { eps_abs = 0.1, eps_rel = 0.1 }\n',
        "study.toml",
    )
    done = command(tmp_path, "export", file, "--benchopt", "bench")
    assert done.returncode == 0 and "benchopt run bench" in done.stdout, done.stderr
    words = ["run", "bench", "--local", "--no-cache", "--no-plot", "--no-display", "--seed", "0", "-r", "1"]
    line = [sys.executable, "-m", "benchopt", *words, "--output", str(tmp_path / "out" / "results.parquet")]
    ran = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = pyarrow.parquet.read_table(tmp_path / "out" / "results.parquet").to_pylist()
    told = {(row["p_dataset_instance"], row["solver_name"]): row for row in rows}
    assert len(rows) == len(told) == 4  # failures are rows
    good, careless = told["ring_antipodes", "SCS"], told["ring_antipodes", "careless 1"]
    assert good["objective_outcome"] == "proven" and good["objective_value"] <= 1e-4
    reference = cl.instances.load("ring_antipodes").reference
    assert reference.off(good["objective_answer"]) <= 1e-4
    # The solver claims the same of both; the certificate does not.
    assert careless["objective_claimed"] == good["objective_claimed"] == "OPTIMAL"
    assert careless["objective_outcome"] == "wrong" and careless["objective_value"] > 1e-4
    broken = told["mine:Broken on iris, 4 links, draw 1", "SCS"]
    assert broken["objective_value"] == 1.0 and broken["objective_gap"] is None and broken["objective_reason"]


def test_the_folder_for_benchopt_is_new_and_holds_what_the_study_names(tmp_path, monkeypatch):
    source = "import cvxlink as cl\n\n\nclass Mine(cl.PCP):\n    pass\n"
    written(tmp_path, source, "beside.py")
    text = (
        'title = "x"\n[[instances]]\ndata = "iris"\nformulation = "beside:Mine"\nlinks = 4\n'
        '[[configurations]]\nsolver = "SCS"\n'
    )
    file = written(tmp_path, text, "some.toml")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    files = write_benchmark(Study.read(file), file, tmp_path / "bench")
    assert all(path.is_file() for path in files)
    assert (tmp_path / "bench" / "study.toml").read_text() == text
    assert (tmp_path / "bench" / "beside.py").read_text() == source
    for path in files:
        if path.suffix == ".py":
            compile(path.read_text(), str(path), "exec")
    with pytest.raises(cl.InvalidInput, match="exists and is not an empty folder"):
        write_benchmark(Study.read(file), file, tmp_path / "bench")
    with pytest.raises(cl.InvalidInput, match="cannot be written"):
        write_benchmark(Study.read(file), file, Path(file) / "bench")
