"""The methods as a scikit-learn estimator: from points, links and partial labels to clusters."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClusterMixin
from sklearn.utils import check_array
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from ..data.graph import Graph
from ..engine.extension import nearest_mean, predict_alone
from ..engine.problem import Problem
from ..engine.solution import Solution
from ..errors import ClippedWarning, InfeasibleProblem, InvalidInput, LinkWarning, SolveFailed
from ..methods.cuts.csc import CSC
from ..methods.fantope.ncuts import NCuts
from ..methods.partitions.kp_cut import KPCut
from ..methods.partitions.linked_cut import LinkedCut
from ..methods.table import method, require_options
from ..numerics.arguments import as_choice
from ..numerics.checks import as_count
from ..programs.status import DEFAULT_ACCURACY
from ..solvers.route import Progress
from .choice import Choice, choose
from .options import AUTO, OptionsAsParameters, is_auto, require_no_options
from .scales import warn_of_scales
from .supervision import Supervision, argument_names, takes_either
from .task import Task, checked_by_sklearn, has_steps, is_embedded, is_infeasible

AFFINITIES = ("knn", "rbf", "precomputed")
_CHECKS_OF_ONE_CLUSTER = (
    "check_dont_overwrite_parameters",
    "check_methods_subset_invariance",
    "check_fit2d_1feature",
    "check_fit2d_predict1d",
)


def expected_failed_checks(estimator: ConstrainedClustering) -> dict[str, str]:
    """Return the checks of scikit-learn that an estimator does not pass, each with the reason.

    Pass it to ``check_estimator`` or ``parametrize_with_checks``. It is empty for points and most methods.
    """
    failed = {}
    if estimator.affinity == "precomputed":
        failed["check_clustering"] = "the check clusters points, which are not an affinity"
    if is_auto(estimator.method):
        return failed
    which = method(estimator.method)
    if "labels" in which.needs or which.formulation is CSC:
        reason = f"the check asks for one cluster, and {which.name} finds at least two"
        failed |= dict.fromkeys(_CHECKS_OF_ONE_CLUSTER, reason)
    if which.formulation in (LinkedCut, KPCut):
        reason = f"the check asks for fewer clusters than it names classes, and {which.name} keeps all links"
        failed |= dict.fromkeys((*_CHECKS_OF_ONE_CLUSTER, "check_methods_sample_order_invariance"), reason)
    if "labels" in which.needs:
        reason = f"the check asks for two clusters and names three classes, and {which.name} finds as many as are named"
        failed["check_methods_sample_order_invariance"] = reason
    if hasattr(which.formulation, "partition"):
        reason = f"the check names more classes than it asks for clusters, and {which.name} keeps classes apart"
        failed |= dict.fromkeys((*_CHECKS_OF_ONE_CLUSTER, "check_methods_sample_order_invariance"), reason)
    return failed


def _extends(estimator: ConstrainedClustering) -> bool:
    """Whether the method carries over to new points; if not, the error says why."""
    reason = estimator._why_no_prediction()
    if reason:
        raise AttributeError(reason)
    return True


class ConstrainedClustering(ClusterMixin, OptionsAsParameters):
    """Clustering with must-links, cannot-links and partial labels, by any of the methods.

    ``fit`` builds a graph of the points, declares the method's program on it, solves and certifies it, and clusters the
    result as the method's paper does.

    Parameters
    ----------
    n_clusters : int, optional
        By default the number of classes in ``y``, or the number the cannot-links need if that is more; at least two.
    method : str or subclass of Problem
        One of ``cvxlink.methods()``, in upper or lower case, your own formulation, or "auto": chosen by what is given,
        see Notes.
    method_options : dict, optional
        Fields of the formulation: ``{"mu": 0.2}`` for SRCP. Each is a parameter too, so that a search can vary it:
        ``set_params(method_options__mu=0.5)``. "auto" takes none.
    affinity : "knn", "rbf" or "precomputed"
        How the graph is built: by :meth:`Graph.knn`, by :meth:`Graph.rbf`, or X itself is an n × n affinity, dense or
        sparse.
    n_neighbors : int
        Neighbours of each point, for "knn". If there are fewer other points, all are neighbours, with a warning.
    sigma : float or "mean"
        The width of the weights, for "knn" and "rbf".
    symmetrize : "union", "mean" or "mutual"
        As in :meth:`Graph.knn`.
    connect : bool
        Join the components of the graph, for "knn".
    cluster_method : str, optional
        "kernel-kmeans", "spectral", "kmeans", "cut", "argmax" or "partition"; by default the one in the method's paper.
    n_init : int
        Restarts of k-means.
    solver, form, route, accuracy, time_limit, solver_options
        As in :meth:`Problem.solve`.
    random_state : None, int, numpy generator or RandomState
        The seed of the clustering; the same number gives the same labels.

    Attributes
    ----------
    labels_ : array of n
        The clusters, 0 … k − 1. If ``y`` names at most as many classes as there are clusters, the clusters are numbered
        to agree most with these, one to one, so that ``classes_[labels_]`` are names if there are as many of both.
    n_clusters_ : int
        The number of clusters, as asked for or as it follows.
    classes_ : array
        The classes that ``y`` names, in order; only if ``y`` was given.
    chosen_ : Choice
        The name of the method that was solved, ``.method``, its ``.options``, and why it was chosen, ``.reason``.
    links_ : Links
        The given links and the links that follow from ``y``: all of them for methods with soft links, otherwise a few
        that imply the others.
    problem_, solution_ : Problem, Solution
        What was solved, and how: ``solution_.certificate``, ``solution_.timings``, ``solution_.duals``.
    embedding_ : array, n × r
        The points in feature space, for methods that have such a space.
    affinity_matrix_ : array or sparse matrix, n × n
        What was clustered, for methods that are clustered spectrally, including NCuts.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Distances depend on the units of the features, and are not scaled here; a warning says where a few features outweigh
    all others. ``make_pipeline(StandardScaler(), ConstrainedClustering(…))`` scales them, as the command line does.

    The method "auto" chooses by what is given; labels become links first.

    =====================================================================  =========================
    what is given                                                          what is taken
    =====================================================================  =========================
    no links and no labels                                                 NCuts
    links that contradict one another, or that so many clusters cannot     LinkedCut with soft links
    keep
    links that look wrong: they do not help to predict one another         LinkedCut with soft links
    other links, on a graph with points that have no neighbours            KP
    fewer than five other links, no cannot-links, or components of the     LinkedCut
    graph without links
    more than 300 other links                                              KP
    all other links                                                        KPCut
    =====================================================================  =========================

    Links help to predict one another if clusters learnt from two thirds of them keep more of the others than clusters
    of the graph alone do. That is tried from 100 links on, at up to 20 000 points, and only if the clusters of the
    graph break more than a fifth of the links.

    Other methods need links or labels. Without any, the points are clustered by their graph alone (NCuts), with a
    warning.

    ``predict`` exists for methods that extend to new points. It does not exist for a precomputed affinity, nor for
    methods that yield only an affinity (SRCP, E2CP, SL, MinKL), nor for KMeans. Searches such as ``GridSearchCV`` score
    models with ``predict``, so they cannot vary the options of these.

    The estimator passes all of scikit-learn's ``check_estimator`` except the checks that ``expected_failed_checks`` of
    this module lists; for points and most methods it lists none.

    Examples
    --------
    >>> import cvxlink as cl
    >>> X, y = cl.datasets.load("iris")
    >>> estimator = cl.ConstrainedClustering(n_clusters=3, random_state=0)
    >>> labels = estimator.fit(X, must_link=[(0, 1), (60, 70)], cannot_link=[(0, 75), (75, 149)]).labels_
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        method: str | type[Problem] = AUTO,
        method_options: Mapping[str, Any] | None = None,
        affinity: str = "knn",
        n_neighbors: int = 10,
        sigma: float | str = "mean",
        symmetrize: str = "union",
        connect: bool = True,
        cluster_method: str | None = None,
        n_init: int = 20,
        solver: str | None = None,
        form: str | None = None,
        route: str | None = None,
        accuracy: float | None = DEFAULT_ACCURACY,
        time_limit: float | None = None,
        solver_options: Mapping[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.method_options = method_options
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.sigma = sigma
        self.symmetrize = symmetrize
        self.connect = connect
        self.cluster_method = cluster_method
        self.n_init = n_init
        self.solver = solver
        self.form = form
        self.route = route
        self.accuracy = accuracy
        self.time_limit = time_limit
        self.solver_options = solver_options
        self.random_state = random_state

    # ------------------------------------------------------------------ fitting

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        links: Any = None,
        progress: Callable[[Progress], Any] | None = None,
    ) -> ConstrainedClustering:
        """Cluster the points.

        Parameters
        ----------
        X : array or frame, n × d
            One row per point; an n × n affinity with ``affinity="precomputed"``.
        y : array of n, optional
            Labels of some points, numbers or names; -1, None, or NaN among names, stand for unknown. Methods that take
            links get the links that follow from them.
        must_link, cannot_link : pairs, optional
            Lists or arrays of pairs (i, j). Points are positions counted from 0, also if X is a pandas frame, whose
            index is not used.
        links : Links or matrix, optional
            Links as :class:`~cvxlink.Links`, or as an n × n matrix, dense or sparse, positive for must and negative for
            cannot; together with ``must_link`` and ``cannot_link`` if both are given. Methods that take labels get the
            labels that follow from them.
        progress : function, optional
            Called after each step of a route that has steps, as in :meth:`Problem.solve`; never for other routes.
        """
        before = dict(self.__dict__)
        try:
            return self._fitted(X, y, must_link, cannot_link, links, progress)
        except BaseException:  # nothing is lost: an earlier fit stays as it was
            self.__dict__ = before
            raise

    def _fitted(
        self, X: Any, y: Any, must_link: Any, cannot_link: Any, links: Any, progress: Callable[[Progress], Any] | None
    ) -> ConstrainedClustering:
        points = checked_by_sklearn(validate_data, self, X, **self._input)
        task = self._task(points, y, must_link, cannot_link, links)
        try:
            solution = self._solved(task, progress)
        except (InfeasibleProblem, SolveFailed) as error:
            if not is_auto(self.method) or task.chosen.options or not is_infeasible(error):
                raise
            task = task.softened("no clustering keeps all links, so some have to be broken")
            solution = self._solved(task, progress)
        with argument_names({"method": "cluster_method"}):
            clusters = solution.cluster(task.n_clusters, self.cluster_method, self.random_state, self.n_init)
        self.problem_, self.solution_, self.chosen_ = task.problem, solution, task.chosen
        self.links_, self.n_clusters_ = task.links, task.n_clusters
        self._way = self.cluster_method or task.problem.about.cluster
        # Where the class with the largest score is taken, clusters are classes already.
        self.labels_ = clusters if self._way == "argmax" else task.known.matched(clusters, task.n_clusters)
        self.__dict__.pop("classes_", None)  # of an earlier fit
        if task.known.labels is not None:
            self.classes_ = task.known.classes
        return self

    def _solved(self, task: Task, progress: Callable[[Progress], Any] | None) -> Solution:
        algorithm = {} if task.replaced else self._algorithm
        if progress is not None and not has_steps(task.problem, algorithm):
            progress = None
        return task.problem.solve(
            **algorithm,
            accuracy=self.accuracy,
            time_limit=self.time_limit,
            random_state=0 if self.random_state is None else self.random_state,
            progress=progress,
        )

    def fit_predict(
        self,
        X: Any,
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        links: Any = None,
        progress: Callable[[Progress], Any] | None = None,
    ) -> np.ndarray:
        """Cluster the points, see :meth:`fit`, and return ``labels_``."""
        return self.fit(X, y, must_link=must_link, cannot_link=cannot_link, links=links, progress=progress).labels_

    def declare(
        self, X: Any, y: Any = None, *, must_link: Any = None, cannot_link: Any = None, links: Any = None
    ) -> Problem:
        """Return the problem that :meth:`fit` would solve, unsolved; nothing is fitted.

        The method "auto" may solve smaller problems to choose it.
        """
        points = checked_by_sklearn(check_array, X, estimator=self, **self._input)
        return self._task(points, y, must_link, cannot_link, links).problem

    def choice(
        self, X: Any, y: Any = None, *, must_link: Any = None, cannot_link: Any = None, links: Any = None
    ) -> Choice:
        """Return the method that :meth:`fit` would take, and why; nothing is fitted."""
        points = checked_by_sklearn(check_array, X, estimator=self, **self._input)
        return self._task(points, y, must_link, cannot_link, links).chosen

    @property
    def _input(self) -> dict[str, Any]:
        """What X must be. An affinity may be sparse; sparse points are refused when the graph is built."""
        affinity = as_choice(self.affinity, "affinity", AFFINITIES) == "precomputed"
        return {"accept_sparse": "csr", "dtype": float, "ensure_min_samples": 2, "ensure_non_negative": affinity}

    @property
    def _algorithm(self) -> dict[str, Any]:
        """How to solve the method that was asked for; another method in its place takes its default."""
        options = self.solver_options
        return {"solver": self.solver, "form": self.form, "route": self.route, "solver_options": options}

    def _task(self, X: Any, y: Any, must_link: Any, cannot_link: Any, links: Any) -> Task:
        n = X.shape[0]
        known = Supervision.given(n, y, must_link, cannot_link, links)
        if self.affinity != "precomputed" and not issparse(X):  # sparse points are refused when the graph is built
            warn_of_scales(X)
        if is_auto(self.method):
            return self._task_by_choice(X, known)
        chosen, options = method(self.method), self.options_by_name
        require_options(chosen.formulation, options, "method_options")
        replaced = takes_either(chosen) and known.is_empty and "X" not in chosen.needs
        if replaced:
            trouble = LinkWarning.asking_for(
                f"there are no links and no labels for {chosen.name}, so the points are clustered by their graph alone "
                f"(NCuts)",
                "links",
                "y",
            )
            warnings.warn(trouble, stacklevel=3)
            chosen, options = method(NCuts), {}
        elif not (takes_either(chosen) or known.is_empty):
            warnings.warn(
                f"{chosen.name} clusters by the graph alone: it ignores links, and uses only the number and the names "
                f"of the labels; choose a method that uses them, such as KP",
                LinkWarning,
                stacklevel=3,
            )
        all_links = known.links_for(chosen, options)
        asked = self.n_clusters
        k = known.n_clusters(all_links) if asked is None else as_count(asked, "n_clusters", 1, n)
        graph, labels = self._graph(X), known.labels_for(chosen, k)
        with argument_names(dict.fromkeys(options, "method_options")):
            problem = chosen.make(graph, all_links, labels, k, **options)
        found = getattr(problem, "n_clusters", k)
        if found != k:
            named = "the {} classes that labels name" if "labels" in chosen.needs else "{} clusters"
            other = ", label a point of each class, or choose a method that takes links"
            raise InvalidInput(
                f"{chosen.name} finds {named.format(found)}, not {k} clusters; ask for {found}"
                f"{other if 'labels' in chosen.needs else ', or choose another method'}",
                "n_clusters",
            )
        reason = "there are no links and no labels" if replaced else "asked for"
        return Task(problem, known, all_links, k, replaced, Choice(chosen.name, reason, options))

    def _task_by_choice(self, X: Any, known: Supervision) -> Task:
        """Return the problem for what is given, by the table of :mod:`cvxlink.estimator.choice`."""
        require_no_options(self.options_by_name)
        links, asked = known.as_few_links, self.n_clusters
        k = known.n_clusters(links) if asked is None else as_count(asked, "n_clusters", 1, X.shape[0])
        graph = self._graph(X)
        chosen = choose(links, k, graph)
        problem = method(chosen.method).make(graph, links, None, k, **chosen.options)
        return Task(problem, known, links, k, chosen.method == "NCuts", chosen)

    def _graph(self, X: Any) -> Graph:
        as_choice(self.affinity, "affinity", AFFINITIES)
        if self.affinity == "precomputed":
            return Graph.from_affinity(X)
        if self.affinity == "rbf":
            return Graph.rbf(X, self.sigma)
        neighbours, others = as_count(self.n_neighbors, "n_neighbors"), X.shape[0] - 1
        if neighbours > others:
            problem = f"is {neighbours}, but each point has only {others} others; all are joined"
            warnings.warn(ClippedWarning.about("n_neighbors", problem), stacklevel=4)
        return Graph.knn(X, min(neighbours, others), self.sigma, self.symmetrize, self.connect)  # type: ignore[arg-type]

    # ------------------------------------------------------------------ what was fitted

    @available_if(_extends)
    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster of new points, each as if it were the only one to join the graph.

        A new point gets its place in feature space from its neighbours and joins the cluster with the nearest mean; for
        methods with scores for classes it joins the class with the largest score. The cluster of a point does not
        depend on the other points in X.
        """
        check_is_fitted(self)
        points = checked_by_sklearn(validate_data, self, X, reset=False, **{**self._input, "ensure_min_samples": 1})
        if "graph" not in method(type(self.problem_)).needs:  # the points are their own places
            return nearest_mean(self.problem_.X, self.labels_)(points)  # type: ignore[attr-defined]
        with argument_names({"X_new": "X"}):
            return predict_alone(self.solution_, points, None if self._way == "argmax" else self.labels_)

    def _why_no_prediction(self) -> str:
        """Return why the problem that was solved, or the chosen method, has no ``predict``; or ""."""
        problem = getattr(self, "problem_", None)
        asked = NCuts if is_auto(self.method) else self.method  # all that "auto" may choose extend
        which = method(asked if problem is None else type(problem))
        if "X" in which.needs and self.affinity != "precomputed":
            return ""
        if "graph" not in which.needs or not is_embedded(which.formulation):
            yields = which.formulation.about.yields
            return f"{which.name} does not extend to new points: it yields {yields}; KP, for example, does"
        points = getattr(getattr(problem, "graph", None), "points", None)
        if self.affinity == "precomputed" if problem is None else points is None:
            return "new points have no place in a precomputed affinity; give points, with affinity='knn' or 'rbf'"
        return ""

    @property
    def embedding_(self) -> np.ndarray:
        """The points in feature space, one row each."""
        check_is_fitted(self)
        if not is_embedded(type(self.problem_)):
            name = type(self.problem_).__name__
            raise AttributeError(f"{name} yields {self.problem_.about.yields} and no embedding; see affinity_matrix_")
        return self.solution_.embedding_for(self.n_clusters_)

    @property
    def affinity_matrix_(self) -> Any:
        """The affinity that was clustered, for methods that are clustered spectrally."""
        check_is_fitted(self)
        if isinstance(self.problem_, NCuts):
            return self.problem_.graph.W
        if self._way != "spectral":
            name = type(self.problem_).__name__
            raise AttributeError(f"{name} was not clustered by an affinity; see embedding_, or solution_.affinity")
        return self.solution_.affinity_for(self.n_clusters_)

    def __dir__(self) -> list[str]:
        # A notebook shows the values of all that is listed here, and two of them may take long to compute.
        listed = set(object.__dir__(self)) - {"embedding_", "affinity_matrix_"}
        return [name for name in listed if hasattr(self, name)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        given = self.affinity == "precomputed"
        tags.input_tags.pairwise = tags.input_tags.sparse = tags.input_tags.positive_only = given
        return tags
