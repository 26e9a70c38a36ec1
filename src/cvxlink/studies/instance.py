"""The instances of a study one by one: programs, data with links and labels, or options of functions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from glob import glob, has_magic
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from .. import datasets, instances
from ..data.files.points import Roles, Wording, read_points
from ..data.links import Links
from ..data.partial_labels import sample_labels
from ..engine.exchange import format_of
from ..engine.linear_problem import read_program
from ..engine.problem import Problem
from ..errors import CvxlinkError, InvalidInput
from ..methods.called import is_own
from ..methods.table import method
from ..numerics.arguments import shown
from ..numerics.checks import is_known
from .description import Study
from .parts import OF_TABLES, InstanceChoice, given_in
from .sources import formulation_in, hash_of_source
from .task import Task
from .wording import WrongPart, meant

ARRAYS = ".npz"
TABLES = (".csv", ".tsv", ".txt")
# What decides the points and their classes.
OF_POINTS = ("data", *OF_TABLES, "points", "classes", "scale")
# The columns of tables as the keys of an instance call them.
BY_KEYS = Wording("id", "", "truth", "columns", "ignore", "write a header above it")


@dataclass(frozen=True)
class Instance:
    """One program, one data set with links, or the options of one call: named, and rebuilt wherever it is needed.

    The attributes are those of :class:`InstanceChoice`, with one number of links and of labels.
    """

    name: str
    library: str | None = None
    file: str | None = None
    data: str | None = None
    truth: str | None = None
    id: str | None = None
    ignore: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    formulation: str | None = None
    links: int | None = None
    per_class: int | None = None
    labels: float | None = None
    wrong: float = 0.0
    draw: int = 0
    points: int | None = None
    classes: tuple[int | tuple[int, ...], ...] = ()
    scale: bool = False
    graph: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    folder: str = field(default=".", compare=False)

    def problem(self) -> Problem:
        """Return the program, for studies of solvers."""
        if self.library is not None:
            return instances.load(self.library).problem
        if self.file is not None:
            return read_program(self._path(self.file))
        assert self.formulation is not None
        own = is_own(self.formulation)
        what = formulation_in(self.formulation, self.folder) if own else self.formulation
        task = self.task()
        return method(what).make(task.graph, task.links, task.labels, task.n_clusters, **self.options)

    def task(self) -> Task:
        """Return the data, for studies of methods."""
        X, y = self.prepared()
        return Task(X, y, self.drawn_links(y), self.drawn_labels(y), self.draw, self.graph)

    def prepared(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the points and their classes: those that are kept, scaled."""
        X, y = self._loaded()
        y = np.unique(y, return_inverse=True)[1]
        if self.classes:
            X, y = _of_classes(X, y, self.classes)
        if self.points is not None and len(y) > self.points:
            chosen = np.sort(np.random.default_rng(0).permutation(len(y))[: self.points])
            X, y = X[chosen], np.unique(y[chosen], return_inverse=True)[1]
        return (StandardScaler().fit_transform(X[:, np.ptp(X, axis=0) > 0]) if self.scale else X), y

    def _loaded(self) -> tuple[np.ndarray, np.ndarray]:
        assert self.data is not None
        if self.data in datasets.names():
            return datasets.load(self.data)
        path = self._path(self.data)
        if path.suffix == ARRAYS:
            return datasets.read(path)
        roles = Roles(truth=self.truth, names=self.id, features=self.columns or None, ignored=self.ignore)
        found = read_points(str(path), roles, wording=BY_KEYS)
        assert found.truth is not None
        unknown = np.count_nonzero(~is_known(found.truth))
        if unknown:
            words = f"{found.where}: the class of {unknown} points is unknown; fill it in, or drop their lines"
            raise InvalidInput(words, "truth")
        return found.X, found.truth

    def _path(self, name: str) -> Path:
        """Return a file beside the study; on a machine without that folder, one in the current folder."""
        path = Path(self.folder, name)
        return path if path.exists() else Path(name)

    def drawn_links(self, y: np.ndarray) -> Links:
        """Return the links of this draw."""
        if self.per_class is not None:
            links = Links.sample(y, per_class=self.per_class, random_state=self.draw)
        else:
            links = Links.sample(y, n_links=self.links or 0, random_state=self.draw)
        return turned(links, round(self.wrong * len(links)), self.draw)

    def drawn_labels(self, y: np.ndarray) -> np.ndarray | None:
        """Return the labels that this draw reveals."""
        if self.labels is None:
            return None
        count = self.labels if self.labels >= 1 else max(len(np.unique(y)), round(self.labels * len(y)))
        return sample_labels(y, n_labels=int(count), random_state=self.draw)

    def content(self) -> str:
        """Return a hash of what the instance is made of, beyond its name: so a change of it is noticed."""
        if self.library is not None:
            return hash_of_file(instances.folder() / f"{self.library}.toml")
        parts = []
        if self.file is not None or (self.data is not None and self.data not in datasets.names()):
            parts.append(hash_of_file(self._path(self.file or self.data or "")))
        if self.formulation is not None and is_own(self.formulation):
            parts.append(hash_of_source(self.formulation, self.folder, "formulation"))
        return " ".join(parts)


