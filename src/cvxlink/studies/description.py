"""A study: instances, configurations, limits. It is made in Python or read from a file, with the same checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..engine.options import Options
from ..errors import InvalidInput
from ..numerics.arguments import as_list, as_path, shown
from ..numerics.checks import MOST_REPEATS, as_count, as_number
from .parts import Configuration, InstanceChoice, given_in, keeper, listed
from .reading import Reader, content_of, in_toml
from .wording import WrongPart, meant

KINDS = ("solvers", "methods", "functions")
ACCURACY = 1e-4
TIME_LIMIT = 60.0
MOST_THREADS = 4096
LARGEST_SEED = 2**31 - 1


@dataclass(frozen=True)
class Study:
    """What is compared with what.

    Parameters
    ----------
    title : str
    instances, configurations : lists of InstanceChoice and Configuration
    kind : "solvers", "methods" or "functions"
        *Solvers*: the same programs, who proves what in which time. *Methods*: the same data and links, who scores
        what. *Functions*: anything else that can be measured.
    accuracy : float or several
        What OPTIMAL means; each is a cell of its own.
    repeats : int
        How often each cell is computed.
    time_limit : float
        Seconds per cell.
    memory_limit : float or str, optional
        Per cell, for example "4GB".
    threads : int
        Threads of dense linear algebra per cell.
    seed : int
        Decides draws of links and labels, and the order of the cells.
    folder : path
        Where its files and modules are: the folder of its file, by default the current one.
    """

    title: str
    instances: tuple[InstanceChoice, ...]
    configurations: tuple[Configuration, ...]
    kind: str = "solvers"
    accuracy: tuple[float, ...] = (ACCURACY,)
    repeats: int = 1
    time_limit: float = TIME_LIMIT
    memory_limit: float | str | None = None
    threads: int = 1
    seed: int = 0
    folder: Path = field(default=Path(), compare=False, repr=False)

    def __post_init__(self) -> None:
        keep = keeper(self)
        if not isinstance(self.title, str) or not self.title.strip():
            raise InvalidInput.about("title", f"must be a text, not {shown(self.title)}")
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise InvalidInput.about(
                "kind", f"must be one of {', '.join(KINDS)}, not {shown(self.kind)}{meant(self.kind, KINDS)}"
            )
        keep("instances", _parts(self.instances, "instances", InstanceChoice))
        keep("configurations", _parts(self.configurations, "configurations", Configuration))
        keep("accuracy", tuple(map(_accuracy, listed(self.accuracy, "accuracy"))))
        if not self.accuracy:
            raise InvalidInput.about("accuracy", "must be a number between 0 and 1, or several; the list is empty")
        keep("repeats", as_count(self.repeats, "repeats", 1, MOST_REPEATS))
        limits = Options(time_limit=self.time_limit, memory_limit=self.memory_limit)
        if limits.limits.seconds is None:
            raise InvalidInput.about("time_limit", "must be seconds; without a limit, a study may never end")
        keep("time_limit", limits.time_limit)
        keep("threads", as_count(self.threads, "threads", 1, MOST_THREADS))
        keep("seed", as_count(self.seed, "seed", 0, LARGEST_SEED))
        keep("folder", as_path(self.folder, "folder"))
        for k, instance in enumerate(self.instances):
            _check_instance(instance, k, self.kind)
        for k, configuration in enumerate(self.configurations):
            _check_configuration(configuration, k, self.kind)
        names = [configuration.name for configuration in self.configurations]
        for k, name in enumerate(names):
            if name in names[:k]:
                words = f"is the second one called {shown(name)}; give it a name of its own"
                raise WrongPart("configurations", k, None, words)

    @classmethod
    def read(cls, path: str | Path) -> Study:
        """Read a file; what is wrong in it is named by line and key."""
        content, text = content_of(path)
        file = as_path(path)
        return Reader(content, file.name, text).study(cls, PARTS, folder=file.absolute().parent)

    @classmethod
    def of(cls, content: Mapping[str, Any], folder: str | Path = ".") -> Study:
        """Make a study of what a file in some folder would hold, as dictionaries and lists."""
        return Reader(content, "the study").study(cls, PARTS, folder=as_path(folder, "folder"))

    def to_toml(self) -> str:
        """Return the study as the text of a file."""
        simple = [name for name in given_in(self) if name not in (*PARTS, "folder", "title")]
        lines = [f"{name} = {in_toml(getattr(self, name))}" for name in ("title", *simple)]
        for name in PARTS:
            for part in getattr(self, name):
                lines += ["", f"[[{name}]]"]
                lines += [f"{key} = {in_toml(getattr(part, key))}" for key in given_in(part)]
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        named = ", ".join(configuration.name for configuration in self.configurations)
        return f"{self.title}: a study of {self.kind} ({named})"


# The tables in a file of a study, and what they are.
PARTS = {"instances": InstanceChoice, "configurations": Configuration}


# ---------------------------------------------------------------------- what goes with what


def _check_instance(one: InstanceChoice, k: int, kind: str) -> None:
    def require(holds: bool, key: str | None, words: str) -> None:
        if not holds:
            raise WrongPart("instances", k, key, words)

    is_functions = one.library is None and one.file is None and one.data is None
    if kind == "functions":
        words = "belongs in a study of solvers or of methods; functions get options"
        for name in ("library", "file", "data"):
            require(getattr(one, name) is None, name, words)
        return
    if kind == "methods":
        for name in ("library", "file", "formulation"):
            words = "belongs in a study of solvers; methods are compared on data, and named in configurations"
            require(getattr(one, name) is None, name, words)
        require(not is_functions, None, 'needs data, such as data = "iris"')
        words = "needs links, per_class or labels, such as links = [10, 30]"
        require(bool(one.links or one.per_class or one.labels), "data", words)
        return
    require(not is_functions, None, "needs a library, a file or data")
    words = 'needs a formulation: a method such as "PCP", or your own "module:Class"'
    require(one.data is None or one.formulation is not None, "data", words)


def _check_configuration(one: Configuration, k: int, kind: str) -> None:
    homes = {"method": "methods", "estimator": "methods", "run": "functions"}
    for name, home in homes.items():
        if getattr(one, name) is not None and home != kind:
            raise WrongPart("configurations", k, name, f'belongs in a study of {home}: kind = "{home}"')
    if kind == "methods" and one.method is None and one.estimator is None:
        raise WrongPart("configurations", k, None, 'needs a method, such as method = "KP", or an estimator')
    if kind == "methods" and not one.presolve:
        raise WrongPart("configurations", k, "presolve", "belongs in a study of solvers")
    if kind == "functions" and one.run is None:
        raise WrongPart("configurations", k, None, 'needs a function: run = "module:function"')


# ---------------------------------------------------------------------- checks


def _parts(values: Any, name: str, kind: type) -> tuple:
    found = as_list(values, name, f"{kind.__name__} objects")
    if not found:
        raise InvalidInput.about(name, "must hold one or more; the list is empty")
    for one in found:
        if not isinstance(one, kind):
            raise InvalidInput.about(name, f"must hold {kind.__name__} objects, not {shown(one)}")
    return tuple(found)


def _accuracy(value: Any) -> float:
    number = as_number(value, "accuracy")
    if not 0 < number < 1:
        raise InvalidInput.about("accuracy", f"must be a number between 0 and 1, or a list of such, not {shown(value)}")
    return number
