from __future__ import annotations

import sys
from collections import Counter

import cvxpy as cp
import matplotlib
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure

import cvxlink as cl
from cvxlink import plotting
from cvxlink.engine.learnt_kernel import LearntKernel
from cvxlink.numerics.matrices import Congruence
from cvxlink.studies import LinkCurve
from helpers.formulations import RewrittenPCP
from helpers.graphs import random_points

matplotlib.use("Agg")


class Product(LearntKernel):
    """A kernel TTᵀ on so many points that nobody wants to see it as an array."""

    def __init__(self, T: np.ndarray) -> None:
        self.T = T

    @property
    def learnt(self) -> cl.Learnt:
        return cl.Learnt(kernel=Congruence(self.T, np.eye(self.T.shape[1])))


def axes():
    return Figure().subplots()


def dots(ax) -> np.ndarray:
    return np.vstack([np.asarray(c.get_offsets()) for c in ax.collections if isinstance(c, PathCollection)])


def segments(ax) -> list[tuple]:
    """The ends of all links that are drawn, singly or in a collection, in a canonical order."""
    single = [np.asarray(line.get_xydata()) for line in ax.lines if len(line.get_xydata())]
    many = [np.asarray(s) for c in ax.collections if isinstance(c, LineCollection) for s in c.get_segments()]
    return sorted(tuple(sorted(map(tuple, ends.round(9).tolist()))) for ends in [*single, *many])


def expected(points: np.ndarray, links: cl.Links) -> list[tuple]:
    pairs = [*links.must.tolist(), *links.cannot.tolist()]
    return sorted(tuple(sorted(map(tuple, points[pair].round(9).tolist()))) for pair in pairs)


@pytest.fixture(scope="module")
def solved(small_pcp):
    return small_pcp.solve()


# ---------------------------------------------------------------------- points and links


def test_points_are_drawn_where_their_principal_components_are():
    X = random_points(40, 5)
    ax = plotting.plot_links(X, cl.Links(40), axes())
    centred = X - X.mean(axis=0)
    drawn = dots(ax)
    _, _, directions = np.linalg.svd(centred)
    np.testing.assert_allclose(abs(drawn), abs(centred @ directions[:2].T), atol=1e-10)  # the sign is anybody's choice
    shares = (drawn**2).sum(axis=0) / (centred**2).sum()
    assert f"{shares[0]:.0%}" in ax.get_xlabel() and f"{shares[1]:.0%}" in ax.get_ylabel()


def test_points_in_the_plane_stay_where_they_are():
    X = random_points(30, 2)
    ax = plotting.plot_clusters(X, np.arange(30) % 3, axes())
    assert "principal" not in ax.get_xlabel()
    for k, cluster in enumerate(ax.collections):
        np.testing.assert_array_equal(cluster.get_offsets(), X[np.arange(30) % 3 == k])
    assert plotting.projected(np.ones((4, 3))).tolist() == [[0, 0]] * 4
    one = plotting.plot_clusters(X[:, :1], np.zeros(30, dtype=int), axes())
    np.testing.assert_array_equal(dots(one), np.column_stack([X[:, 0], np.arange(30)]))
    assert "number" in one.get_ylabel()


def test_unknown_labels_are_no_cluster():
    X = random_points(6, 2)
    ax = plotting.plot_clusters(X, [0, 0, -1, 1, -1, 1], axes())
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["unknown", "cluster 0", "cluster 1"]
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), X[[2, 4]])


def test_twenty_clusters_look_different():
    ax = plotting.plot_clusters(random_points(40, 2), np.arange(40) % 20, axes())
    looks = {(tuple(c.get_facecolor()[0]), c.get_paths()[0].vertices.tobytes()) for c in ax.collections}
    assert len(looks) == 20


@pytest.mark.parametrize("n_links", [0, 1, 30, 900])
def test_every_link_is_drawn_once_few_or_many(n_links):
    X, y = random_points(60, 4), np.arange(60) % 3
    links = cl.Links.sample(y, n_links=n_links, random_state=0)
    ax = plotting.plot_links(X, links, axes())
    assert segments(ax) == expected(plotting.projected(X), links)
    if n_links > 200:
        assert any(isinstance(c, LineCollection) for c in ax.collections) and len(ax.lines) <= 2


