"""The best clustering, with a proof: branch and bound in which every branch is a link."""

from .optimal import OptimalClustering, optimal_clustering

__all__ = ["OptimalClustering", "optimal_clustering"]
