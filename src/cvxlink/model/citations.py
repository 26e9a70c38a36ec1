"""The papers the formulations come from."""

from __future__ import annotations

import re
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
    "zhu2003icml": "X. Zhu, Z. Ghahramani, J. Lafferty. Semi-supervised learning using Gaussian fields and harmonic "
    "functions. ICML 2003",
    "zhou2003": "D. Zhou, O. Bousquet, T. N. Lal, J. Weston, B. Schölkopf. Learning with local and global "
    "consistency. NIPS 2003",
    "wang2010": "X. Wang, I. Davidson. Flexible constrained spectral clustering. KDD 2010",
    "wang2012": "X. Wang, B. Qian, I. Davidson. Labels vs. pairwise constraints: a unified view of label propagation "
    "and constrained spectral clustering. ICDM 2012",
    "shi2000": "J. Shi, J. Malik. Normalized cuts and image segmentation. IEEE Transactions on Pattern Analysis and "
    "Machine Intelligence 22(8), 2000",
    "kamvar2003": "S. D. Kamvar, D. Klein, C. D. Manning. Spectral learning. IJCAI 2003",
    "kulis2005": "B. Kulis, S. Basu, I. S. Dhillon, R. J. Mooney. Semi-supervised graph clustering: a kernel approach. "
    "ICML 2005",
    "lu2010": "Z. Lu, H. H. S. Ip. Constrained spectral clustering via exhaustive and efficient constraint "
    "propagation. ECCV 2010",
    "peng2007": "J. Peng, Y. Wei. Approximating K-means-type clustering via semidefinite programming. SIAM Journal on "
    "Optimization 18(1), 2007",
    "zhu2006": "X. Zhu, J. Kandola, J. Lafferty, Z. Ghahramani. Graph kernels by spectral transforms. In O. Chapelle, "
    "B. Schölkopf, A. Zien (eds.), Semi-Supervised Learning, MIT Press, 2006",
}


@dataclass(frozen=True)
class Citation:
    """A paper by its key in the bibliography, the equation, and the paper that prints it, if it is a different one."""

    key: str
    equation: str | None = None
    printed_in: str | None = None

    @property
    def short(self) -> str:
        """Authors and year, Li et al. 2008; a reference in words as it is."""
        if self.key not in BIBLIOGRAPHY:  # a reference in words
            return self.key
        # Initials are capitals: the full stop after a small letter ends the names.
        names = re.split(r"(?<=[a-zà-ÿ])\. ", BIBLIOGRAPHY[self.key])[0].split(", ")
        surnames = [name.split()[-1] for name in names]
        year = "".join(character for character in self.key if character.isdigit())
        others = {1: "", 2: f" & {surnames[-1]}"}.get(len(surnames), " et al.")
        return f"{surnames[0]}{others} {year}".strip()

    def __str__(self) -> str:
        text = BIBLIOGRAPHY.get(self.key, self.key)
        if self.printed_in:
            text += f"; here as in {BIBLIOGRAPHY.get(self.printed_in, self.printed_in)}"
        return f"{text}, eq. ({self.equation})" if self.equation else text
