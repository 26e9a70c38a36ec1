"""Convex programs for clustering with must-links and cannot-links."""

from . import clustering, datasets, library, metrics, plotting, studies, terms
from .backends.base import Progress
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
    InvalidFile,
    InvalidInput,
    InvalidProblem,
    LinkWarning,
    MissingDependency,
    ReductionRefused,
    SolveFailed,
    SolverUnavailable,
)
from .estimators import ConstrainedClustering
from .exchange.programs import bring_back, read_program
from .formulations import (
    CCSR,
    CSC,
    CSCGFHF,
    E2CP,
    GFHF,
    KP,
    LLGC,
    PCP,
    SL,
    SRCP,
    SSKK,
    GaussianField,
    ImprovedOrder,
    MinKL,
    NCuts,
)
from .graph import Graph
from .harmonic import HarmonicExtension
from .labelling import sample_labels
from .links import Links
from .methods import methods
from .problem import Problem
from .proofs import certify
from .reductions import Contraction, Dualisation, Elimination, Scaling
from .soft_links import label_kernel
from .solution import Solution, Timings
from .solver_table import solvers
from .stationary import stationarity
from .status import Status

__version__ = "0.1.0"

__all__ = [
    "CCSR",
    "CSC",
    "CSCGFHF",
    "E2CP",
    "GFHF",
    "KP",
    "LLGC",
    "PCP",
    "SL",
    "SRCP",
    "SSKK",
    "Certificate",
    "Citation",
    "ClippedWarning",
    "ConstrainedClustering",
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
    "InvalidFile",
    "InvalidInput",
    "InvalidProblem",
    "LinkWarning",
    "Links",
    "MinKL",
    "MissingDependency",
    "NCuts",
    "Problem",
    "Progress",
    "ReductionRefused",
    "Scaling",
    "Solution",
    "SolveFailed",
    "SolverUnavailable",
    "Status",
    "Timings",
    "bring_back",
    "certify",
    "clustering",
    "datasets",
    "installed_sdp_solvers",
    "label_kernel",
    "library",
    "methods",
    "metrics",
    "plotting",
    "read_program",
    "sample_labels",
    "solvers",
    "stationarity",
    "studies",
    "terms",
]
