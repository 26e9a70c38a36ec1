"""Pictures, one call each: links and clusters over the data, kernels, runs, searches, comparisons, prices of links.

Every function draws into ``ax``, or into a new pyplot figure, and returns the axes; ``ax.figure.savefig(path)`` saves
the picture. Legends of points stand beside the axes: create your own figures with ``layout="constrained"``, which
leaves room for them. All of this needs matplotlib: ``pip install 'cvxlink[plot]'``.
"""

from .canvas import CANNOT, COLOURS
from .comparisons import (
    plot_critical_differences,
    plot_data_profile,
    plot_performance_profile,
    plot_time_against_gap,
)
from .kernels import plot_affinity, plot_kernel, plot_spectrum
from .overview import save_overview
from .points import plot_clusters, plot_embedding, plot_links, projected
from .prices import plot_duals
from .runs import plot_convergence, plot_path, plot_scores
from .tree import plot_rounds, plot_tree

__all__ = [
    "CANNOT",
    "COLOURS",
    "plot_affinity",
    "plot_clusters",
    "plot_convergence",
    "plot_critical_differences",
    "plot_data_profile",
    "plot_duals",
    "plot_embedding",
    "plot_kernel",
    "plot_links",
    "plot_path",
    "plot_performance_profile",
    "plot_rounds",
    "plot_scores",
    "plot_spectrum",
    "plot_time_against_gap",
    "plot_tree",
    "projected",
    "save_overview",
]
