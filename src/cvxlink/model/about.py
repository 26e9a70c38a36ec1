"""What a formulation says about itself: where it comes from, what it takes and what it yields."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from .citations import Citation


def no_defaults(options: Collection[str]) -> dict[str, Any]:
    """Return no values: the fields of the formulation have defaults of their own."""
    return {}


@dataclass(frozen=True)
class About:
    """What a formulation says about itself, as the table of methods shows it.

    Parameters
    ----------
    paper : str, optional
        The key of a paper in :mod:`cvxlink.model.citations`, or any reference as text.
    equation, printed_in : str, optional
        The number of the equation, and the key of the paper that prints it, if it is a different paper.
    program : str
        The kind of program, for example "semidefinite".
    form : str
        The name of the declared form among ``problem.forms``.
    takes, yields : str
        What the method starts from and what it yields, in words.
    hard_links : bool
        Whether every answer satisfies all links, so that links implied by others can be left out.
    kernel, embedding : bool
        Whether the method learns a kernel, and whether it gives the points coordinates.
    cluster : str, optional
        How the paper clusters: "kernel-kmeans", "spectral", "kmeans", "cut", "argmax" or "partition". By default
        k-means on the embedding if there is one, otherwise kernel k-means.
    defaults : function
        Given the names of the chosen options, returns suitable values for the fields that have no default.
    """

    paper: str | None = None
    equation: str | None = None
    printed_in: str | None = None
    program: str = "declared"
    form: str = "declared"
    takes: str = ""
    yields: str = "kernel"
    hard_links: bool = False
    kernel: bool = True
    embedding: bool = False
    cluster: str | None = None
    defaults: Callable[[Collection[str]], dict[str, Any]] = no_defaults

    @property
    def citation(self) -> Citation | None:
        """The paper, with the equation."""
        return None if self.paper is None else Citation(self.paper, self.equation, self.printed_in)

    def of_another_program(self) -> About:
        """Return what stays true in a subclass that declares another program: not the paper, not the kind."""
        return replace(
            self, paper=None, equation=None, printed_in=None, program="declared", form="declared", hard_links=False
        )
