"""What a formulation says about itself: where it comes from, what it takes and what it yields."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from .citations import Citation


@dataclass(frozen=True)
class About:
    """What a formulation says about itself; the table of methods shows it.

    Parameters
    ----------
    paper : str, optional
        The key of a paper in :mod:`cvxlink.model.citations`, or any reference in words.
    equation, printed_in : str, optional
        The equation meant, and the key of the paper that prints it, if it is another one.
    program : str
        The kind of program, in words.
    form : str
        What the declared form is called among ``problem.forms``.
    takes, yields : str
        What is known beforehand and what comes out, in words.
    hard_links : bool
        Whether every answer satisfies all links, so that links which follow from others need not be named.
    kernel, embedding : bool
        Whether a kernel is learnt, and whether points get coordinates of their own.
    cluster : str, optional
        How the paper clusters: "kernel-kmeans", "spectral", "kmeans", "cut" or "argmax". By default k-means on the
        embedding where there is one, and kernel k-means otherwise.
    defaults : function
        Given the names of the options that were chosen, returns values for fields without a default that would do.
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
    defaults: Callable[[Collection[str]], dict[str, Any]] = lambda options: {}

    @property
    def citation(self) -> Citation | None:
        """The paper, with the equation."""
        return None if self.paper is None else Citation(self.paper, self.equation, self.printed_in)

    def of_another_program(self) -> About:
        """Return what remains true of a subclass that declares another program: neither the paper nor the kind."""
        return replace(
            self, paper=None, equation=None, printed_in=None, program="declared", form="declared", hard_links=False
        )
