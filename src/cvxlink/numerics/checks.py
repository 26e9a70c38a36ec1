"""Checks on numbers that users hand over; each refusal knows its argument, and says in one sentence what to do."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from ..errors import InvalidInput
from .arguments import shown

LARGEST_COORDINATE = 1e150
LARGEST_LABEL = 2**53
# Beyond these, work or memory would be asked for that no machine has; nothing in the package is made for more.
MOST_POINTS = 10_000_000
MOST_REPEATS = 100_000
# A dense matrix with more entries than this takes more than 8 GB.
MOST_ENTRIES = 10**9

# Python and numpy count these among the numbers.
NOT_NUMBERS = (bool, np.bool_, np.timedelta64)


# ---------------------------------------------------------------------- arrays


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
    argument = argument or name
    if issparse(values):
        raise InvalidInput(f"{name} is sparse; give it as an array, by its method toarray()", argument)
    try:
        given = values if np.ma.isMA(values) else np.asarray(values)
        kind = "c" if np.iscomplexobj(values) else given.dtype.kind
        if kind == "V":
            raise TypeError
        if kind not in "cmM":
            return np.array(np.ma.filled(given.astype(float), np.nan) if np.ma.isMA(given) else given, dtype=float)
    except Exception as error:  # reading objects runs their code, which may raise anything
        raise InvalidInput(f"{name} must hold numbers only, in rows of equal length", argument) from error
    if kind == "c":
        raise InvalidInput(f"{name} is complex; give real numbers", argument)
    raise InvalidInput(f"{name} holds dates or durations; give numbers", argument)


def finite_array(
    values: Any, name: str, shape: tuple[int | None, ...], argument: str | None = None, because: str = ""
) -> np.ndarray:
    """Return an array of finite numbers of a given shape, in which None stands for any length.

    ``because`` says in messages why it has to be that shape.
    """
    array = real_array(values, name, argument)
    _require_shape(array.shape, shape, name, argument, because)
    if not np.isfinite(array).all():
        raise InvalidInput(f"{name} has NaN or infinite entries; remove them first", argument or name)
    return array


def as_matrix(
    values: Any, name: str, shape: tuple[int | None, int | None], argument: str | None = None, because: str = ""
) -> Any:
    """Return a matrix of finite real numbers of a given shape, as a CSR array if it is sparse."""
    if not issparse(values):
        return finite_array(values, name, shape, argument, because)
    _require_shape(values.shape, shape, name, argument, because)
    if values.dtype.kind not in "biuf":
        raise InvalidInput(f"{name} must hold real numbers, not {values.dtype}", argument or name)
    matrix = csr_array(values, dtype=float)
    if not np.isfinite(matrix.data).all():
        raise InvalidInput(f"{name} has NaN or infinite entries; remove them first", argument or name)
    return matrix


def as_square(values: Any, name: str, argument: str | None = None) -> Any:
    """Return a square matrix of finite real numbers, not empty, as a CSR array if it is sparse."""
    array = values if issparse(values) else real_array(values, name, argument)
    if array.ndim != 2:
        raise InvalidInput(f"{name} must be a square matrix; its shape is {array.shape}", argument or name)
    if array.shape[0] != array.shape[1] or not array.shape[0]:
        raise InvalidInput(f"{name} must be square and not empty; its shape is {array.shape}", argument or name)
    return as_matrix(array, name, (None, None), argument)


def _require_shape(
    found: tuple[int, ...], wanted: tuple[int | None, ...], name: str, argument: str | None, because: str
) -> None:
    if len(found) != len(wanted) or any(w is not None and f != w for f, w in zip(found, wanted, strict=True)):
        sizes = " × ".join("any number" if w is None else str(w) for w in wanted)
        what = {1: "a vector", 2: "a matrix"}.get(len(wanted), "an array")
        why = f", because {because}" if because else ""
        raise InvalidInput(f"{name} must be {what} of {sizes}{why}; its shape is {found}", argument or name)


def as_numbers_of_points(values: Any, n: int, name: str, because: str = "") -> np.ndarray:
    """Return numbers of points, 0 … n − 1, as an array of any shape."""
    try:
        array = np.asarray(values)
        array = array.astype(int) if array.size == 0 else array
        good = array.dtype.kind in "iu" and bool(((array >= 0) & (array < n)).all())
    except Exception:  # reading objects runs their code
        good = False
    if not good:
        why = f" (because {because})" if because else ""
        raise InvalidInput.about(name, f"must be numbers of points, from 0 to {n - 1}{why}, not {shown(values)}")
    return array.astype(int)


def as_pairs_of_points(values: Any, n: int, name: str, because: str = "") -> np.ndarray:
    """Return pairs of numbers of points, one pair per row."""
    pairs = as_numbers_of_points(values, n, name, because)
    if pairs.size and pairs.shape[1:] != (2,):
        raise InvalidInput.about(name, f"must be pairs (i, j) of numbers of points; its shape is {pairs.shape}")
    return pairs.reshape(-1, 2)


def as_kernel(values: Any, n: int, argument: str = "kernel") -> np.ndarray:
    """Return a symmetric matrix of order n."""
    given = values if issparse(values) else real_array(values, "the kernel", argument)
    if given.shape != (n, n):
        raise InvalidInput(
            f"the links are on {n} points, so the kernel must have the shape {(n, n)}, not {given.shape}", argument
        )
    if n * n > MOST_ENTRIES:
        raise InvalidInput(f"the kernel has {n} rows, too many for a dense matrix; use fewer points", argument)
    kernel = real_array(values.toarray(), "the kernel", argument) if issparse(values) else given
    if not np.isfinite(kernel).all():
        raise InvalidInput("the kernel has NaN or infinite entries; remove them first", argument)
    largest = float(abs(kernel).max())
    if largest > LARGEST_COORDINATE:
        raise InvalidInput(f"the kernel has entries as large as {largest:.0e}; divide it by that", argument)
    asymmetry = float(abs(kernel - kernel.T).max())
    if asymmetry > 1e-8 * largest:
        raise InvalidInput(
            f"the kernel is not symmetric (by {asymmetry:.3g}); use (K + K.T) / 2 if that is meant", argument
        )
    return (kernel + kernel.T) / 2


# ---------------------------------------------------------------------- numbers and flags


def _float(value: Any) -> float:
    """Return a real number as a float, and NaN for everything else."""
    if isinstance(value, NOT_NUMBERS) or not isinstance(value, Real):
        return np.nan
    try:
        return float(value)
    except Exception:  # a whole number of hundreds of digits, or a number of somebody's own
        return np.nan


def _whole(value: Any) -> int | None:
    """Return a whole number as an int, and None for everything else."""
    if isinstance(value, NOT_NUMBERS) or not isinstance(value, Integral):
        return None
    try:
        return int(value)
    except Exception:  # a number of somebody's own
        return None


def as_positive(value: Any, name: str, or_zero: bool = False) -> float:
    """Return a positive, finite number."""
    wanted = "zero or more" if or_zero else "a positive number"
    number = _float(value)
    if not np.isfinite(number) or number < 0 or (number == 0 and not or_zero):
        raise InvalidInput.about(name, f"must be {wanted}, not {shown(value)}")
    return number


def as_number(value: Any, name: str) -> float:
    """Return a finite number."""
    number = _float(value)
    if not np.isfinite(number):
        raise InvalidInput.about(name, f"must be a finite number, not {shown(value)}")
    return number


def as_real(value: Any, name: str) -> float:
    """Return a real number, which may be infinite or NaN."""
    number = _float(value)
    if np.isnan(number) and not (isinstance(value, float | np.floating) and value != value):
        raise InvalidInput.about(name, f"must be a number, not {shown(value)}")
    return number


def as_fraction(value: Any, name: str) -> float:
    """Return a number strictly between 0 and 1."""
    number = _float(value)
    # Nearer to 0 or 1, one of two terms is below the rounding of the other.
    if not 1e-6 <= number <= 1 - 1e-6:
        raise InvalidInput.about(name, f"must be a number between 0 and 1 (by at least 1e-6), not {shown(value)}")
    return number


def as_count(value: Any, name: str, least: int = 1, most: int | None = None, because: str = "") -> int:
    """Return a whole number between two limits; ``because`` says in messages where they come from."""
    count = _whole(value)
    if count is None:
        raise InvalidInput.about(name, f"must be a whole number, not {shown(value)}")
    if count < least or (most is not None and count > most):
        limits = f"at least {least}" if most is None else f"between {least} and {most}"
        limits += f" (because {because})" if because else ""
        raise InvalidInput.about(name, f"must be {limits}, not {shown(count)}")
    return count


def as_flag(value: Any, name: str) -> bool:
    """Return True or False; nothing else is accepted, not even 0 or 1."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput.about(name, f"must be True or False, not {shown(value)}")
    return bool(value)