@pytest.mark.parametrize("n_links", [40, 900])
def test_broken_links_are_marked_in_their_middle(n_links):
    X, y = random_points(60, 2), np.arange(60) % 3
    links = cl.Links.sample(y, n_links=n_links, random_state=0)
    labels = np.where(np.arange(60) < 45, y, 0)
    ax = plotting.plot_links(X, links, axes(), labels=labels)
    broken = [p for p in links.must.tolist() if labels[p[0]] != labels[p[1]]]
    broken += [p for p in links.cannot.tolist() if labels[p[0]] == labels[p[1]]]
    crosses = np.vstack([c.get_offsets() for c in ax.collections if "broken" in str(c.get_label())])
    assert 0 < len(broken) < len(links)
    np.testing.assert_allclose(np.sort(crosses, axis=0), np.sort([X[p].mean(axis=0) for p in broken], axis=0))
    assert segments(ax) == expected(X, links)  # the others are there too, and none twice
    words = " ".join(text.get_text() for text in ax.get_legend().get_texts())
    counted = Counter(kind for kind in ("must", "cannot") for _ in range(words.count(f"{kind}-link")))
    assert counted == {"must": 2, "cannot": 2}  # kept and broken


def test_a_link_of_an_unknown_label_is_not_broken():
    ax = plotting.plot_links(random_points(4, 2), cl.Links(4, must=[(0, 1), (2, 3)]), axes(), labels=[0, -1, 0, 1])
    assert [len(c.get_offsets()) for c in ax.collections if "broken" in str(c.get_label())] == [1]


def test_the_embedding_keeps_as_much_of_the_kernel_as_two_dimensions_can(solved, small_iris):
    ax = plotting.plot_embedding(solved, small_iris[1], solved.problem.links, axes())
    drawn = dots(ax)
    n = len(solved.kernel)
    centring = np.eye(n) - 1 / n
    largest = np.linalg.eigvalsh(centring @ solved.kernel @ centring)[::-1][:2]
    np.testing.assert_allclose(np.sort((drawn**2).sum(axis=0))[::-1], largest, rtol=1e-6)
    assert len(segments(ax)) == len(solved.problem.links)
    assert ax.get_aspect() == 1


# ---------------------------------------------------------------------- kernels


def image(ax) -> np.ndarray:
    return np.asarray(ax.images[0].get_array())


def test_a_kernel_is_drawn_in_the_order_of_its_clusters():
    n, labels = 30, np.array([2, 0, 1] * 10)
    K = random_points(n, n)
    K = K + K.T
    np.fill_diagonal(K, np.arange(n))  # tells which point is where
    ax = plotting.plot_kernel(K, labels, axes())
    shown = image(ax).diagonal().astype(int)
    assert sorted(shown) == list(range(n))
    assert (np.diff(labels[shown]) >= 0).all()
    np.testing.assert_array_equal(image(ax), K[np.ix_(shown, shown)])
    assert sorted({line.get_xdata()[0] for line in ax.lines} - {0}) == [9.5, 19.5]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["0", "1", "2"]


def test_a_solution_is_drawn_as_its_kernel(solved):
    ax = plotting.plot_kernel(solved, ax=axes())
    np.testing.assert_allclose(image(ax), solved.kernel, atol=1e-12)
    assert ax.images[0].get_clim() == (-1, 1)  # a unit diagonal


def test_colours_end_where_nearly_all_entries_do():
    K = 1e-3 * np.ones((40, 40)) + 5 * np.eye(40)
    K[0, 0] = 500.0
    low, high = plotting.plot_kernel(K, ax=axes()).images[0].get_clim()
    assert -low == high and 1e-3 <= high <= 5.0011


