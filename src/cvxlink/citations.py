"""The papers the formulations come from."""

from __future__ import annotations

from dataclasses import dataclass

BIBLIOGRAPHY = {
    "li2008": "Z. Li, J. Liu, X. Tang. Pairwise constraint propagation by semidefinite programming for "
    "semi-supervised classification. ICML 2008",
    "hu2010": "E. Hu, S. Chen, D. Zhang, X. Yin. Semisupervised kernel matrix learning by kernel propagation. "
    "IEEE Transactions on Neural Networks 21(11), 2010",
    "li2009": "Z. Li, J. Liu, X. Tang. Constrained clustering via spectral regularization. CVPR 2009",
    "fu2011": "Z. Fu, Z. Lu, H. H. S. Ip, Y. Peng, H. Lu. Symmetric graph regularized constraint propagation. "
    "AAAI 2011",
    "lu2008": "Z. Lu, M. Á. Carreira-Perpiñán. Constrained spectral clustering through affinity propagation. CVPR 2008",
    "zhu2003": "X. Zhu, J. Lafferty, Z. Ghahramani. Semi-supervised learning: from Gaussian fields to Gaussian "
    "processes. Technical report CMU-CS-03-175, Carnegie Mellon University, 2003",
    "zhu2006": "X. Zhu, J. Kandola, J. Lafferty, Z. Ghahramani. Graph kernels by spectral transforms. In O. Chapelle, "
    "B. Schölkopf, A. Zien (eds.), Semi-Supervised Learning, MIT Press, 2006",
}


@dataclass(frozen=True)
class Citation:
    """A paper by its key in the bibliography, the equation meant, and the paper that prints it, if another."""

    key: str
    equation: str | None = None
    printed_in: str | None = None

    def __str__(self) -> str:
        text = BIBLIOGRAPHY.get(self.key, self.key)
        if self.printed_in:
            text += f"; here as in {BIBLIOGRAPHY.get(self.printed_in, self.printed_in)}"
        return f"{text}, eq. ({self.equation})" if self.equation else text
