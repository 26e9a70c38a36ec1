"""The methods, one folder per family: this is the one list of them.

``cvxlink.methods()`` returns the table of methods. To add a method, write its folder and add a line here.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

# Where each method is declared. Nothing is loaded before it is asked for.
METHODS = {
    "PCP": ".kernels.pcp",
    "KP": ".kernels.kp",
    "CCSR": ".ccsr.ccsr",
    "SRCP": ".link_propagation.srcp",
    "E2CP": ".link_propagation.e2cp",
    "MinKL": ".nearness.minkl",
    "CSC": ".cuts.csc",
    "CSCGFHF": ".cuts.cscgfhf",
    "GFHF": ".label_propagation.gfhf",
    "LLGC": ".label_propagation.llgc",
    "SL": ".spectral_learning.sl",
    "SSKK": ".fantope.sskk",
    "NCuts": ".fantope.ncuts",
    "LinkedCut": ".partitions.linked_cut",
    "KPCut": ".partitions.kp_cut",
    "KMeans": ".partitions.kmeans",
    "ImprovedOrder": ".spectral_transforms.improved_order",
    "GaussianField": ".spectral_transforms.gaussian_field",
}

__all__ = list(METHODS)


def __getattr__(name: str) -> Any:
    if name not in METHODS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(METHODS[name], __name__), name)
    return value


class _Room(ModuleType):
    """A package that can be called: ``cvxlink.methods()`` is the table of what is in it."""

    def __call__(self) -> Any:
        """Return the table of methods."""
        return import_module(".table", __name__).methods()


sys.modules[__name__].__class__ = _Room