def test_of_many_points_some_of_each_cluster_are_drawn_and_the_whole_kernel_is_never_built():
    n = 60_000  # 29 GB as an array
    labels = np.repeat([0, 1, 2], [1, n // 3 - 1, 2 * n // 3])
    T = np.column_stack([np.arange(n) / n, labels == 2])
    ax = plotting.plot_kernel(Product(T), labels, axes())
    picture = image(ax)
    assert 1900 <= len(picture) <= 2010
    second = (picture.diagonal() >= 1).sum()  # 1 of T's second column
    assert second == pytest.approx(2 / 3 * len(picture), abs=2)
    assert f"{len(picture)} of {n} points" in ax.get_xlabel()
    first = np.sqrt(picture.diagonal() - (np.arange(len(picture)) >= len(picture) - second))
    np.testing.assert_allclose(picture[1, 2:600], first[1] * first[2:600], rtol=1e-9)
    plotting.plot_spectrum(Product(T), axes())


def test_an_affinity_is_drawn_dense_or_sparse(small_pcp):
    problem = cl.SRCP(small_pcp.graph, small_pcp.links)
    for route in ("eigen", "factored"):
        solution = problem.solve(route=route)
        affinity = solution.affinity
        affinity = affinity.toarray() if hasattr(affinity, "toarray") else affinity
        np.testing.assert_allclose(image(plotting.plot_affinity(solution, ax=axes())), affinity)


def test_the_spectrum_of_a_clustering_is_its_cluster_sizes():
    labels = np.repeat([0, 1, 2], [5, 3, 2])
    ax = plotting.plot_spectrum((labels[:, None] == labels).astype(float), axes())
    counted, rank = ax.lines[0], ax.lines[-1]
    np.testing.assert_allclose(counted.get_ydata(), [5, 3, 2])
    assert set(rank.get_xdata()) == {3.5} and rank.get_label() == "numerical rank 3"
    assert ax.get_yscale() == "log" and "negative" not in ax.get_xlabel()


def test_the_rank_divides_the_eigenvalues_and_negative_ones_are_mentioned():
    Q, _ = np.linalg.qr(random_points(6, 6))
    ax = plotting.plot_spectrum((Q * [4.0, 2.0, 1e-3, 1e-8, -0.25, 0.0]) @ Q.T, axes())
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [4, 2, 1e-3], rtol=1e-6)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [1e-8], rtol=1e-3)
    assert ax.lines[2].get_xdata()[0] == 3.5
    assert "-0.25" in ax.get_xlabel()


def test_the_spectrum_of_ccsr_is_that_of_the_kernel_it_yields(small_pcp):
    solution = cl.CCSR(small_pcp.graph, small_pcp.links, order=6).solve()
    ax = plotting.plot_spectrum(solution, axes())
    eigenvalues = np.linalg.eigvalsh(solution.kernel)[::-1]
    assert len(ax.lines[0].get_ydata()) == solution.rank
    np.testing.assert_allclose(ax.lines[0].get_ydata(), eigenvalues[: solution.rank], rtol=1e-6)


# ---------------------------------------------------------------------- runs


def test_convergence_says_what_it_measures(small_pcp):
    spread = cl.SRCP(small_pcp.graph, small_pcp.links).solve(route="spreading")
    interior, low = small_pcp.solve(route="interior-point"), small_pcp.solve(route="low-rank")
    one = plotting.plot_convergence(spread, axes())
    assert "distance" in one.get_ylabel() and one.get_legend() is None
    assert one.lines[0].get_xdata()[[0, -1]].tolist() == [1, spread.iterations]
    gaps = plotting.plot_convergence({"ours": interior, "factors": low}, axes())
    assert gaps.get_ylabel() == "relative gap"
    for line, solution in zip(gaps.lines, (interior, low), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), solution.history)
        assert line.get_xdata()[[0, -1]].tolist() == [0, solution.iterations]  # the start counts as 0
    mixed = plotting.plot_convergence({"spreading": spread, "low-rank": low}, axes())
    names = [text.get_text() for text in mixed.get_legend().get_texts()]
    assert "distance" in names[0] and names[1] == "low-rank: relative gap"
    assert mixed.get_ylabel() not in (one.get_ylabel(), gaps.get_ylabel())


def test_scores_are_drawn_by_their_means_with_the_middle_half_around():
    curve = {"KP": [(20, [0.5, 0.7, 0.9, 0.9]), (10, [0.1, 0.2, 0.3, 0.8])], "PCP": [(10, 0.4), (20, 0.6), (10, 0.6)]}
    ax = plotting.plot_scores(curve, axes(), score="NMI")
    first, second = ax.lines
    assert list(first.get_xdata()) == list(second.get_xdata()) == [10, 20]
    np.testing.assert_allclose(first.get_ydata(), [0.35, 0.75])
    np.testing.assert_allclose(second.get_ydata(), [0.5, 0.6])
    band = ax.collections[0].get_paths()[0].vertices
    for number, low, high in ((10, 0.175, 0.425), (20, 0.65, 0.9)):
        ends = band[band[:, 0] == number, 1]
        np.testing.assert_allclose([ends.min(), ends.max()], [low, high])
    assert ax.get_ylabel() == "NMI" and "middle half" in ax.get_xlabel()
    single = plotting.plot_scores({"KP": np.array([[10, 0.3], [20, 0.4]])}, axes())
    assert not single.collections and single.get_xlabel() == "number of links"
    assert plotting.plot_scores(LinkCurve("ari", curve), axes()).get_ylabel() == "ari"


