"""The papers the formulations come from."""

from __future__ import annotations

from dataclasses import dataclass

BIBLIOGRAPHY = {
    "li2008": "Z. Li, J. Liu, X. Tang. Pairwise constraint propagation by semidefinite programming for "
    "semi-supervised classification. ICML 2008",
    "hu2010": "E. Hu, S. Chen, D. Zhang, X. Yin. Semisupervised kernel matrix learning by kernel propagation. "
    "IEEE Transactions on Neural Networks 21(11), 2010",
}


@dataclass(frozen=True)
class Citation:
    """A paper by its key in the bibliography, and the equation meant."""

    key: str
    equation: str | None = None

    def __str__(self) -> str:
        where = f", eq. ({self.equation})" if self.equation else ""
        return BIBLIOGRAPHY.get(self.key, self.key) + where
