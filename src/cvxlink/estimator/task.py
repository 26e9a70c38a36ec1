"""What the estimator solves: a problem with what it was made of, and checks of what it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.links import Links
from ..engine.problem import Problem
from ..errors import InfeasibleProblem, InvalidInput
from ..methods.table import method
from ..numerics.checks import real_array
from ..programs.status import Status
from .choice import Choice, softly
from .supervision import Supervision

LONGEST_MESSAGE = 500


@dataclass(frozen=True)
class Task:
    """A problem to solve, and what it was made of."""

    problem: Problem
    known: Supervision
    links: Links
    n_clusters: int
    replaced: bool  # by one that needs no links
    chosen: Choice

    def softened(self, reason: str) -> Task:
        """Return the same task with links that may be broken."""
        chosen = softly(reason)
        graph = self.problem.graph  # type: ignore[attr-defined]
        problem = method(chosen.method).make(graph, self.links, None, self.n_clusters, **chosen.options)
        return replace(self, problem=problem, chosen=chosen)


def has_steps(problem: Problem, algorithm: dict[str, Any]) -> bool:
    """Whether the way a problem will be solved reports steps."""
    route = problem.explain(algorithm.get("solver"), algorithm.get("form"), route=algorithm.get("route")).route
    return route is not None and route.iterates


def is_infeasible(error: Exception) -> bool:
    """Whether a solve failed because no point satisfies all constraints."""
    status = getattr(getattr(error, "solution", None), "status", None)
    return isinstance(error, InfeasibleProblem) or status is Status.INFEASIBLE


def checked_by_sklearn(check: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Let scikit-learn check the points; its errors become InvalidInput, with the same words."""
    *first, X = arguments
    X = real_array(X, "X") if np.ma.isMaskedArray(X) else X  # scikit-learn would look behind the mask
    try:
        return check(*first, X, **options)
    except ValueError as error:
        raise InvalidInput(" ".join(str(error).split())[:LONGEST_MESSAGE], "X") from error
    except TypeError:  # scikit-learn's tests ask for this one where X is sparse
        raise
    except Exception as error:  # reading objects runs their code, which may raise anything
        raise InvalidInput("X must hold numbers only, in rows of equal length", "X") from error


def is_embedded(formulation: type[Problem]) -> bool:
    """Whether a formulation yields places for points in feature space."""
    return formulation.about.kernel or formulation.about.embedding