def test_a_path_is_drawn_in_order_with_bounds_and_values_without_an_answer():
    x, side = cp.Variable(name="x"), cp.Parameter(name="side", value=1.0)
    problem = cl.wrap(cp.Problem(cp.Minimize(cp.square(x)), [x >= 1, x <= side]))
    path = problem.path("side", [3.0, 0.5, 2.0])
    ax = plotting.plot_path(path, axes())
    optima, none = ax.lines
    assert list(optima.get_xdata()) == [2, 3] and list(none.get_xdata()) == [0.5]
    np.testing.assert_allclose(optima.get_ydata(), 1, atol=1e-5)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["optimum", "no answer: INFEASIBLE"]
    assert ax.get_xlabel().startswith("side\nband: certified bounds, at most") and ax.get_xscale() == "linear"
    wide = plotting.plot_path(cl.SRCP(*tied_graph()).path("mu", [0.01, 1.0]), axes())
    assert wide.get_xscale() == "log"
    band = wide.collections[0].get_paths()[0].vertices
    assert band[:, 0].min() == 0.01 and band[:, 0].max() == 1
    with pytest.raises(cl.InvalidInput, match="plot_path takes a path"):
        plotting.plot_path([1, 2])


def tied_graph():
    return cl.Graph.rbf(random_points(10, 2), sigma=1.0), cl.Links(10, must=[(0, 1)], cannot=[(0, 2)])


# ---------------------------------------------------------------------- multipliers


@pytest.fixture(scope="module")
def tied() -> cl.PCP:
    """Two cannot-links that say the same once must-linked points are one, and one that stands alone."""
    links = cl.Links(10, must=[(0, 1), (2, 3)], cannot=[(0, 2), (1, 3), (4, 5)])
    return cl.PCP(cl.Graph.rbf(random_points(10, 2), sigma=1.0), links)


def bars(ax) -> dict[str, float]:
    names = [text.get_text() for text in ax.get_yticklabels()]
    lengths = {round(bar.get_y() + bar.get_height() / 2): bar.get_width() for bar in ax.patches}
    return {name: lengths[k] for k, name in enumerate(names)}


def test_a_bar_is_the_change_of_the_optimum(tied):
    """Bars against finite differences of the optimum, all alike links being moved together."""
    drawn = bars(plotting.plot_duals(tied.solve(), ax=axes()))
    assert set(drawn) == {"cannot 0–2 and 1 alike", "cannot 4–5"}

    def optimum(moved, u):
        values = np.where(moved, u, 0.0)

        def written(K, must, cannot):
            return {"unit": [K[i, i] == 1 for i in range(10)], "must": K[must[0], must[1]] == 1,
                    "cannot": K[cannot[0], cannot[1]] == values}  # fmt: skip

        return RewrittenPCP(tied, written).solve(accuracy=1e-9, strict=False).value

    h = 1e-3
    for name, moved in (("cannot 0–2 and 1 alike", [True, True, False]), ("cannot 4–5", [False, False, True])):
        change = (optimum(moved, h) - optimum(moved, -h)) / (2 * h)
        assert drawn[name] == pytest.approx(abs(change), rel=1e-3)


def test_must_links_that_force_points_together_are_left_out_however_they_were_solved(tied):
    reference = bars(plotting.plot_duals(tied.solve(), ax=axes()))
    printed = tied.solve(solver="CLARABEL", form="paper", presolve=False, strict=False)
    ax = plotting.plot_duals(printed, ax=axes())
    assert "left out: 2 must-links" in ax.get_xlabel()
    for name, length in bars(ax).items():
        assert length == pytest.approx(reference[name], rel=1e-2)


