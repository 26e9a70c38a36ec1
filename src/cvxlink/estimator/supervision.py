"""What is known about the points beforehand, links and labels, in the form each method takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import issparse

from ..data.links import Links
from ..data.partial_labels import joined
from ..errors import InvalidInput
from ..methods.table import Method
from ..numerics.checks import as_labels, is_known, real_array


@dataclass(frozen=True, eq=False)
class Supervision:
    """Links on n points and labels of some of them.

    Attributes
    ----------
    links : Links
        The links that were given as links.
    labels : array of n, or None
        -1 for unknown ("-1" among names); None if none is known.
    """

    links: Links
    labels: np.ndarray | None

    @classmethod
    def given(cls, n: int, y: Any, must_link: Any, cannot_link: Any, links: Any) -> Supervision:
        """Read labels and links, however they were given; None stands for nothing."""
        matrix, pairs = _as_links(links, n), _links_of_pairs(n, must_link, cannot_link)
        together = Links(n, np.vstack([matrix.must, pairs.must]), np.vstack([matrix.cannot, pairs.cannot]))
        return cls(together, _as_partial_labels(y, n))

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known."""
        return not len(self.links) and self.labels is None

    @cached_property
    def classes(self) -> np.ndarray:
        """The classes that labels name, in order."""
        return np.array([], dtype=int) if self.labels is None else np.unique(self.labels[is_known(self.labels)])

    def links_for(self, method: Method, options: Mapping[str, Any]) -> Links:
        """Return the given links and the links that follow from labels: all of them, or a few that imply the others.

        Methods with soft links, or that have them with these options, get all. Contradictions are refused where labels
        are involved, and by methods that enforce links.
        """
        soft = "links" in method.needs and not method.enforces_links(options)
        if self.labels is not None:
            return self.links.with_labels(self.labels) if soft else joined(self.links, self.labels)
        if not soft and takes_either(method):
            self.links.require_consistent()
        return self.links

    @cached_property
    def as_few_links(self) -> Links:
        """The given links, which may contradict one another; with labels also a few links that imply all others."""
        return self.links if self.labels is None else joined(self.links, self.labels)

    def labels_for(self, method: Method, n_clusters: int) -> np.ndarray | None:
        """Return the given labels and the labels that follow from links, for a method that takes labels."""
        if "labels" not in method.needs:
            return None
        if self.labels is not None:
            return self.links.to_labels(self.labels, n_clusters if n_clusters == len(self.classes) else None)
        following = self.links.to_labels(n_classes=n_clusters)
        found = len(np.unique(following[is_known(following)]))
        if found < n_clusters:
            raise InvalidInput.asking_for(
                f"{method.name} starts from labels, and these links keep only {found} of {n_clusters} clusters apart",
                "y",
                instead="add cannot-links between points of every two clusters",
            )
        return following

    def n_clusters(self, links: Links) -> int:
        """Return the default number of clusters: as many as there are classes, or as the links need; at least two.

        ``links`` are the given links and the links that follow from labels.
        """
        if links.contradiction():
            raise InvalidInput.asking_for(
                "the links contradict one another, so they do not tell how many clusters there are", "n_clusters"
            )
        return max(2, len(self.classes), links.least_clusters())

    def matched(self, clusters: np.ndarray, n_clusters: int) -> np.ndarray:
        """Number the clusters like the classes they agree with most, one to one, and the others after these.

        With fewer clusters than classes the numbers stay as they are.
        """
        if self.labels is None or n_clusters < len(self.classes):
            return clusters
        known = is_known(self.labels)
        together = np.zeros((n_clusters, len(self.classes)))
        np.add.at(together, (clusters[known], np.searchsorted(self.classes, self.labels[known])), 1)
        matched, those = linear_sum_assignment(together, maximize=True)
        number = np.empty(n_clusters, dtype=clusters.dtype)
        number[matched] = those
        number[np.setdiff1d(np.arange(n_clusters), matched)] = np.arange(len(self.classes), n_clusters)
        return number[clusters]


def takes_either(method: Method) -> bool:
    """Whether a method takes links or labels, and not just a graph."""
    return "links" in method.needs or "labels" in method.needs


def _as_links(links: Any, n: int) -> Links:
    if links is None:
        return Links(n)
    if not isinstance(links, Links):
        shape = links.shape if issparse(links) else real_array(links, "links").shape
        if shape != (n, n):
            raise InvalidInput.about(
                "links",
                f"must be Links or a signed {n} × {n} matrix, not something of the shape {shape}; pairs go to "
                f"must_link and cannot_link",
            )
        with argument_names({"Q": "links"}):
            return Links.from_matrix(links)
    if links.n != n:
        raise InvalidInput(f"there are {n} points, but the links are on {links.n}", "links")
    return links


def _links_of_pairs(n: int, must_link: Any, cannot_link: Any) -> Links:
    with argument_names({"must": "must_link", "cannot": "cannot_link"}):
        return Links(n, () if must_link is None else must_link, () if cannot_link is None else cannot_link)


@contextmanager
def argument_names(names: Mapping[str, str]) -> Iterator[None]:
    """Let errors be about the arguments of the estimator instead of those of what it calls."""
    try:
        yield
    except InvalidInput as error:
        error.argument = names.get(error.argument or "", error.argument)
        raise


def _as_partial_labels(y: Any, n: int) -> np.ndarray | None:
    if y is None:
        return None
    if isinstance(y, Links):
        raise InvalidInput("y takes labels, -1 for unknown; give links by name: fit(X, links=…)", "y")
    labels = as_labels(y, n, "y")
    return labels if is_known(labels).any() else None
