"""Convex programs for clustering with must-links and cannot-links."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .methods import METHODS

__version__ = "0.1.0"

# The public names, and where each lives. Nothing is loaded before it is asked for: `import cvxlink` takes
# milliseconds, and CVXPY or scikit-learn is imported when something needs it.
_HOMES = {
    "About": "model.about",
    "Attempt": "solvers.route",
    "Certificate": "certificates.certificate",
    "Citation": "model.citations",
    "ConstrainedClustering": "estimator",
    "Contraction": "reductions",
    "Cuts": "methods.partitions.cuts",
    "Diagnosis": "certificates.diagnosis",
    "Dualisation": "reductions",
    "Elimination": "reductions",
    "Graph": "data.graph",
    "HarmonicExtension": "numerics.harmonic",
    "Learnt": "engine.formulation",
    "Lift": "reductions.base",
    "LinearProblem": "engine.linear_problem",
    "LinearSDP": "programs.linear_sdp",
    "Links": "data.links",
    "OptimalClustering": "exact",
    "Options": "engine.options",
    "Problem": "engine.problem",
    "Progress": "solvers.route",
    "Reduced": "reductions.base",
    "Reduction": "reductions.base",
    "Route": "solvers.route",
    "Scaling": "reductions",
    "Settings": "solvers.route",
    "Solution": "engine.solution",
    "SpecialProgram": "programs.declared",
    "Status": "programs.status",
    "Timings": "engine.solution",
    "bring_back": "engine.exchange",
    "candidate_graphs": "data.candidates",
    "certify": "engine.wrapped",
    "cluster_kernel": "methods.spectral_transforms.fixed",
    "diffusion_kernel": "methods.spectral_transforms.fixed",
    "installed_sdp_solvers": "solvers.catalogue",
    "label_kernel": "data.constraint_matrices",
    "neighbour_widths": "data.candidates",
    "optimal_clustering": "exact",
    "read_program": "engine.linear_problem",
    "sample_labels": "data.partial_labels",
    "stationarity": "numerics.stationarity",
    "stationary_labelings": "numerics.stationarity",
    "wrap": "engine.wrapped",
    **dict.fromkeys(
        (
            "ClippedWarning",
            "ClusterWarning",
            "CvxlinkError",
            "DataUnavailable",
            "FormUnavailable",
            "InaccurateWarning",
            "InconsistentLinks",
            "InfeasibleProblem",
            "InvalidFile",
            "InvalidInput",
            "InvalidProblem",
            "LinkWarning",
            "MissingDependency",
            "ReductionRefused",
            "SolveFailed",
            "SolverUnavailable",
        ),
        "errors",
    ),
    **dict.fromkeys(METHODS, "methods"),
}
# Modules that are part of the public face. `methods` and `solvers` can be called for a table of what is in them.
_MODULES = {
    "clustering": "clustering",
    "datasets": "datasets",
    "estimator": "estimator",
    "estimators": "estimator",
    "instances": "instances",
    "library": "instances",
    "methods": "methods",
    "metrics": "metrics",
    "plotting": "plotting",
    "solvers": "solvers",
    "studies": "studies",
    "terms": "terms",
}

# Names from before the rooms had theirs; they go on working.
_FORMER = {"estimators", "library"}

__all__ = sorted({*_HOMES, *_MODULES} - {*_FORMER, "estimator"})


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{_MODULES[name]}", __name__)
    if name in _HOMES:
        value = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
