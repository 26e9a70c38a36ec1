"""Checks on what users hand over; each refusal knows its argument, and says in one sentence what to do."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..errors import InvalidInput

LARGEST_COORDINATE = 1e150
LARGEST_LABEL = 2**53


def as_points(X: Any, name: str = "X") -> np.ndarray:
    """Return the data as a finite float array with one row per point.

    Pandas frames, lists and integer arrays are accepted.
    """
    if issparse(X):
        raise InvalidInput(f"{name} is sparse; give {name}.toarray()", name)
    points = real_array(X, name)
    if points.ndim != 2 or 0 in points.shape:
        problem = f"must be two-dimensional, with one row per point, and not empty; its shape is {points.shape}"
        raise InvalidInput.about(name, problem)
    bad = ~np.isfinite(points)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InvalidInput.about(
            name,
            f"has {bad.sum()} entries that are NaN or infinite, the first in row {row}, column {column}; drop or "
            f"impute them first",
        )
    if abs(points).max() > LARGEST_COORDINATE:
        largest = f"{abs(points).max():.0e}"
        raise InvalidInput.about(name, f"has entries as large as {largest}, whose distances overflow; rescale it")
    return points


def real_array(values: Any, name: str, argument: str | None = None) -> np.ndarray:
    """Return a new array of real numbers; entries that a masked array hides become NaN.

    ``name`` is what messages call it, and the name of the argument unless that is given.
    """
    try:
        if np.iscomplexobj(values):
            raise InvalidInput(f"{name} is complex; give real numbers", argument or name)
        array = np.ma.filled(np.ma.asarray(values, dtype=float), np.nan) if np.ma.isMA(values) else values
        return np.array(array, dtype=float)
    except InvalidInput:
        raise
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name} must hold numbers only, in rows of equal length", argument or name) from error


def as_kernel(values: Any, n: int) -> np.ndarray:
    """Return a symmetric matrix of order n."""
    kernel = real_array(values.toarray() if issparse(values) else values, "the kernel", "kernel")
    if kernel.shape != (n, n):
        raise InvalidInput(
            f"the links are on {n} points, so the kernel must have the shape {(n, n)}, not {kernel.shape}", "kernel"
        )
    if not np.isfinite(kernel).all():
        raise InvalidInput("the kernel has NaN or infinite entries; remove them first", "kernel")
    asymmetry, largest = float(abs(kernel - kernel.T).max()), float(abs(kernel).max())
    if asymmetry > 1e-8 * largest:
        raise InvalidInput(
            f"the kernel is not symmetric (by {asymmetry:.3g}); use (K + K.T) / 2 if that is meant", "kernel"
        )
    return (kernel + kernel.T) / 2


def as_positive(value: Any, name: str, or_zero: bool = False) -> float:
    """Return a positive, finite number."""
    wanted = "zero or more" if or_zero else "a positive number"
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool | np.bool_) else np.nan
    if not np.isfinite(number) or number < 0 or (number == 0 and not or_zero):
        raise InvalidInput.about(name, f"must be {wanted}, not {value!r}")
    return number


def as_number(value: Any, name: str) -> float:
    """Return a finite number."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or not np.isfinite(float(value)):
        raise InvalidInput.about(name, f"must be a finite number, not {value!r}")
    return float(value)