def as_generator(random_state: Any, name: str = "random_state") -> np.random.Generator:
    """Return a random generator from None, a seed or several, a Generator or a legacy RandomState."""
    require_random_state(random_state, name)
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    if isinstance(random_state, np.ndarray | list | tuple):
        return np.random.default_rng([int(seed) for seed in random_state])
    return np.random.default_rng(int(random_state) if isinstance(random_state, Integral) else random_state)


def require_random_state(random_state: Any, name: str = "random_state") -> None:
    """Raise if no random generator can be made of something; nothing is drawn."""
    if random_state is None or isinstance(random_state, _RANDOM):
        return
    # numpy itself ends the process on some sequences, so it sees none but lists of seeds.
    several = (isinstance(random_state, np.ndarray) and random_state.ndim == 1) or type(random_state) in (list, tuple)
    seeds = [_whole(seed) for seed in (random_state if several else [random_state])]
    if not seeds or any(seed is None or seed < 0 for seed in seeds):
        wanted = "None, a non-negative whole number or a numpy generator"
        raise InvalidInput.about(name, f"must be {wanted}, not {shown(random_state)}")


_RANDOM = (np.random.Generator, np.random.BitGenerator, np.random.SeedSequence, np.random.RandomState)


# ---------------------------------------------------------------------- one number per point


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
    try:
        array = np.asarray(order)
        good = array.dtype.kind in "iu" and array.shape == (n,) and np.array_equal(np.sort(array), np.arange(n))
    except Exception:  # reading objects runs their code, which may raise anything
        good = False
    if not good:
        raise InvalidInput.about("order", f"must hold each of the numbers 0 … {n - 1} once")
    return array


