"""Data sets: from scikit-learn, generated, or those of the papers.

The data sets of the papers are looked up as ``NAME.npz`` (arrays X and y) in the folder given by the environment
variable ``CVXLINK_DATA``, then on OpenML if it has them. They are never replaced by generated data.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets as sklearn_datasets

from .data.files.archive import read_archive
from .errors import DataUnavailable, InvalidFile, InvalidInput
from .numerics.arguments import as_path, as_text, shown
from .numerics.checks import (
    LARGEST_COORDINATE,
    MOST_ENTRIES,
    MOST_POINTS,
    as_count,
    as_generator,
    as_labels,
    as_points,
    as_positive,
)

Data = tuple[np.ndarray, np.ndarray]


def load(name: str, **parameters: Any) -> Data:
    """Return the points X and the classes y of a data set.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    **parameters
        For a generated data set, the parameters of its function: ``load("blobs", n=90, random_state=1)``.
    """
    key = as_text(name, "name").lower()
    if key not in names():
        raise InvalidInput(f"there is no data set {shown(name)}; there are: {', '.join(names())}", "name")
    if key in GENERATED:
        try:
            return GENERATED[key](**parameters)
        except (TypeError, ValueError) as error:
            argument = getattr(error, "argument", None)
            message = f"the data set {key!r} cannot be generated with these parameters: {error}"
            raise InvalidInput(message, argument) from error
    if parameters:
        raise InvalidInput(f"the data set {name!r} takes no parameters; only generated data sets do")
    if key in BUNDLED:
        return BUNDLED[key](return_X_y=True)
    return _fetch(key, ELSEWHERE[key])


def names() -> list[str]:
    """Return the names that :func:`load` accepts."""
    return [*BUNDLED, *GENERATED, *ELSEWHERE]


# ---------------------------------------------------------------------- generated


def two_moons(n: int = 200, noise: float = 0.08, random_state: Any = None) -> Data:
    """Two interleaved half circles."""
    return sklearn_datasets.make_moons(
        as_count(n, "n", 2, MOST_POINTS), noise=_noise(noise), random_state=_seed(as_generator(random_state))
    )


def blobs(n: int = 150, n_classes: int = 3, spread: float = 1.0, dimension: int = 2, random_state: Any = None) -> Data:
    """Gaussian clouds, one per class."""
    n, n_classes = as_count(n, "n", 1, MOST_POINTS), as_count(n_classes, "n_classes", 1, MOST_POINTS)
    return sklearn_datasets.make_blobs(
        n,
        n_features=as_count(dimension, "dimension", 1, MOST_ENTRIES // max(n, n_classes)),
        centers=n_classes,
        cluster_std=_noise(spread, "spread"),
        random_state=_seed(as_generator(random_state)),
    )


def four_lines(n: int = 200, noise: float = 0.05, random_state: Any = None) -> Data:
    """Four parallel lines A, B, C, D; A and C are one class, B and D the other (KP paper, figure 5).

    Each class lies in two clusters, so no eigenvector of the graph represents a class: only links can join
    its two lines. The paper gives neither coordinates nor noise; we chose them.
    """
    n, noise = as_count(n, "n", 4, MOST_POINTS), _noise(noise)
    rng = as_generator(random_state)
    line = np.sort(np.arange(n) % 4)
    X = np.column_stack([rng.uniform(0, 4, n), line + noise * rng.standard_normal(n)])
    return X, line % 2


def control(per_class: int = 100, random_state: Any = None) -> Data:
    r"""Synthetic control charts (Alcock & Manolopoulos 1999): six kinds of series of 60 values.

    With m = 30, s = 2, noise r(t) uniform on [-3, 3] and t = 0 … 59: normal m + r s; cyclic adds
    a sin(2πt/T), a and T uniform on [10, 15]; increasing and decreasing add ±g t, g uniform on [0.2, 0.5];
    upward and downward shift add ±x from a moment uniform on [20, 40], x uniform on [7.5, 20].
    """
    size = as_count(per_class, "per_class", 1, MOST_POINTS // 60)
    rng = as_generator(random_state)
    t = np.arange(60)

    def uniform(low: float, high: float) -> np.ndarray:
        return rng.uniform(low, high, (size, 1))

    def shift() -> np.ndarray:
        return uniform(7.5, 20) * (t >= uniform(20, 40))

    signals = [
        np.zeros((size, 60)),
        uniform(10, 15) * np.sin(2 * np.pi * t / uniform(10, 15)),
        uniform(0.2, 0.5) * t,
        -uniform(0.2, 0.5) * t,
        shift(),
        -shift(),
    ]
    signal = np.vstack(signals)
    return 30 + 2 * rng.uniform(-3, 3, signal.shape) + signal, np.repeat(np.arange(6), size)


def _noise(noise: Any, name: str = "noise") -> float:
    number = as_positive(noise, name, or_zero=True)
    if number > LARGEST_COORDINATE:
        raise InvalidInput.about(name, f"must be at most {LARGEST_COORDINATE:g}, not {number:g}")
    return number


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


# ---------------------------------------------------------------------- the papers' own


@dataclass(frozen=True)
class Source:
    """Where to get a data set that is not bundled."""

    advice: str
    openml: int | None = None
    file: str | None = None
    first_per_class: tuple[int, tuple[int, ...]] | None = None  # (how many, of which classes)


def _fetch(name: str, source: Source) -> Data:
    file = f"{source.file or name}.npz"
    folder = os.environ.get("CVXLINK_DATA")
    if folder and (Path(folder) / file).is_file():
        return read(Path(folder) / file)
    if source.openml is not None:
        return _from_openml(name, source, file)
    raise DataUnavailable(
        f"the data set {name!r} is not bundled: put {file} (arrays X and y) into a folder and set the environment "
        f"variable CVXLINK_DATA to that folder; {source.advice}"
    )


def read(path: str | Path) -> Data:
    """Return the points X and the classes y of an ``.npz`` file with these two arrays."""
    path = as_path(path)
    try:
        arrays, _ = read_archive(path)
        missing = [name for name in ("X", "y") if name not in arrays]
        if missing:
            raise InvalidFile(f"there is no array {missing[0]}")
        X = as_points(arrays["X"])
        y = as_labels(arrays["y"], len(X), "y")
        if y.dtype.kind == "U":
            y = as_labels(y.astype(float), argument="y")
        if y.dtype.kind not in "bi":
            raise InvalidFile("the classes y must be whole numbers")
        return X, y.astype(int)
    except (InvalidInput, InvalidFile, ValueError) as error:
        where = shown(str(path), 500)
        raise DataUnavailable(f"{where} cannot be read as a data set with arrays X and y: {error}") from error


def _from_openml(name: str, source: Source, file: str) -> Data:
    try:
        bunch = sklearn_datasets.fetch_openml(data_id=source.openml, as_frame=False, parser="liac-arff")
    except OSError as error:  # for example URLError: no network, or OpenML does not answer
        raise DataUnavailable(
            f"the data set {name!r} could not be fetched from OpenML (id {source.openml}: {error}); put {file} "
            f"(arrays X and y) into a folder and set CVXLINK_DATA to it instead; {source.advice}"
        ) from error
    keep = [k for k, feature in enumerate(bunch.feature_names) if feature.lower() not in NAMES_NOT_FEATURES]
    X = np.asarray(bunch.data, dtype=float)[:, keep]
    target = np.asarray(bunch.target)
    with suppress(ValueError):  # classes with names stay names
        target = target.astype(float)  # as text, "10" would sort before "2"
    y = np.unique(target, return_inverse=True)[1]
    complete = np.isfinite(X).all(axis=1)
    X, y = X[complete], y[complete]
    if source.first_per_class:
        count, classes = source.first_per_class
        chosen = np.concatenate([np.flatnonzero(y == label)[:count] for label in classes])
        X, y = X[chosen], y[chosen]
    return X, y


# Columns that only identify a row (the animals of zoo, the number of a control chart) are not features.
NAMES_NOT_FEATURES = {"animal", "index"}

_UCI = "it is in the UCI Machine Learning Repository"
_DIGITS = (0, 1, 2, 3)

BUNDLED: dict[str, Callable[..., Data]] = {
    "iris": sklearn_datasets.load_iris,
    "wine": sklearn_datasets.load_wine,
    "wdbc": sklearn_datasets.load_breast_cancer,
    "digits": sklearn_datasets.load_digits,
}
GENERATED: dict[str, Callable[..., Data]] = {
    "two_moons": two_moons,
    "blobs": blobs,
    "four_lines": four_lines,
    "control": control,
}
ELSEWHERE: dict[str, Source] = {
    "glass": Source(_UCI, openml=41),
    "hepatitis": Source(_UCI, openml=55),
    "ionosphere": Source(_UCI, openml=59),
    "sonar": Source(_UCI, openml=40),
    "zoo": Source(_UCI, openml=62),
    "synthetic_control": Source(_UCI, openml=377),
    "usps": Source("it accompanies 'The Elements of Statistical Learning' (zip.train, zip.test)", openml=41082),
    "usps0123": Source(
        "it is the first 250 images of each digit 0 to 3 of USPS",
        openml=41082,
        first_per_class=(250, _DIGITS),
    ),
    "mnist0123": Source(
        "it is the first 750 training images of each digit 0 to 3 of MNIST",
        openml=554,
        file="mnist0123_train750",
        first_per_class=(750, _DIGITS),
    ),
    "mnist_test": Source("it is the 10 000 test images of MNIST"),
    "protein": Source("it is the protein set of Xing et al. (2003), 116 points in 20 dimensions, six classes"),
    "scene_gist": Source("compute 512 GIST features of the eight scene categories of Oliva & Torralba (2001)"),
    "pie": Source("CMU PIE is for research use, on request from Carnegie Mellon University"),
    "yaleb": Source("the Extended Yale Face Database B is for research use, on request from its authors"),
}
