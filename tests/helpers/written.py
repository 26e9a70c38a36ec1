"""Programs given by functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxlink as cl


class Written(cl.Problem):
    """A program given by what it would return."""

    def __init__(self, variables: Callable[[], dict], objective: Callable[..., Any], constraints: Any = None) -> None:
        self.variables_of, self.objective_of, self.constraints_of = variables, objective, constraints

    def variables(self):
        return self.variables_of()

    def objective(self, **variables):
        return self.objective_of(**variables)

    def constraints(self, **variables):
        return {} if self.constraints_of is None else self.constraints_of(**variables)