def as_fraction(value: Any, name: str) -> float:
    """Return a number strictly between 0 and 1."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool | np.bool_) else np.nan
    # Nearer to 0 or 1, one of two terms is below the rounding of the other.
    if not 1e-6 <= number <= 1 - 1e-6:
        raise InvalidInput.about(name, f"must be a number between 0 and 1 (by at least 1e-6), not {value!r}")
    return number


def as_shares(value: Any, n: int, name: str) -> np.ndarray:
    """Return n numbers between 0 and 1, from one for all or one for each."""
    shares = real_array(value, name)
    if shares.shape not in ((), (n,)) or not ((shares >= 0) & (shares <= 1)).all():
        raise InvalidInput.about(name, f"must be a number between 0 and 1, or {n} of them, one for each point")
    shares = np.broadcast_to(shares, n).copy()
    shares.setflags(write=False)
    return shares


def as_permutation(order: Any, n: int) -> np.ndarray:
    """Return a renumbering of n points."""
    array = np.asarray(order)
    if array.dtype.kind not in "iu" or array.shape != (n,) or not np.array_equal(np.sort(array), np.arange(n)):
        raise InvalidInput.about("order", f"must hold each of the numbers 0 … {n - 1} once")
    return array


def as_labels(y: Any, n: int | None = None, argument: str = "labels") -> np.ndarray:
    """Return labels as a one-dimensional array, of length n if n is given.

    A label that is masked, None, NaN among names, or missing in the sense of pandas is unknown: -1.
    """
    if issparse(y):
        raise InvalidInput("labels must be a list of numbers or names, not a sparse matrix", argument)
    if np.ma.isMaskedArray(y):
        hidden, y = np.ma.getmaskarray(y), np.ma.getdata(y).astype(object)
        y[hidden] = None
    elif hasattr(y, "to_numpy"):
        y = y.to_numpy(dtype=object) if y.ndim == 1 and y.isna().any() and not _is_plain_float(y) else y
    try:
        labels = np.asarray(y)
    except ValueError as error:
        raise InvalidInput("labels must be a list of numbers or names, one for each point", argument) from error
    if labels.dtype.kind == "O" and labels.ndim == 1:
        labels = _plain_labels(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "biufU":
        trouble = f"their shape is {labels.shape}" if labels.ndim != 1 else f"their type is {labels.dtype}"
        raise InvalidInput(f"labels must be a list of numbers or names; {trouble}", argument)
    if n is not None and len(labels) != n:
        raise InvalidInput(f"there are {len(labels)} labels for {n} points", argument)
    if labels.dtype.kind == "u":  # there is no -1 among these
        if labels.max(initial=0) > LARGEST_LABEL:
            raise InvalidInput(f"labels must be at most {LARGEST_LABEL}; number the classes from 0", argument)
        labels = labels.astype(int)
    if labels.dtype.kind == "f":
        if not np.isfinite(labels).all():
            raise InvalidInput("labels hold NaN or infinity; mark unknown labels with -1", argument)
        if (labels == np.floor(labels)).all() and abs(labels).max(initial=0) <= LARGEST_LABEL:
            labels = labels.astype(int)
    return labels


def is_known(labels: np.ndarray) -> np.ndarray:
    """Return which labels are known; -1 stands for unknown."""
    return labels != ("-1" if labels.dtype.kind == "U" else -1)


def _is_plain_float(series: Any) -> bool:
    """Whether a pandas series holds floats, in which NaN is more likely a mistake than a missing label."""
    return getattr(series.dtype, "kind", "O") == "f" and isinstance(series.dtype, np.dtype)


def _plain_labels(labels: np.ndarray) -> np.ndarray:
    """Return whole numbers as numbers and anything else as names, with -1 for what is missing."""
    unknown = [_is_missing(label) for label in labels]
    known = [label for u, label in zip(unknown, labels, strict=True) if not u]
    if all(isinstance(k, Integral) or (isinstance(k, Real) and float(k).is_integer()) for k in known):
        return np.array([-1 if u else int(label) for u, label in zip(unknown, labels, strict=True)])
    return np.array(["-1" if u else str(label) for u, label in zip(unknown, labels, strict=True)])


def _is_missing(label: Any) -> bool:
    """Whether a label is None, NaN or one of the other ways to say that it is not known."""
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA does not even say whether it differs from itself
        return True


def as_count(value: Any, name: str, least: int = 1, most: int | None = None) -> int:
    """Return a whole number between two limits."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidInput.about(name, f"must be a whole number, not {value!r}")
    count = int(value)
    if count < least or (most is not None and count > most):
        limits = f"at least {least}" if most is None else f"between {least} and {most}"
        raise InvalidInput.about(name, f"must be {limits}, not {count}")
    return count


def as_flag(value: Any, name: str) -> bool:
    """Return True or False; nothing else is accepted, not even 0 or 1."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput.about(name, f"must be True or False, not {value!r}")
    return bool(value)


def as_generator(random_state: Any) -> np.random.Generator:
    """Return a random generator from None, a seed, a Generator or a legacy RandomState."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        wanted = "None, a non-negative whole number or a numpy generator"
        raise InvalidInput.about("random_state", f"must be {wanted}, not {random_state!r}") from error