def turned(links: Links, count: int, seed: int) -> Links:
    """Return links of which so many, drawn at random, say the opposite."""
    if not count:
        return links
    pairs = np.vstack([links.must, links.cannot])
    is_must = np.arange(len(pairs)) < len(links.must)
    is_must[np.random.default_rng(seed).permutation(len(pairs))[:count]] ^= True
    return Links(links.n, pairs[is_must], pairs[~is_must])


def _of_classes(
    X: np.ndarray, y: np.ndarray, classes: tuple[int | tuple[int, ...], ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of some classes; several in one place become one."""
    new = np.full(int(y.max()) + 1, -1)
    for k, several in enumerate(classes):
        for one in several if isinstance(several, tuple) else (several,):
            if one >= len(new):
                raise InvalidInput.about("classes", f"has {one}, and there are only the classes 0 to {len(new) - 1}")
            new[one] = k
    kept = new[y] >= 0
    return X[kept], new[y][kept]


def hash_of_file(path: Path) -> str:
    """Return a hash of the content of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ---------------------------------------------------------------------- one by one


def expanded(study: Study) -> list[Instance]:
    """Return the instances of a study one by one."""
    found: dict[str, Instance] = {}
    for k, choice in enumerate(study.instances):
        for instance in _instances(choice, k, study):
            other = found.setdefault(instance.name, instance)
            if other != instance:
                words = f"is another one called {shown(instance.name)}; give it a name of its own"
                raise WrongPart("instances", k, None, words)
    return list(found.values())


def _instances(choice: InstanceChoice, k: int, study: Study) -> Iterator[Instance]:
    folder = str(study.folder.absolute())
    if choice.library is not None:
        yield from (Instance(name, library=name) for name in _in_library(choice.library))
    elif choice.file is not None:
        yield from (Instance(name, file=name, folder=folder) for name in _files(choice.file, k, folder))
    else:
        for options in _combinations(choice):
            one = Instance("", options=options, folder=folder)
            if choice.data is None:
                yield replace(one, name=_named(choice.name, "", choice.over, options) or _listed(options) or "once")
            else:
                yield from _drawn(choice, k, one, study.seed)


def _drawn(choice: InstanceChoice, k: int, one: Instance, seed: int) -> Iterator[Instance]:
    """Yield the draws of links and labels of a data set."""
    _require_data(choice, k, one.folder)
    kept = (*OF_POINTS, "formulation", "wrong", "graph")
    shared: dict[str, Any] = {name: getattr(choice, name) for name in kept}
    one = replace(one, **shared)
    made = f"{choice.formulation}{f'({_listed(one.options)})' if one.options else ''} on " if choice.formulation else ""
    first = _named(choice.name, f"{made}{_data_words(choice)}", choice.over, one.options)
    what = "links per class" if choice.per_class else "links"
    for number, labels in product(choice.links or choice.per_class or (None,), choice.labels or (None,)):
        words = [] if number is None else [f"{number} {what}"]
        words += [f"{choice.wrong:.4g} of them wrong"] if choice.wrong else []
        words += [] if labels is None else [f"{labels} labels" if labels >= 1 else f"labels of {labels:.4g}"]
        words = words or ["0 links"]
        for draw in range(choice.draws):
            name = ", ".join([first, *words, f"draw {draw + 1}"])
            drawn = replace(one, name=name, labels=labels, draw=seed + draw)
            yield replace(drawn, per_class=number) if choice.per_class else replace(drawn, links=number)


def _named(name: str | None, otherwise: str, over: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Return the name that was given, with what its instances differ in, or another one."""
    if name is None:
        return otherwise
    return ", ".join([name, *([_listed({key: options[key] for key in over})] if over else [])])


def _listed(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items())


def _data_words(choice: InstanceChoice) -> str:
    """Return how data are called: what they are, and what is done to them."""
    words = [str(choice.data)]
    words += [f"columns {' '.join(choice.columns)}"] if choice.columns else []
    words += [f"without {' '.join(choice.ignore)}"] if choice.ignore else []
    if choice.classes:
        words.append(
            f"classes {' '.join('+'.join(map(str, c)) if isinstance(c, tuple) else str(c) for c in choice.classes)}"
        )
    words += [] if choice.points is None else [f"at most {choice.points} points"]
    words += ["scaled"] if choice.scale else []
    words += [f"graph {_listed(choice.graph)}"] if choice.graph else []
    return ", ".join(words)


def _combinations(choice: InstanceChoice) -> Iterator[dict[str, Any]]:
    for values in product(*choice.over.values()):
        yield {**choice.options, **dict(zip(choice.over, values, strict=True))}


# ---------------------------------------------------------------------- what is there


def _in_library(pattern: str) -> list[str]:
    if not set(pattern) & set("*?["):
        instances.load(pattern)  # raises, with the nearest name, if there is none
        return [pattern]
    found = [name for name in instances.names() if fnmatchcase(name, pattern)]
    if not found:
        words = f"no instance of the library fits {shown(pattern)}; `cvxlink problems list` shows them"
        raise InvalidInput(words, "library")
    return found


def _files(pattern: str, k: int, folder: str) -> list[str]:
    """Return the files that a pattern fits, as paths from the folder of the study."""
    exact = Path(folder, pattern).is_file()
    found = [pattern] if exact else sorted(name for name in glob(pattern, root_dir=folder, recursive=True))
    found = [Path(name).as_posix() for name in found if Path(folder, name).is_file()]
    if not found:
        beside = Path(folder, pattern).parent
        there = sorted(path.name for path in beside.glob("*") if path.is_file()) if not has_magic(str(beside)) else []
        what = f"no file fits {shown(pattern)}" if has_magic(pattern) else f"there is no file {shown(pattern)}"
        raise WrongPart(
            "instances", k, "file", f"cannot be read: {what} in {folder}{meant(Path(pattern).name, there, 0)}"
        )
    for name in found:
        try:
            format_of(Path(name), "file")
        except InvalidInput as error:
            raise WrongPart("instances", k, "file", f"cannot be read: {error}") from error
    return found


def _require_data(choice: InstanceChoice, k: int, folder: str) -> None:
    """Raise if there is no such data set, or if it cannot be read as one."""
    data = choice.data or ""
    path = Path(folder, data)
    for key in OF_TABLES:
        if key in given_in(choice) and (data in datasets.names() or path.suffix == ARRAYS):
            what = f"an {ARRAYS} file has arrays X and y" if path.suffix == ARRAYS else "a data set knows its classes"
            raise WrongPart("instances", k, key, f"names a column of a table; {what}")
    if data in datasets.names():
        return
    if path.suffix not in (ARRAYS, *TABLES):
        raise InvalidInput(f"there is no data set {shown(data)}{meant(data, datasets.names())}", "data")
    elif not path.is_file():
        raise WrongPart("instances", k, "data", f"cannot be read: there is no file {shown(data)} in {folder}")
    elif path.suffix in TABLES and choice.truth is None:
        raise WrongPart("instances", k, "data", 'is a table; say which column has the classes: truth = "class"')


def require_readable(study: Study) -> None:
    """Raise if a file of data cannot be read as it is described; each is read once."""
    folder, read = str(study.folder.absolute()), set()
    for k, choice in enumerate(study.instances):
        described: dict[str, Any] = {name: getattr(choice, name) for name in OF_POINTS}
        if choice.data is None or choice.data in datasets.names() or str(described) in read:
            continue
        read.add(str(described))
        try:
            Instance("", folder=folder, **described).prepared()
        except (CvxlinkError, OSError) as error:
            raise WrongPart("instances", k, "data", f"cannot be used: {error}") from error