def as_labels(y: Any, n: int | None = None, argument: str = "labels", whose: str = "") -> np.ndarray:
    """Return labels as a one-dimensional array, of length n if n is given; ``whose`` says whose points these are.

    A label that is masked, None, NaN among names, or missing in the sense of pandas is unknown: -1.
    """
    if issparse(y):
        raise InvalidInput(f"{argument} must be a list of numbers or names, not a sparse matrix", argument)
    try:
        labels = _label_array(y)
    except Exception as error:  # reading objects runs their code, which may raise anything
        raise InvalidInput(f"{argument} must be a list of numbers or names, one for each point", argument) from error
    if labels.ndim != 1 or labels.dtype.kind not in "biufU":
        trouble = f"their shape is {labels.shape}" if labels.ndim != 1 else f"their type is {labels.dtype}"
        raise InvalidInput(f"{argument} must be a list of numbers or names; {trouble}", argument)
    if n is not None and len(labels) != n:
        raise InvalidInput(f"there are {len(labels)} labels for {n} points{whose and f' of {whose}'}", argument)
    if labels.dtype.kind in "iuf":
        labels = _numeric_labels(labels, argument)
    return labels


def _label_array(y: Any) -> np.ndarray:
    if np.ma.isMaskedArray(y):
        hidden, y = np.ma.getmaskarray(y), np.ma.getdata(y).astype(object)
        y[hidden] = None
    elif hasattr(y, "to_numpy"):
        y = y.to_numpy(dtype=object) if y.ndim == 1 and y.isna().any() and not _is_plain_float(y) else y
    labels = np.asarray(y)
    return _plain_labels(labels) if labels.dtype.kind == "O" and labels.ndim == 1 else labels


def _numeric_labels(labels: np.ndarray, argument: str) -> np.ndarray:
    """Return whole numbers as integers, of a type that has -1 among them."""
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InvalidInput(f"{argument} hold NaN or infinity; mark unknown labels with -1", argument)
    if labels.max(initial=0) > LARGEST_LABEL or labels.min(initial=0) < -LARGEST_LABEL:
        if labels.dtype.kind == "f":
            return labels.astype(float)
        raise InvalidInput(f"{argument} must be at most {LARGEST_LABEL}; number the classes from 0", argument)
    if labels.dtype.kind != "f" or (labels == np.floor(labels)).all():
        return labels.astype(int)
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
    if not all(isinstance(label, str | bytes | Real) or np.ndim(label) == 0 for label in known):
        raise TypeError("labels are numbers or names")
    if all(isinstance(k, Integral) or (isinstance(k, Real) and float(k).is_integer()) for k in known):
        return np.array([-1 if u else int(label) for u, label in zip(unknown, labels, strict=True)])
    return np.array(["-1" if u else str(label) for u, label in zip(unknown, labels, strict=True)])


def _is_missing(label: Any) -> bool:
    """Whether a label is None, NaN or one of the other ways to say that it is not known."""
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA does not even say whether it differs from itself
        return True
