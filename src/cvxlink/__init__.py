"""Convex programs for clustering with must-links and cannot-links."""

from . import clustering, datasets, metrics, plotting
from .backends.catalogue import installed_sdp_solvers
from .certificate import Certificate
from .citations import Citation
from .errors import (
    ClippedWarning,
    CvxlinkError,
    DataUnavailable,
    FormUnavailable,
    InaccurateWarning,
    InconsistentLinks,
    InfeasibleProblem,
    InvalidInput,
    InvalidProblem,
    LinkWarning,
    MissingDependency,
    ReductionRefused,
    SolveFailed,
    SolverUnavailable,
)
from .formulations import CCSR, KP, PCP, SRCP, GaussianField, ImprovedOrder, MinKL
from .graph import Graph
from .harmonic import HarmonicExtension
from .links import Links
from .problem import Problem
from .proofs import certify
from .reductions import Contraction, Dualisation, Elimination, Scaling
from .solution import Solution, Timings
from .status import Status

__version__ = "0.1.0"

__all__ = [
    "CCSR",
    "KP",
    "PCP",
    "SRCP",
    "Certificate",
    "Citation",
    "ClippedWarning",
    "Contraction",
    "CvxlinkError",
    "DataUnavailable",
    "Dualisation",
    "Elimination",
    "FormUnavailable",
    "GaussianField",
    "Graph",
    "HarmonicExtension",
    "ImprovedOrder",
    "InaccurateWarning",
    "InconsistentLinks",
    "InfeasibleProblem",
    "InvalidInput",
    "InvalidProblem",
    "LinkWarning",
    "Links",
    "MinKL",
    "MissingDependency",
    "Problem",
    "ReductionRefused",
    "Scaling",
    "Solution",
    "SolveFailed",
    "SolverUnavailable",
    "Status",
    "Timings",
    "certify",
    "clustering",
    "datasets",
    "installed_sdp_solvers",
    "metrics",
    "plotting",
]
