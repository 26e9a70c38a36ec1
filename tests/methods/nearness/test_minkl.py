from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from helpers.graphs import random_points


def prior(n=10, seed=0, sigma=1.0) -> np.ndarray:
    return cl.Graph.rbf(random_points(n, seed=seed), sigma).kernel()


LINKS = cl.Links(10, must=[(0, 1), (2, 3), (4, 9)], cannot=[(0, 5), (6, 7)])


def divergence(K, K_bar):
    """Twice the Kullback-Leibler divergence of N(0, K̄) from N(0, K), plus n."""
    return -np.linalg.slogdet(K_bar)[1] + np.linalg.slogdet(K)[1] + np.trace(np.linalg.solve(K, K_bar))


def columns(links):
    """The vectors u, one a link."""
    U = np.zeros((links.n, len(links)))
    for r, (i, j) in enumerate([*links.must, *links.cannot]):
        U[i, r], U[j, r] = 1, -1 if r < len(links.must) else 1
    return U


def hard(K=None, links=LINKS, must=0.05, cannot=0.4, **options):
    return cl.MinKL(prior() if K is None else K, links, must_bound=must, cannot_bound=cannot, **options)


def soft(K=None, links=LINKS, must=0.3, cannot=0.5, **options):
    return cl.MinKL(prior() if K is None else K, links, must_noise=must, cannot_noise=cannot, **options)


