"""CVXPY warns whoever reads or sets a variable with a sparsity pattern; that is our way of reading, not the user's."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet_about_sparsity() -> Iterator[None]:
    """Keep CVXPY from warning about its own variables with a sparsity pattern; all other warnings are shown."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(Reading from|Writing to) a sparse CVXPY expression")
        yield