def test_bars_are_the_largest_multipliers_in_order(small_iris):
    X, y = small_iris
    links = cl.Links.sample(y, n_links=30, random_state=0)
    kernel = cl.Graph.rbf(X, sigma=0.5).kernel()
    solution = cl.MinKL(kernel, links, must_bound=0.1, cannot_bound=0.5, jitter="smallest").solve()
    ax = plotting.plot_duals(solution, k=7, ax=axes())
    by_name = {f"must {i}–{j}": v for (i, j), v in zip(links.must, solution.duals["must"], strict=True)}
    by_name |= {f"cannot {i}–{j}": v for (i, j), v in zip(links.cannot, solution.duals["cannot"], strict=True)}
    wanted = sorted(by_name, key=lambda name: -abs(by_name[name]))[:7]
    drawn = bars(ax)
    assert list(drawn) == wanted
    np.testing.assert_allclose(list(drawn.values()), [abs(by_name[name]) for name in wanted])
    assert ax.yaxis_inverted()  # the largest is at the top
    assert "7 largest of 30" in ax.get_xlabel() and "left out" not in ax.get_xlabel()
    numbers = [float(text.get_text().replace("−", "-")) for text in ax.texts]
    np.testing.assert_allclose(numbers, [by_name[name] for name in wanted], rtol=0.06)


def test_links_without_multipliers_are_an_error(small_pcp):
    with pytest.raises(cl.InvalidInput, match="this SRCP solution has no multipliers of links; PCP, KP"):
        plotting.plot_duals(cl.SRCP(small_pcp.graph, small_pcp.links).solve(), ax=axes())
    only_must = cl.PCP(small_pcp.graph, cl.Links(30, must=[(0, 1)])).solve()
    with pytest.raises(cl.InvalidInput, match="no link has a multiplier"):
        plotting.plot_duals(only_must, ax=axes())


# ---------------------------------------------------------------------- the overview


@pytest.mark.parametrize(
    ("method", "title"), [("KP", "learnt kernel"), ("CSC", "feature"), ("SRCP", "learnt affinity"), ("GFHF", "feature")]
)
def test_the_overview_shows_what_the_method_yields(method, title, small_pcp, small_iris, tmp_path, monkeypatch):
    X, y = small_iris
    figures = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda f, *a, **o: figures.append(f) or save(f, *a, **o))
    labels = cl.sample_labels(y, per_class=2, random_state=0)
    solution = cl.methods()[method].make(small_pcp.graph, small_pcp.links, labels, 3).solve()
    path = plotting.save_overview(tmp_path / "picture", X, small_pcp.links, solution, solution.cluster(3))
    assert path == tmp_path / "picture.png" and path.read_bytes().startswith(b"\x89PNG")
    titles = [ax.get_title() for ax in figures[0].axes if ax.get_title()]
    assert len(titles) == 3 and titles[1].startswith(title)
    assert titles[2] == f"clusters, {len(plotting.points.broken_links(small_pcp.links, solution.cluster(3)))} of " + (
        f"{len(small_pcp.links)} links broken"
    )


def test_the_overview_of_many_points_has_no_heat_map(small_pcp, small_iris, tmp_path, monkeypatch):
    monkeypatch.setattr("cvxlink.plotting.overview.MOST_POINTS", 29)
    X, y = small_iris
    srcp = cl.SRCP(small_pcp.graph, small_pcp.links).solve()
    for solution, panels in ((small_pcp.solve(), 3), (srcp, 2)):
        figures = []
        monkeypatch.setattr(Figure, "savefig", lambda f, *a, kept=figures, **o: kept.append(f))
        plotting.save_overview(tmp_path / "x.pdf", X, None, solution, y)
        assert len(figures[0].axes) == panels and not any(ax.images for ax in figures[0].axes)


def test_pictures_that_cannot_be_saved_say_why(small_iris, tmp_path):
    X, y = small_iris
    for name in ("no/folder.png", "picture.nonsense"):
        with pytest.raises(cl.InvalidInput, match="cannot be (saved|written)"):
            plotting.save_overview(tmp_path / name, X, None, np.eye(30), y)


# ---------------------------------------------------------------------- all of them


def calls(X, y, solved):
    links = solved.problem.links
    found = cl.optimal_clustering(cl.KMeans(X, links, 3))
    return {
        "plot_clusters": (X, y),
        "plot_links": (X, links),
        "plot_embedding": (solved,),
        "plot_kernel": (solved,),
        "plot_affinity": (solved,),
        "plot_spectrum": (solved,),
        "plot_convergence": (solved,),
        "plot_scores": ({"KP": [(1, 0.5)]},),
        "plot_duals": (solved,),
        "plot_path": (cl.SRCP(solved.problem.graph, solved.problem.links).path("mu", [0.1, 0.2]),),
        "plot_tree": (found,),
        "plot_performance_profile": ({"one": [1.0, 2.0], "other": [2.0, np.inf]},),
        "plot_data_profile": ({"one": [1.0, 2.0], "other": [2.0, np.inf]},),
        "plot_time_against_gap": ({"one": [(1.0, 1e-6)], "other": [(2.0, 1e-3)]},),
        "plot_critical_differences": ({"one": 1.2, "other": 1.8, "third": 3.0}, 1.0),
        "plot_rounds": (found,),
    }


