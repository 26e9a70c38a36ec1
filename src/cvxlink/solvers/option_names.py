"""Options that a solver does not have, found without solving anything; of most solvers, only a run can tell."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

import clarabel
import cvxpy as cp
import numpy as np
import scipy.sparse as sp
import scs

# The settings of SCS 3. It is asked about others, as later versions may have more.
SCS_SETTINGS = (
    *("acceleration_interval", "acceleration_lookback", "adaptive_scale", "alpha", "eps_abs", "eps_infeas", "eps_rel"),
    *("gpu", "log_csv_filename", "max_iters", "mkl", "normalize", "rho_x", "scale", "time_limit_secs", "use_indirect"),
    *("verbose", "write_data_filename"),
)
# CVXPY takes these for itself before it calls a solver, besides the arguments of its own method.
OF_CVXPY = ("accept_unknown", "eps", "use_quad_obj")


def unknown_option(solver: str, options: Mapping[str, Any]) -> tuple[str, tuple[str, ...]] | None:
    """Return the first option that a solver does not have, and those that it has; None if it has all, or is not asked.

    Clarabel and SCS are asked, where they are installed.
    """
    if solver not in ASKED or solver not in cp.installed_solvers():
        return None
    taken = {*OF_CVXPY, *signature(cp.Problem._solve).parameters}
    for name, value in options.items():
        known = ASKED[solver](name, value)
        if known is not None and name not in taken:
            return name, known
    return None


def _of_clarabel(name: str, value: Any) -> tuple[str, ...] | None:
    known = tuple(one for one in dir(clarabel.DefaultSettings()) if not one.startswith("_") and one != "default")
    return None if name in known else known


def _of_scs(name: str, value: Any) -> tuple[str, ...] | None:
    if name in SCS_SETTINGS:
        return None
    one = np.ones(1)
    try:
        scs.SCS({"A": sp.csc_matrix([[1.0]]), "b": one, "c": one}, {"l": 1}, verbose=False, **{name: value})
    except TypeError as error:
        return SCS_SETTINGS if "keyword" in str(error) else None
    except Exception:  # of a value, about which a run says more
        return None
    return None


ASKED = {"CLARABEL": _of_clarabel, "SCS": _of_scs}
