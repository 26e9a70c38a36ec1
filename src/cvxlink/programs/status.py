"""How a solve ended; each outcome has a sentence and a remedy."""

from __future__ import annotations

from enum import Enum

# What OPTIMAL means by default: the largest violation and the certified relative gap. A first-order solver can certify
# this in reasonable time; interior-point codes go far below it.
DEFAULT_ACCURACY = 1e-4


class Status(Enum):
    """The outcome of a solve; each member has a sentence and a remedy."""

    OPTIMAL = ("solved, and proven to the accuracy asked for", "")
    INACCURATE = (
        "solved, but less accurately than asked for",
        "look at the certificate; try another solver, presolve=True, or ask for less, accuracy=1e-3 for example",
    )
    UNPROVEN = (
        "nothing proves the outcome",
        "look at the reason and the certificate; try another solver, form or route",
    )
    INFEASIBLE = (
        "no point satisfies all constraints",
        "relax or remove constraints: problem.why_infeasible() says which; Links.contradiction() is about links",
    )
    UNBOUNDED = ("the objective has no finite optimum", "add a constraint that bounds it")
    LIMIT = (
        "stopped at a limit of time, memory or iterations",
        "raise the limit, or use the default form and solver",
    )
    ERROR = (
        "the solver failed",
        "try another solver, form or route, presolve=True if it is off, or less extreme parameters",
    )

    def __init__(self, sentence: str, remedy: str) -> None:
        self.sentence = sentence
        self.remedy = remedy
        # Whether there may be a point that counts as an answer; after a limit, or without a proof, there may be none.
        self.has_answer = self.name in ("OPTIMAL", "INACCURATE", "UNPROVEN")

    def __str__(self) -> str:
        return self.name