def test_every_plot_draws_with_pyplot_and_into_a_bare_figure(small_iris, solved):
    from matplotlib import pyplot

    every = calls(*small_iris, solved)
    assert set(every) == {name for name in plotting.__all__ if name.startswith("plot_")}
    for name, arguments in every.items():
        own = axes()
        drawn = getattr(plotting, name)(*arguments, ax=own, title="a title")
        assert drawn is own and own.get_title() == "a title"
        new = getattr(plotting, name)(*arguments)
        new.figure.canvas.draw()
        assert new.figure.number in pyplot.get_fignums()
        pyplot.close(new.figure)


def test_every_plot_says_how_to_get_matplotlib(monkeypatch, small_iris, solved):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for name, arguments in calls(*small_iris, solved).items():
        with pytest.raises(cl.MissingDependency, match=r"cvxlink\[plot\]"):
            getattr(plotting, name)(*arguments)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda s, X: plotting.plot_links(X, cl.Links(4), axes()), "30 points, but the links are on 4"),
        (lambda s, X: plotting.plot_links(X, [(0, 1)], axes()), "links are a list; give Links"),
        (lambda s, X: plotting.plot_links(X, cl.Links(30), np.zeros(30)), "ax must be matplotlib Axes, not ndarray"),
        (lambda s, X: plotting.plot_links(X, cl.Links(30), axes(), labels=[0]), "1 labels for 30 points"),
        (lambda s, X: plotting.plot_kernel(X, ax=axes()), "must be square and not empty; its shape is"),
        (lambda s, X: plotting.plot_kernel(np.triu(np.ones((3, 3))), ax=axes()), "not symmetric"),
        (lambda s, X: plotting.plot_kernel(s, [0, 1], axes()), "2 labels for 30 points of the matrix K"),
        (lambda s, X: plotting.plot_embedding(X, ax=axes()), "takes a solution, not ndarray"),
        (lambda s, X: plotting.plot_affinity(X, ax=axes()), "takes a solution, not ndarray"),
        (lambda s, X: plotting.plot_spectrum(-np.eye(3), axes()), "no positive eigenvalues"),
        (lambda s, X: plotting.plot_convergence({}, axes()), "no solutions to draw"),
        (lambda s, X: plotting.plot_convergence([s], axes()), "takes solutions, one or several by name, not list"),
        (lambda s, X: plotting.plot_duals(s, k=0, ax=axes()), "k must be at least 1"),
        (lambda s, X: plotting.plot_duals(X, ax=axes()), "takes a solution, not ndarray"),
        (lambda s, X: plotting.plot_scores([(1, 2)], axes()), "pairs .number of links, score. by name"),
        (lambda s, X: plotting.plot_scores({"KP": [1, 2]}, axes()), "the curve of 'KP' must be pairs"),
        (lambda s, X: plotting.plot_scores({"KP": [(1, np.nan)]}, axes()), "some that are not finite"),
        (lambda s, X: plotting.plot_scores({"KP": []}, axes()), "the curve of 'KP' has no scores"),
    ],
)
def test_wrong_arguments_are_told_in_a_sentence(draw, message, solved, small_iris):
    with pytest.raises(cl.InvalidInput, match=message):
        draw(solved, small_iris[0])


def test_a_method_without_a_kernel_says_what_to_draw_instead(small_pcp):
    solution = cl.SRCP(small_pcp.graph, small_pcp.links).solve()
    for draw in (plotting.plot_kernel, plotting.plot_spectrum):
        with pytest.raises(cl.InvalidInput, match="no kernel.*plot_affinity"):
            draw(solution, ax=axes())


def test_names_of_clusters_are_shown_as_they_are_written(small_iris, tmp_path):
    X, y = small_iris
    names = np.array([r"$\frac{", "a\x1b[31m", "_$x$"])[y]
    ax = plotting.plot_clusters(X, names, ax=Figure().subplots())
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown == [r"cluster \$\frac{", r"cluster _\$x\$", r"cluster a\x1b[31m"]
    plotting.save_overview(tmp_path / "x.png", X, None, np.eye(30), names)
