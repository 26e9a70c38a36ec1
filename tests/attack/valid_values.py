"""Small valid values: eight points in two groups, what can be made of them, and a value for each parameter by name."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

import cvxlink as cl
from cvxlink.data.growing_graph import GrowingGraph


class SomeRoute(cl.Route):
    """A route as users write them; what they do with the data is their own affair."""

    name, why = "some", "it is there"

    def run(self, data: Any, settings: cl.Settings) -> cl.Attempt:
        """Give up."""
        return cl.Attempt(cl.Status.ERROR, "it gave up")


class Small:
    """Eight points in two groups, and what can be made of them."""

    n = 8

    @cached_property
    def X(self) -> np.ndarray:
        return np.array([[0, 0], [0, 1], [1, 0], [1, 1.1], [4, 4], [4, 5.2], [5, 4], [5.3, 5]], dtype=float)

    @cached_property
    def y(self) -> np.ndarray:
        return np.repeat([0, 1], 4)

    @cached_property
    def labels(self) -> np.ndarray:
        return np.array([0, -1, -1, 0, 1, -1, -1, 1])

    @cached_property
    def graph(self) -> cl.Graph:
        return cl.Graph.knn(self.X, 3)

    @cached_property
    def links(self) -> cl.Links:
        return cl.Links(8, must=[(0, 1), (4, 5)], cannot=[(0, 4), (2, 6)])

    @cached_property
    def L(self) -> sp.csr_array:
        return self.graph.laplacian()

    @cached_property
    def K(self) -> cp.Variable:
        return cp.Variable((8, 8), symmetric=True, name="K")

    @cached_property
    def f(self) -> cp.Variable:
        return cp.Variable((8, 2), name="f")

    @cached_property
    def kernel(self) -> np.ndarray:
        return self.graph.kernel()

    @cached_property
    def definite(self) -> np.ndarray:
        return cl.Graph.rbf(self.X).kernel()

    @cached_property
    def problem(self) -> cl.PCP:
        return cl.PCP(self.graph, self.links)

    def new_cvxpy_problem(self) -> cp.Problem:
        x, weight = cp.Variable(3, name="x"), cp.Parameter(nonneg=True, name="weight", value=1.0)
        cost = cp.sum_squares(x - 1) + weight * cp.norm1(x)
        problem = cp.Problem(cp.Minimize(cost), [(x <= 2).set_label("cap")])
        problem.solve(solver="CLARABEL")
        return problem

    @cached_property
    def cvxpy_problem(self) -> cp.Problem:
        return self.new_cvxpy_problem()

    @cached_property
    def kmeans(self) -> cl.KMeans:
        return cl.KMeans(self.X, self.links, 2)

    @cached_property
    def optimal(self) -> cl.OptimalClustering:
        return cl.optimal_clustering(self.kmeans)

    @cached_property
    def cuts(self) -> cl.Cuts:
        return cl.Cuts(pairs=[(0, 2)], triangles=[(0, 2, 3)])

    @cached_property
    def srcp_path(self) -> Any:
        return cl.SRCP(self.graph, self.links).path("mu", [0.1, 0.2])

    @cached_property
    def study(self) -> cl.studies.Study:
        instances = [cl.studies.InstanceChoice(library="path_ends_apart")]
        return cl.studies.Study("a small study", instances, [cl.studies.Configuration(solver="SCS")])

    @cached_property
    def results(self) -> bytes:
        """The file of results of the study."""
        with TemporaryDirectory() as folder:
            cl.studies.run(self.study, folder)
            return (Path(folder) / "results.jsonl").read_bytes()

    @cached_property
    def sdp(self) -> cl.LinearSDP:
        return self.problem.program.linear_sdp()

    @cached_property
    def solution(self) -> cl.Solution:
        return self.problem.solve()

    @cached_property
    def propagated(self) -> cl.Solution:
        return cl.SRCP(self.graph, self.links).solve()

    @cached_property
    def identity(self) -> np.ndarray:
        return np.eye(8)

    @cached_property
    def multipliers(self) -> np.ndarray:
        return np.zeros(len(self.sdp.b))


SMALL = Small()

# By the name of the parameter.
VALUES: dict[str, Callable[[], Any]] = {
    "A": lambda: SMALL.L,
    "C": lambda: SMALL.sdp.C,
    "F": lambda: SMALL.K,
    "K": lambda: SMALL.K,
    "L": lambda: SMALL.L,
    "M": lambda: SMALL.K,
    "Q": lambda: SMALL.links.matrix,
    "R": lambda: SMALL.graph.incidence(),
    "T": lambda: SMALL.identity,
    "U": lambda: SMALL.X,
    "W": lambda: SMALL.graph.W,
    "X": lambda: SMALL.X,
    "X_new": lambda: SMALL.X[:2] + 0.1,
    "Y": lambda: np.ones((8, 8)),
    "Z": lambda: SMALL.f,
    "accuracy": lambda: 1e-4,
    "advice": lambda: "ask somebody",
    "affinity": lambda: SMALL.graph.W,
    "at": lambda: SMALL.sdp.b,
    "bound": lambda: 0.5,
    "by": lambda: "hand",
    "cannot_bound": lambda: 0.5,
    "must_bound": lambda: 0.5,
    "cannot": lambda: [(0, 4)],
    "cannot_link": lambda: [(0, 4)],
    "check": lambda: False,
    "confidence": lambda: 1.0,
    "content": lambda: {},
    "count": lambda: 2,
    "cuts": lambda: SMALL.cuts,
    "d": lambda: np.ones(8),
    "curve": lambda: {"KP": [(10, np.array([0.5, 0.6]))]},
    "curves": lambda: {"KP": [(10, np.array([0.5, 0.6]))]},
    "data": lambda: SMALL.sdp,
    "duals": lambda: dict(SMALL.solution.duals),
    "embedding": lambda: SMALL.X,
    "entries": lambda: {"must": (SMALL.links.must, 1.0)},
    "excess": lambda: SMALL.multipliers,
    "f": lambda: SMALL.f,
    "factor": lambda: SMALL.X,
    "form": lambda: SMALL.problem.forms[0],
    "folder": lambda: Path(),
    "formulation": lambda: "PCP",
    "gap": lambda: 0.1,
    "graph": lambda: SMALL.graph,
    "groups": lambda: {"cap": lambda K: cp.trace(K) <= 8},
    "history": lambda: SMALL.optimal.history,
    "holds": lambda: True,
    "i": lambda: 0,
    "inside": lambda: SMALL.sdp.b,
    "into": lambda: SMALL.identity,
    "inverse": lambda: SMALL.identity,
    "j": lambda: [1, 2],
    "k": lambda: 2,
    "kept": lambda: np.ones(2, dtype=bool),
    "kernel": lambda: SMALL.kernel,
    "key": lambda: "hu2010",
    "known": lambda: [0, 4],
    "labels": lambda: SMALL.labels,
    "laplacians": lambda: [SMALL.L, SMALL.identity],
    "links": lambda: SMALL.links,
    "mu": lambda: 0.2,
    "must": lambda: [(0, 1)],
    "must_link": lambda: [(0, 1)],
    "n": lambda: 8,
    "new": lambda: SMALL.cuts,
    "n_clusters": lambda: 2,
    "n_init": lambda: 2,
    "n_labels": lambda: 4,
    "n_links": lambda: 3,
    "n_neighbors": lambda: 3,
    "n_subsets": lambda: 2,
    "name": lambda: "path_ends_apart",
    "of": lambda: SMALL.K,
    "order": lambda: np.arange(8)[::-1],
    "pairs": lambda: SMALL.links.must,
    "path": lambda: Path("links.csv"),
    "plan": lambda: SMALL.solution.plan,
    "points": lambda: [0, 4],
    "prior": lambda: SMALL.identity,
    "problem": lambda: SMALL.problem,
    "program": lambda: SMALL.sdp,
    "proof": lambda: "by hand",
    "random_state": lambda: 0,
    "record": lambda: json.loads(SMALL.results),
    "records": lambda: [json.loads(SMALL.results)],
    "reason": lambda: "it converged",
    "reference": lambda: cl.instances.load("path_ends_apart").reference,
    "repeats": lambda: 1,
    "route": lambda: SMALL.problem.routes[0],
    "result": lambda: SMALL.optimal,
    "rounds": lambda: 2,
    "rows": lambda: SMALL.sdp.rows,
    "score": lambda: "nmi",
    "scores": lambda: np.ones((8, 2)),
    "seconds": lambda: 0.1,
    "settings": cl.Settings,
    "study": lambda: SMALL.study,
    "sigma": lambda: 1.0,
    "slack": lambda: 0.5,
    "solution": lambda: SMALL.solution,
    "status": lambda: cl.Status.OPTIMAL,
    "step": lambda: 1,
    "table": lambda: {"i": [0], "j": [1], "kind": ["must"]},
    "targets": lambda: np.ones(2),
    "tree": lambda: SMALL.optimal.tree,
    "term": lambda: cp.trace(SMALL.K),
    "tex": lambda: r"\operatorname{tr} @",
    "time_limit": lambda: 10.0,
    "timings": cl.Timings,
    "title": lambda: "a title",
    "tolerance": lambda: 1e-6,
    "total": lambda: 2.0,
    "value": lambda: 1.0,
    "values": lambda: dict(SMALL.solution.values),
    "variable": lambda: cp.Variable((8, 8), name="K"),
    "violations": lambda: {"psd": 0.0},
    "weight": lambda: 1.0,
    "which": lambda: ["path_ends_apart"],
    "why": lambda: "it is small",
    "within": lambda: SMALL.graph.S,
    "words": lambda: "it holds",
    "y": lambda: SMALL.y,
}


def _reduced_duals() -> dict[str, Any]:
    program = cl.Contraction().apply(SMALL.problem).program.linear_sdp()
    return {**program.split(np.zeros(len(program.b))), "psd": np.eye(6)}


# By the name of the callable and the parameter, where the name alone would mislead.
PARTICULAR: dict[str, Callable[[], Any]] = {}


def particular(**values: Callable[[], Any]) -> Callable[[str], None]:
    """Return a function that notes values for parameters of callables."""

    def of(*callables: str) -> None:
        PARTICULAR.update({f"{name}.{parameter}": value for name in callables for parameter, value in values.items()})

    return of


particular(X=lambda: SMALL.K)("terms.below_identity", "terms.trace_equals", "terms.fantope")
particular(M=lambda: cp.Variable((2, 2), symmetric=True), weight=lambda: 1.0)("terms.mahalanobis")
particular(X=lambda: SMALL.K, K=lambda: SMALL.kernel)("terms.distortion")
particular(Z=lambda: SMALL.K, d=lambda: np.ones(SMALL.K.shape[0]))("terms.keeps_vector")
particular(points=lambda: [0, 4], values=lambda: np.eye(2))("terms.given_rows")
particular(U=lambda: SMALL.identity, weight=lambda: 1.0)("terms.fitted_products")
particular(f=lambda: SMALL.y + 1.0)("stationarity")
particular(name=lambda: "mu", values=lambda: [0.1, 0.2])("Problem.path")
particular(problem=lambda: SMALL.cvxpy_problem)("wrap")
particular(path=lambda: SMALL.srcp_path)("plotting.plot_path")
particular(solution=lambda: cl.wrap(SMALL.cvxpy_problem).solve())("Wrapped.save")
particular(values=lambda: np.eye(2))("HarmonicExtension.__call__")
particular(K=lambda: SMALL.identity)(
    *(f"LinearSDP.{name}" for name in ("residual", "rows_of", "value", "violations")),
    "clustering.kernel_factor",
    "plotting.plot_kernel",
    "plotting.plot_spectrum",
    "plotting.save_overview",
)
particular(y=lambda: SMALL.multipliers)(*(f"LinearSDP.{name}" for name in ("adjoint", "slack", "split")))
particular(name=lambda: "two_moons")("datasets.load")
particular(name=lambda: "kernel")("Learnt.get")
particular(labels=lambda: SMALL.y)(
    *(f"metrics.{name}" for name in ("error", "nmi", "pairwise_accuracy", "scores")),
    "Solution.relaxation_gap",
    "Formulation.point_of_clustering",
    "Extension.predict",
)
particular(path=lambda: Path("study.toml"))("Study.read")
particular(path=lambda: Path("page.html"))("studies.save_page")
particular(content=lambda: tomllib.loads(SMALL.study.to_toml()))("Study.of")
particular(path=lambda: Path("picture.png"))("plotting.save_overview")
particular(path=lambda: Path("program.dat-s"))("read_program")
particular(path=lambda: Path("exported.dat-s"))("Problem.export", "Wrapped.export")
particular(path=lambda: Path("saved.csv"))("Links.save")
particular(path=lambda: Path("points.npz"))("datasets.read")
particular(program=lambda: Path("program.dat-s"), result=lambda: Path("program.result"))("bring_back")
particular(path=lambda: cl.instances.folder() / "path_ends_apart.toml")("Instance.read")
particular(kernel=lambda: SMALL.definite)("MinKL")
particular(n_links=lambda: [2, 4], methods=lambda: ["KP"], X=lambda: SMALL.graph)("studies.link_curve")
particular(labels=lambda: None)("Links.to_labels", "plotting.plot_affinity")
particular(point=lambda: {"f": np.full((8, 2), 0.5)})("SpecialProgram.value", "SpecialProgram.violations")
particular(mu=lambda: np.ones(8))("SpectralTransform.kernel_with")
particular(program=lambda: cl.KP(SMALL.graph, SMALL.links).program.linear_sdp())("Elimination.reduce")
particular(program=lambda: replace(SMALL.sdp, C=SMALL.sdp.C * 1e6))("Scaling.reduce")
particular(values=lambda: {"K": np.eye(6)}, duals=lambda: _reduced_duals())("Lift.point")
particular(count=lambda: 2)("Graph.smoothest")
particular(order=lambda: 8)("CCSR", "GaussianField", "ImprovedOrder")
particular(n_links=lambda: 2, n_subsets=lambda: 2)("LinkedGraphProblem.solve_resampled")
particular(affinity=lambda: "knn")("ConstrainedClustering")


particular(times=lambda: {"SCS": [0.5, 2.0], "SDPA": [1.0, np.inf]})(
    "plotting.plot_performance_profile", "plotting.plot_data_profile"
)
particular(cells=lambda: {"SCS": [(0.5, 1e-5)], "SDPA": [(1.0, 1e-7)]})("plotting.plot_time_against_gap")
particular(ranks=lambda: {"KP": 1.4, "PCP": 1.6}, difference=lambda: 0.3)("plotting.plot_critical_differences")
particular(problem=lambda: SMALL.kmeans)("optimal_clustering")
particular(Z=lambda: SMALL.K)("terms.keeps_vector", "terms.same_rows", "terms.nonnegative")
particular(values=lambda: np.zeros(2), new=lambda: SMALL.cuts)("Cuts.with_new")
particular(known=lambda: set())("Cuts.without")
particular(blocks=lambda: np.arange(8), bound=lambda: 8.0)("Cuts.rows")
particular(other=lambda: SMALL.cuts)("Cuts.__add__")


# ---------------------------------------------------------------------- objects that have to be obtained, not made

# By the name of the class; all other classes are made by calling them.
EXAMPLES: dict[str, Callable[[], Any]] = {
    "Cuts": lambda: SMALL.cuts,
    "OptimalClustering": lambda: SMALL.optimal,
    "Certificate": lambda: SMALL.solution.certificate,
    "Diagnosis": lambda: SMALL.problem.why_infeasible(),
    "Graph": lambda: SMALL.graph,
    "GrowingGraph": lambda: GrowingGraph(SMALL.graph, 4),
    "LinearSDP": lambda: SMALL.sdp,
    "Links": lambda: SMALL.links,
    "Lift": lambda: cl.Contraction().apply(SMALL.problem).lift,
    "InstanceChoice": lambda: cl.studies.InstanceChoice(
        data="iris", formulation="SRCP", links=[3], graph={"n_neighbors": 5}, options={"mu": 0.2}, over={"scale": [1.0]}
    ),
    "Configuration": lambda: cl.studies.Configuration(solver="SCS", options={"max_iters": 5}),
    "Study": lambda: SMALL.study,
    "Standing": lambda: cl.studies.standing(SMALL.study, "."),
    "Task": lambda: cl.studies.Task(SMALL.X, SMALL.y, SMALL.links, graph_options={"n_neighbors": 3}),
    "Plan": lambda: SMALL.solution.plan,
    "Reduced": lambda: cl.Contraction().apply(SMALL.problem),
    "Route": SomeRoute,
    "Solution": lambda: SMALL.solution,
    "SpecialProgram": lambda: cl.GFHF(SMALL.graph, SMALL.labels).program,
}

# Other objects to call a method of, where the first one cannot do it.
RECEIVERS: dict[str, Callable[[], Any]] = {
    "Problem.certify": lambda: SMALL.problem,
    "Problem.path": lambda: cl.SRCP(SMALL.graph, SMALL.links),
    "Solution.relaxation_gap": lambda: SMALL.solution,
    "Wrapped.solve": lambda: cl.wrap(SMALL.new_cvxpy_problem()),  # others need the answer in theirs
    "Solution.propagated_at": lambda: SMALL.propagated,
    "Solution.stationarity": lambda: cl.LLGC(SMALL.graph, SMALL.labels).solve(),
}

# Optional arguments that a valid call needs, or that make it fast.
ALSO: dict[str, tuple[str, ...]] = {
    "MinKL": ("must_bound", "cannot_bound"),
    "Links.sample": ("n_links",),
    "sample_labels": ("n_labels",),
    "clustering.kernel_kmeans": ("kernel", "n_init"),
    "clustering.places": ("kernel",),
    "clustering.spectral": ("n_init",),
    "clustering.kmeans": ("n_init",),
    "Graph.knn": ("n_neighbors",),
    "candidate_graphs": ("n_neighbors",),
    "neighbour_widths": ("n_neighbors",),
    "LearntKernel.cluster": ("n_clusters", "n_init"),
    "LinkedGraphProblem.solve_resampled": ("n_links", "n_subsets"),
    "Links.load": ("n",),
    "Prepared.solve": ("mu",),
    "SolutionPath.cluster": ("n_clusters",),
    "certify": ("values",),
    "datasets.load": ("n",),
    "instances.verify": ("which",),
    "solvers": ("check",),
    "studies.link_curve": ("methods", "n_links", "repeats"),
    "ConstrainedClustering": ("n_clusters", "n_neighbors", "n_init"),
    "ConstrainedClustering.fit": ("y",),
    "ConstrainedClustering.fit_predict": ("y",),
    "ConstrainedClustering.declare": ("y",),
}

# Names that go into ``**options``, by callable.
KEYWORDS: dict[str, Callable[[], tuple[str, ...]]] = {
    "LinkedGraphProblem.solve_resampled": lambda: tuple(f.name for f in fields(cl.Options) if f.name != "random_state"),
    "Options.of": lambda: tuple(f.name for f in fields(cl.Options)),
    "Prepared.solve": lambda: ("mu",),
    "datasets.load": lambda: ("n", "noise", "random_state"),
}

# The optimum of a triangle of which two corners are kept apart, as CSDP writes it.
HALF = 0.5**0.5
TRIANGLE_RESULT = f"""{HALF} {HALF}
1 1 1 1 1
1 1 1 3 {HALF}
1 1 2 2 1
1 1 2 3 {HALF}
1 1 3 3 1
2 1 1 1 {HALF}
2 1 1 2 {HALF}
2 1 1 3 -1
2 1 2 2 {HALF}
2 1 2 3 -1
2 1 3 3 {2 * HALF}
"""


@cache
def files() -> dict[str, bytes]:
    """Return the files that valid calls read, by name."""
    triangle = cl.PCP(cl.Graph.from_affinity(1 - np.eye(3)), cl.Links(3, cannot=[(0, 1)]), normalized=False)
    with TemporaryDirectory() as folder:
        triangle.export(Path(folder) / "program.dat-s")
        SMALL.links.save(Path(folder) / "links.csv")
        np.savez(Path(folder) / "points.npz", X=SMALL.X, y=SMALL.y)
        (Path(folder) / "program.result").write_text(TRIANGLE_RESULT)
        (Path(folder) / "study.toml").write_text(SMALL.study.to_toml())
        (Path(folder) / "results.jsonl").write_bytes(SMALL.results)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}
