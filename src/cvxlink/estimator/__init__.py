"""The methods as a scikit-learn estimator."""

from .constrained_clustering import ConstrainedClustering, expected_failed_checks

__all__ = ["ConstrainedClustering", "expected_failed_checks"]
