"""Write a study as a folder that benchopt runs.

Each solver of the folder computes the cell of the study, in a process of its own and within the limits of the study, so
a failure is a row and not a gap. The objective scores the certificate, never what the solver claims.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from ...data.files.atomic import write_whole
from ...errors import InvalidInput
from ...methods.called import is_own
from ..cells import cells_of
from ..description import Study

STUDY = "study.toml"
OBJECTIVE = '''"""What a certificate proves of an answer. What a solver claims is a column, and never counts."""

from benchopt import BaseObjective

from benchmark_utils.cells import ACCURACIES, scored


class Objective(BaseObjective):
    name = {title}
    min_benchopt_version = "1.8"
    sampling_strategy = "run_once"
    parameters = {{"accuracy": ACCURACIES}}

    def set_data(self, instance):
        self.instance = instance

    def get_objective(self):
        return {{"instance": self.instance, "accuracy": self.accuracy}}

    def evaluate_result(self, record):
        return scored(record)

    def get_one_result(self):
        return {{"record": {{"accuracy": self.accuracy, "reason": "nothing was computed"}}}}
'''
DATASET = '''"""The instances of the study."""

from benchopt import BaseDataset

from benchmark_utils.cells import INSTANCES


class Dataset(BaseDataset):
    name = "study"
    parameters = {"instance": INSTANCES}
    test_parameters = {"instance": INSTANCES[:1]}

    def get_data(self):
        return {"instance": self.instance}
'''
SOLVER = '''"""One configuration of the study."""

from benchopt import BaseSolver

from benchmark_utils.cells import computed


class Solver(BaseSolver):
    name = {name}
    configuration = {configuration}

    def set_objective(self, instance, accuracy):
        self.cell = (instance, self.configuration, accuracy)

    def run(self, _):
        self.record = computed(*self.cell)

    def get_result(self):
        return {{"record": self.record}}
'''
CELLS = '''"""The cells of the study, computed and judged as cvxlink does."""

import sys
from pathlib import Path

HOME = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HOME))  # for formulations in modules beside the study

from cvxlink.studies.cells import cells_of  # noqa: E402
from cvxlink.studies.description import Study  # noqa: E402
from cvxlink.studies.judging import outcome  # noqa: E402
from cvxlink.studies.recording import computed as computed_cell  # noqa: E402

STUDY = Study.read(HOME / "study.toml")
CELLS = {
    (cell.instance.name, cell.configuration.name, cell.accuracy): cell for cell in cells_of(STUDY) if not cell.repeat
}
INSTANCES = sorted({instance for instance, _, _ in CELLS})
ACCURACIES = list(STUDY.accuracy)


def computed(instance, configuration, accuracy):
    """Return the result of a cell; a failure is a result, too."""
    return computed_cell(CELLS[instance, configuration, accuracy])


def scored(record):
    """Return the columns of the table: ``value`` is the accuracy that is proven, and 1 where none is."""
    kept = ("proven_to", "gap", "violation", "bound", "seconds", "megabytes")
    numbers = {name: float("nan") if record.get(name) is None else record[name] for name in kept}
    if STUDY.kind == "methods":
        return {"value": 1.0 if "scores" not in record else 0.0, **numbers, **record.get("scores", {})}
    proven = record.get("proven_to")
    words = {name: record.get(name) or "" for name in ("claimed", "reason")} | {"outcome": str(outcome(record))}
    return {"value": 1.0 if proven is None else proven, "answer": record.get("value"), **numbers, **words}
'''
README = """# {title}

A benchmark for [benchopt](https://benchopt.github.io), written by `cvxlink study export`. It needs cvxlink and
benchopt in the current environment, and runs without a network:

    benchopt run . --local --n-repetitions {repeats} --no-display

Each row is a cell of `study.toml`, computed in a process of its own with the limits that are given there. The column
`time` of benchopt includes starting that process; `objective_seconds` is the time that the study reports.

| column | meaning |
| --- | --- |
| `objective_value` | the accuracy that the certificate proves, or 1 where it proves none |
| `objective_gap`, `objective_violation`, `objective_bound` | what is certified |
| `objective_outcome` | proven, or the kind of failure; a failure is a row |
| `objective_claimed` | what the solver says, which does not count |
| `objective_answer` | the value of the answer |
"""


def write_benchmark(study: Study, file: str | Path, folder: str | Path) -> list[Path]:
    """Write a folder for benchopt, and return its files.

    Parameters
    ----------
    study : Study
        A study of solvers or of methods.
    file : path
        The file of the study, which is copied, with modules and problems of your own beside it.
    folder : path
        A new folder, or an empty one.
    """
    file, folder = Path(file), Path(folder)
    if study.kind == "functions":
        raise InvalidInput("a study of functions has no benchmark: export it as a table, NAME.csv", "study")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(f"{folder} exists and is not an empty folder; choose another one", "folder")
    cells_of(study)  # what does not exist is said now
    contents = {
        "objective.py": OBJECTIVE.format(title=repr(_bare(study.title))),
        "datasets/study.py": DATASET,
        "benchmark_utils/__init__.py": "",
        "benchmark_utils/cells.py": CELLS,
        "README.md": README.format(title=study.title, repeats=study.repeats),
    }
    for k, configuration in enumerate(study.configurations, 1):
        text = SOLVER.format(name=repr(_bare(configuration.name)), configuration=repr(configuration.name))
        contents[f"solvers/configuration_{k}.py"] = text
    try:
        for name, text in contents.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_whole(folder / name, text)
        return [*(folder / name for name in contents), *_copied(study, file, folder)]
    except OSError as error:
        raise InvalidInput(
            f"{folder} cannot be written: {error.strerror or error}; choose another one", "folder"
        ) from error


def _bare(name: str) -> str:
    """Return a name as benchopt takes it: it reads brackets as parameters."""
    return " ".join(re.sub(r"[\[\]]", " ", name).split())


def _copied(study: Study, file: Path, folder: Path) -> list[Path]:
    """Copy the file of the study, and what it names beside it."""
    made = [Path(shutil.copyfile(file, folder / STUDY))]
    home = file.resolve().parent
    for source in dict.fromkeys(_beside(study, home)):
        target = folder / source.relative_to(home)
        target.parent.mkdir(parents=True, exist_ok=True)
        made.append(Path(shutil.copyfile(source, target)))
    return made


def _beside(study: Study, home: Path) -> list[Path]:
    """Return the modules and the files of problems that a study names and that are in its folder."""
    parts = [*study.instances, *study.configurations]
    named = [getattr(part, key, None) for part in parts for key in ("formulation", "method", "estimator", "data")]
    modules = [f"{name.partition(':')[0].replace('.', '/')}.py" for name in named if name and is_own(name)]
    patterns = [getattr(part, key, None) for part in parts for key in ("file", "data", "truth")]
    found = [
        path for name in {*modules, *filter(None, patterns)} if not Path(name).is_absolute() for path in home.glob(name)
    ]
    return sorted(path for path in found if path.is_file())