class TestBounds:
    def test_one_link_has_a_closed_form(self):
        # K̄ = K − c vvᵀ with v = Ku, and c such that uᵀK̄u = α.
        K, links = prior(), cl.Links(10, must=[(0, 1)])
        u = columns(links)[:, 0]
        g = u @ K @ u
        solution = cl.MinKL(K, links, must_bound=g / 4).solve(accuracy=1e-8)
        v = K @ u
        np.testing.assert_allclose(solution.kernel, K - (g - g / 4) / g**2 * np.outer(v, v), atol=1e-8)
        # λ = 1/α − 1/g, and the value is n + log(1 + λg) − λα.
        np.testing.assert_allclose(solution.duals["must"], [-3 / g], rtol=1e-6)
        assert solution.value == pytest.approx(10 + np.log(4) - 3 / 4, abs=1e-8)

    @pytest.mark.parametrize("seed", range(3))
    def test_the_conditions_of_karush_kuhn_and_tucker(self, seed):
        K = prior(seed=seed)
        problem = hard(K)
        solution = problem.solve(accuracy=1e-7)
        U, K_bar = columns(LINKS), solution.kernel
        multipliers = -np.concatenate([solution.duals["must"], solution.duals["cannot"]])
        slack = np.repeat([0.05, 0.4], [3, 2]) - np.diag(U.T @ K_bar @ U)
        assert multipliers.min() >= 0 and slack.min() > -1e-9
        assert abs(multipliers * slack).max() < 1e-6
        np.testing.assert_allclose(np.linalg.inv(K_bar), np.linalg.inv(K) + (U * multipliers) @ U.T, atol=1e-5)
        assert solution.value == pytest.approx(divergence(K, K_bar), abs=1e-10)
        assert solution.certificate.relative_gap < 1e-7 and solution.status is cl.Status.OPTIMAL

    def test_multipliers_are_the_change_of_the_optimum(self):
        K, h = prior(), 1e-4
        solution = hard(K).solve(accuracy=1e-8)
        for kind in ("must", "cannot"):
            pairs = getattr(LINKS, kind)
            for r in range(len(pairs)):
                values = []
                for sign in (1, -1):
                    bound = np.full(len(pairs), 0.05 if kind == "must" else 0.4)
                    bound[r] += sign * h
                    values.append(hard(K, **{kind: bound}).solve(accuracy=1e-8).value)
                assert solution.duals[kind][r] == pytest.approx((values[0] - values[1]) / (2 * h), rel=1e-3, abs=1e-5)

    def test_a_bound_that_holds_already_changes_nothing(self):
        solution = hard().solve(accuracy=1e-8)
        free = next((0, j) for j in range(1, 10) if (0, j) not in map(tuple, [*LINKS.must, *LINKS.cannot]))
        K_bar = solution.kernel
        now = K_bar[0, 0] + K_bar[free[1], free[1]] - 2 * K_bar[free]
        more = cl.Links(10, [*map(tuple, LINKS.must), free], LINKS.cannot)
        bounds = {tuple(map(int, pair)): 0.05 for pair in LINKS.must} | {free: 1.01 * now}
        again = hard(links=more, must=bounds).solve(accuracy=1e-8)
        np.testing.assert_allclose(again.kernel, K_bar, atol=1e-6)
        assert again.value == pytest.approx(solution.value, abs=1e-7)
        place = [tuple(pair) for pair in more.must].index(free)
        assert again.duals["must"][place] == pytest.approx(0, abs=1e-5)

    def test_bounds_that_all_hold_leave_the_prior(self):
        solution = hard(must=100.0, cannot=100.0).solve(accuracy=1e-8)
        np.testing.assert_allclose(solution.kernel, prior(), atol=1e-6)
        assert solution.value == pytest.approx(10, abs=1e-6)  # no divergence
        assert abs(solution.duals["must"]).max() < 1e-6

    @pytest.mark.parametrize("count", [1, 12, 45, 60])
    def test_more_links_than_points_and_contradictions(self, count):
        rng = np.random.default_rng(count)
        pairs = np.array([(i, j) for i in range(10) for j in range(i)])
        must = pairs[rng.permutation(45)[: (count + 1) // 2]]
        links = cl.Links(10, must, pairs[rng.permutation(45)[: count // 2]])
        problem = hard(links=links, must=0.02, cannot=0.03)
        solution = problem.solve()
        assert solution.status is cl.Status.OPTIMAL and solution.certificate.relative_gap < 1e-7
        lengths = np.diag(columns(links).T @ solution.kernel @ columns(links))
        assert (lengths <= np.repeat([0.02, 0.03], [len(links.must), len(links.cannot)]) + 1e-8).all()

    @pytest.mark.parametrize("bound", [1e-2, 1e-5, 1e-8])
    def test_tight_bounds(self, bound):
        solution = hard(must=bound, cannot=bound).solve()
        assert solution.status is cl.Status.OPTIMAL and solution.certificate.relative_gap < 1e-6

    def test_bounds_that_drown_in_rounding_are_refused(self):
        for options, least in (({"must_bound": 1e-12}, "1e-10"), ({"must_noise": 1e-7}, "1e-05")):
            with pytest.raises(cl.InvalidInput, match=f"cannot be told from zero beside a kernel.*at least {least}"):
                cl.MinKL(prior(), cl.Links(10, LINKS.must), **options)
        # What is tight depends on the kernel.
        cl.MinKL(1e-6 * prior(), cl.Links(10, LINKS.must), must_bound=1e-12)

    @pytest.mark.parametrize("scale", [1e-6, 1.0, 1e7])
    @pytest.mark.parametrize("level", [1.1e-10, 1e-7, 1e-3])
    def test_certificates_at_the_edge_of_rounding(self, scale, level):
        pairs = [(i, j) for i in range(4) for j in range(i)]
        K = scale * (np.eye(4) + 0.3)
        # Every pair of four points: the three directions of differences have variance g/2 each, g = 2·scale.
        soft = cl.MinKL(K, cl.Links(4, pairs), must_noise=np.sqrt(1.3 * scale * level)).solve()
        optimum = 4 + 3 * np.log1p(4 * scale / (1.3 * scale * level))  # the Laplacian of K₄ has the eigenvalue 4
        assert soft.certificate.lower_bound <= optimum + 1e-12 <= soft.certificate.upper_bound + 1e-11
        assert soft.status is cl.Status.OPTIMAL
        hard = cl.MinKL(K, cl.Links(4, pairs), must_bound=1.3 * scale * level).solve()
        # All bounds bind: the three variances shrink from scale to a/2, so n + 3(log(2·scale/a) + a/(2·scale) − 1).
        ratio = 1.3 * level / 2
        optimum = 4 + 3 * (-np.log(ratio) + ratio - 1)
        assert hard.certificate.lower_bound <= optimum + 1e-12 <= hard.certificate.upper_bound + 1e-11
        assert hard.status is cl.Status.OPTIMAL

    def test_multipliers_too_large_to_evaluate_give_no_bound(self):
        problem = hard(np.eye(4) + 0.3, cl.Links.from_labels(np.zeros(4, dtype=int)))
        certificate = cl.certify(problem, {"K": problem.prior}, {"must": np.full(6, -1e16)})
        assert certificate.lower_bound is None and "too large" in certificate.basis

    def test_the_dual_bound_holds_for_any_multipliers(self):
        problem, rng = hard(), np.random.default_rng(0)
        solution = problem.solve(accuracy=1e-8)
        for size in (1e-3, 1.0, 30.0):
            for _ in range(10):
                duals = {k: -size * rng.exponential(size=len(getattr(LINKS, k))) for k in ("must", "cannot")}
                certificate = cl.certify(problem, {"K": solution.kernel}, duals)
                assert certificate.lower_bound <= solution.value + 1e-9
        # A kernel that breaks a bound has an upper bound all the same: a smaller multiple of it is feasible.
        prior_itself = cl.certify(problem, {"K": problem.prior}, solution.duals)
        assert prior_itself.value == pytest.approx(10) and prior_itself.upper_bound > solution.value
        assert prior_itself.violations["must"] > 0.1 and not prior_itself.holds(1e-2)
        assert cl.certify(problem, {"K": solution.kernel}).lower_bound is None
        assert cl.certify(problem, {"K": -np.eye(10)}, solution.duals).value == np.inf
        with pytest.raises(cl.InvalidInput, match="3 multipliers of 'must'"):
            cl.certify(problem, {"K": solution.kernel}, {"must": [1.0], "cannot": [0.0, 0.0]})

    def test_against_the_program_typed_by_hand(self):
        K, links = prior(), LINKS
        K_bar = cp.Variable((10, 10), symmetric=True)
        squares = [columns(links)[:, r] for r in range(5)]
        bounds = np.repeat([0.05, 0.4], [3, 2])
        program = cp.Problem(
            cp.Minimize(-cp.log_det(K_bar) + cp.trace(np.linalg.inv(K) @ K_bar)),
            [cp.sum(cp.multiply(np.outer(u, u), K_bar)) <= b for u, b in zip(squares, bounds, strict=True)],
        )
        program.solve(solver="CLARABEL")
        solution = hard(K).solve()
        assert solution.value == pytest.approx(program.value + np.linalg.slogdet(K)[1], abs=1e-5)
        np.testing.assert_allclose(solution.kernel, K_bar.value, atol=1e-4)

    def test_limits_progress_and_history(self, capsys):
        solution = hard().solve(time_limit=1e-9, strict=False)
        assert solution.status is cl.Status.LIMIT
        solution = hard().solve(verbose=True)
        assert "violation" in capsys.readouterr().out
        assert len(solution.history) == solution.iterations + 1 and solution.history[-1] < 1e-6


class TestNoise:
    def test_it_is_the_posterior_covariance(self):
        # Equation (1), with M written out entry by entry (c_i where the poster has c_j).
        K, M = prior(), np.zeros((10, 10))
        for i, j in LINKS.must:
            M[i, i] += 1 / 0.3**2
            M[j, j] += 1 / 0.3**2
            M[i, j] = M[j, i] = -1 / 0.3**2
        for i, j in LINKS.cannot:
            M[i, i] += 1 / 0.5**2
            M[j, j] += 1 / 0.5**2
            M[i, j] = M[j, i] = 1 / 0.5**2
        K_bar = soft(K).solve().kernel
        np.testing.assert_allclose(K_bar, np.linalg.inv(np.linalg.inv(K) + M), atol=1e-9)
        np.testing.assert_allclose(K_bar, K - K @ np.linalg.inv(np.eye(10) + M @ K) @ M @ K, atol=1e-9)

    def test_it_is_the_covariance_of_samples_after_conditioning(self):
        # Independent route: the joint Gaussian of f and its noisy observations, conditioned on these being zero.
        K, U = prior(), columns(LINKS)
        noise = np.diag(np.repeat([0.3**2, 0.5**2], [3, 2]))
        conditioned = K - K @ U @ np.linalg.inv(U.T @ K @ U + noise) @ U.T @ K
        np.testing.assert_allclose(soft(K).solve().kernel, conditioned, atol=1e-12)

    def test_it_is_the_penalised_program(self):
        problem, rng = soft(), np.random.default_rng(0)
        solution = problem.solve()
        U, weights = columns(LINKS), np.repeat([0.3**-2, 0.5**-2], [3, 2])

        def penalised(K_bar):
            return divergence(prior(), K_bar) + weights @ np.diag(U.T @ K_bar @ U)

        assert solution.value == pytest.approx(penalised(solution.kernel), abs=1e-9)
        assert solution.certificate.gap == pytest.approx(0, abs=1e-9)
        for size in (1e-3, 1e-1):
            A = size * rng.standard_normal((10, 10))
            assert penalised(solution.kernel + A @ A.T) > solution.value
            assert cl.certify(problem, {"K": solution.kernel + A @ A.T}).lower_bound <= solution.value + 1e-9

    def test_bounds_at_what_noise_reached_give_the_same_kernel(self):
        # The soft optimum solves the hard program whose bounds it attains, with multipliers 1/ε².
        K_bar = soft().solve().kernel
        reached = np.diag(columns(LINKS).T @ K_bar @ columns(LINKS))
        solution = hard(must=reached[:3], cannot=reached[3:]).solve(accuracy=1e-8)
        np.testing.assert_allclose(solution.kernel, K_bar, atol=1e-6)
        np.testing.assert_allclose(-solution.duals["must"], 0.3**-2, rtol=1e-4)
        np.testing.assert_allclose(-solution.duals["cannot"], 0.5**-2, rtol=1e-4)

    def test_much_noise_is_no_observation(self):
        np.testing.assert_allclose(soft(must=1e6, cannot=1e6).solve().kernel, prior(), atol=1e-9)


class TestAlgorithms:
    def test_algorithm_a_takes_all_links_at_once(self):
        for problem in (hard(), soft()):
            solution = problem.solve()
            np.testing.assert_array_equal(solution.affinity_for(2), np.maximum(solution.kernel, 0))
            np.testing.assert_array_equal(solution.affinity, solution.affinity_for(2))

    def test_algorithm_b_takes_cannot_links_one_at_a_time(self):
        A = np.random.default_rng(0).standard_normal((10, 12))
        K = A @ A.T / 12  # with entries of both signs, which a cannot-link may raise
        for build, names in ((soft, ("must_noise", "cannot_noise")), (hard, ("must_bound", "cannot_bound"))):
            problem = build(K)
            must = {names[0]: getattr(problem, names[0])}
            K_m = cl.MinKL(K, cl.Links(10, LINKS.must), **must).solve(accuracy=1e-8).kernel
            each = [
                cl.MinKL(K_m, cl.Links(10, cannot=[pair]), **{names[1]: getattr(problem, names[1])})
                .solve(accuracy=1e-8)
                .kernel
                for pair in LINKS.cannot
            ]
            expected = np.maximum(0, np.min(each, axis=0))
            np.testing.assert_allclose(problem.solve().affinity_for(3), expected, atol=1e-7)

    def test_the_number_of_clusters_chooses_and_can_be_overruled(self):
        auto, a, b = (soft(algorithm=which).solve() for which in ("auto", "A", "B"))
        np.testing.assert_array_equal(auto.affinity_for(3), b.affinity_for(3))
        np.testing.assert_array_equal(b.affinity_for(2), b.affinity_for(3))
        np.testing.assert_array_equal(a.affinity_for(3), a.affinity_for(2))
        assert abs(a.affinity_for(3) - b.affinity_for(3)).max() > 1e-3
        for solution, k, which in ((auto, 2, a), (auto, 3, b)):
            expected = cl.clustering.spectral(which.affinity_for(k), k, random_state=0)
            np.testing.assert_array_equal(solution.cluster(k, random_state=0), expected)
        with pytest.raises(cl.InvalidInput, match="algorithm must be"):
            soft(algorithm="C")

    def test_without_cannot_links_they_are_the_same(self):
        links = cl.Links(10, LINKS.must)
        solution = cl.MinKL(prior(), links, must_noise=0.2).solve()
        np.testing.assert_array_equal(solution.affinity_for(5), solution.affinity_for(2))

    def test_cannot_links_alone(self):
        links = cl.Links(10, cannot=LINKS.cannot)
        for solution in (
            cl.MinKL(prior(), links, cannot_noise=0.2).solve(),
            cl.MinKL(prior(), links, cannot_bound=0.2).solve(),
        ):
            assert solution.affinity_for(3).shape == (10, 10)


class TestKernels:
    def test_one_that_is_not_definite_is_refused_with_how_much_is_missing(self):
        K = prior() - 0.5 * np.eye(10)
        least = np.linalg.eigvalsh(K)[0]
        with pytest.raises(cl.InvalidInput, match=f"least eigenvalue is {least:.3g}.*jitter='smallest'"):
            hard(K)
        problem = hard(K, jitter="smallest")
        eigenvalues = np.linalg.eigvalsh(problem.prior)
        assert 0 < eigenvalues[0] < 1.1e-10 * eigenvalues[-1]  # the smallest that does
        assert problem.added_jitter == pytest.approx(-least, rel=1e-6)
        assert f"jitter {problem.added_jitter:.2e} on the diagonal" in str(problem.explain())
        assert problem.solve().status is cl.Status.OPTIMAL
        with pytest.raises(cl.InvalidInput, match="not positive definite"):
            hard(K, jitter=-least / 2)
        assert hard(K, jitter=-2 * least).added_jitter == -2 * least

    def test_no_jitter_is_added_where_none_is_needed(self):
        problem = hard(jitter="smallest")
        assert problem.added_jitter == 0 and "jitter" not in str(problem.explain())
        np.testing.assert_allclose(problem.prior, prior(), atol=1e-15)

    def test_points_that_coincide(self):
        X = random_points(10)
        X[3] = X[2]
        K = cl.Graph.rbf(X, 1.0).kernel()
        with pytest.raises(cl.InvalidInput, match="not positive definite"):
            hard(K)
        solution = hard(K, jitter="smallest").solve()
        assert solution.status is cl.Status.OPTIMAL
        assert solution.kernel[2, 2] == pytest.approx(solution.kernel[3, 3], abs=1e-6)

    def test_bad_kernels_and_bad_arguments(self):
        K = prior()
        skewed = K.copy()
        skewed[0, 1] += 0.1
        for kernel, words in (
            (K[:5], "must have the shape"),
            (K[:5, :5], "must have the shape"),
            (skewed, "not symmetric"),
            (np.full((10, 10), np.nan), "NaN"),
            (K + 0j, "complex"),
            (cl.Graph.rbf(random_points(10)), r"graph.kernel\(\)"),
            (np.zeros((10, 10)), "zero everywhere"),
        ):
            with pytest.raises(cl.InvalidInput, match=words):
                hard(kernel)
        for options, words in (
            ({}, "there are 3 must-links; say how closely they hold: must_bound=… or must_noise=…"),
            ({"must_bound": 0.1}, "there are 2 cannot-links; say how closely they hold: cannot_bound=…"),
            ({"must_noise": 0.1}, "cannot_noise=…"),
            ({"must_bound": 0.1, "cannot_noise": 0.1}, "not both"),
            ({"must_bound": 0.0, "cannot_bound": 0.1}, "must_bound must be positive"),
            ({"must_noise": 1.0, "cannot_noise": -1.0}, "cannot_noise must be positive"),
            ({"must_bound": {(0, 1): 0.1}, "cannot_bound": 0.1}, r"no number for the link \(2, 3\)"),
            (
                {"must_bound": {(0, 2): 0.1}, "cannot_bound": 0.1},
                r"has a number for \(0, 2\), which is not one of these links",
            ),
            ({"must_noise": 1e300, "cannot_noise": 1.0}, "at most 1e[+]50"),
            ({"must_bound": 0.1, "cannot_bound": 0.1, "jitter": "much"}, "jitter must be"),
            ({"must_bound": 0.1, "cannot_bound": 0.1, "jitter": -1.0}, "jitter must be zero or more"),
        ):
            with pytest.raises(cl.InvalidInput, match=words):
                cl.MinKL(K, LINKS, **options)
        with pytest.raises(cl.InvalidInput, match="takes a kernel and Links"):
            cl.MinKL(K, [(0, 1)], must_bound=0.1)

    def test_no_links_leave_the_prior(self):
        for options in ({}, {"must_bound": 1.0}, {"cannot_noise": 1.0}):
            problem = cl.MinKL(prior(), cl.Links(10), **options)
            np.testing.assert_allclose(problem.solve().kernel, prior(), atol=1e-15)
            assert problem.solve().value == pytest.approx(10)
            assert problem.solve(solver="CLARABEL").value == pytest.approx(10, abs=1e-4)


def test_routes_and_forms():
    assert hard().routes == ("dual",) and soft().routes == ("closed-form",)
    assert hard().forms == soft().forms == ("logdet",)
    with pytest.raises(cl.FormUnavailable, match=r"no form 'dual'.*'dual' is a route, solve\(route='dual'\)"):
        hard().solve(form="dual")
    with pytest.raises(cl.FormUnavailable, match="it has a closed form"):
        soft().solve(route="dual")
    with pytest.raises(cl.FormUnavailable, match="it has bounds"):
        hard().solve(route="closed-form")
    with pytest.raises(cl.SolverUnavailable, match=r"SDPA cannot take.*can: (?!.*SDPA)(?!.*CVXOPT).*CLARABEL, SCS"):
        hard().solve(solver="SDPA")
    assert "solver CLARABEL" in str(hard().explain(form="logdet"))
    large = cl.MinKL(prior(50), cl.Links(50), jitter="smallest")
    assert "solver SCS" in str(large.explain(form="logdet"))


def test_the_program_as_it_prints():
    assert "-log |K̄|/|K| + tr(K⁻¹ K̄)" in str(hard()) and "K̄ᵢᵢ + K̄ⱼⱼ - 2 K̄ᵢⱼ ≤ αᵢⱼ" in str(hard())
    assert "Σ" in str(soft()) and "subject to" not in str(soft())
