r"""
Why the textbook SDP is slow
============================

Pairwise constraint propagation (PCP) is one line of mathematics: the smoothest kernel
over a graph that maps every point to the unit sphere, must-linked points to the same
place, and cannot-linked points at right angles,

.. math::

    \min_K\ \langle \bar L, K\rangle \quad\text{s.t.}\quad K_{ii} = 1,\quad
    K_{ij} = 1 \text{ on } \mathcal M,\quad K_{ij} = 0 \text{ on } \mathcal C,\quad
    K \succeq 0 .

Typed into a modelling language it is five lines of Python, and it goes wrong: solvers
take long, fail, or return numbers whose last digits are wrong. This page finds the
reason by hand on two and three points, watches it at work on Iris, removes it in two
steps, and ends with the question of how to know that the answer is right at all.

You need what a first course in convex optimisation teaches: semidefinite matrices,
Lagrange duality, Slater's condition. All timings below are those of the machine that
ran this page; run the script to get your own.
"""

import os
import warnings
from textwrap import fill
from time import perf_counter

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import cvxlink as cl

QUICK = bool(os.environ.get("CVXLINK_QUICK"))
warnings.filterwarnings(
    "ignore", message="Solution may be inaccurate"
)  # we will see by how much


def show(result, indent):
    """Print in lines of at most 88 characters."""
    for line in str(result).splitlines():
        print(fill(line, 88, subsequent_indent=indent * " "))


# %%
# Two points and one must-link
# ----------------------------
# Take two points joined by an edge and must-link them. All of PCP is then a program in
# one unknown,
#
# .. math::
#
#     \min_{K_{12}}\ 2 - 2 K_{12} \quad\text{s.t.}\quad K_{12} = 1,\quad
#     \begin{pmatrix} 1 & K_{12} \\ K_{12} & 1 \end{pmatrix} \succeq 0 .
#
# The matrix is semidefinite for :math:`-1 \le K_{12} \le 1`. So the feasible set is a
# single point, the matrix of ones, and it lies on the boundary of the cone: its
# eigenvalues are 2 and 0. Slater's condition asks for a feasible matrix that is
# positive *definite*. There is none. Two things follow at once.
#
# *Feasibility hangs by a thread.* Ask for :math:`K_{12} = 1 + \varepsilon` with any
# :math:`\varepsilon > 0`, a rounding error for instance, and there is no feasible point
# at all.
#
# *Multipliers run away.* The dual maximises :math:`y_1 + y_2 + m` over
# :math:`S = \bar L - \operatorname{Diag}(y) - m E_{12} \succeq 0`, with :math:`m` the
# multiplier of the must-link and :math:`\langle E_{12}, K\rangle = K_{12}`. With
# :math:`y_1 = y_2 = -t` and :math:`m = 2t` the slack is
# :math:`S = (1 + t)\,(e_1 - e_2)(e_1 - e_2)^\top`, semidefinite, and the dual value is
# 0, which is optimal, for *every* :math:`t \ge -1`:

L_two = np.array([[1.0, -1.0], [-1.0, 1.0]])
columns = f"{'least eigenvalue of S':>22} {'largest':>9}"
print(f"{'multiplier m':>12} {'dual value':>11} {columns}")
for t in (0.0, 1.0, 100.0, 1e4):
    S = L_two - np.diag([-t, -t]) - 2 * t * np.array([[0.0, 0.5], [0.5, 0.0]])
    least, largest = np.linalg.eigvalsh(S)
    print(f"{2 * t:12g} {-2 * t + 2 * t:11g} {least:22.1e} {largest:9.1e}")

# %%
# The set of optimal multipliers is a half-line, and this was to be expected. Where the
# equations are independent, Slater's condition holds if and only if the set of optimal
# multipliers is bounded and not empty. Here it is unbounded; with a third point it will
# be empty.
#
# Three points: a dual without a solution
# ---------------------------------------
# Keep the must-link between points 1 and 2, add a point 3 that is cannot-linked to 2,
# and let the only edge of the graph join 1 and 3. So 1 is pulled towards 3, but tied to
# 2, which has to stay at right angles to 3. Write
# :math:`K_{ij} = \varphi_i^\top \varphi_j` with unit vectors. The must-link says
# :math:`\varphi_1 = \varphi_2`, hence :math:`K_{13} = K_{23} = 0`, and the objective
# :math:`\langle \bar L, K\rangle = 2 - 2K_{13}` is 2. Again there is nothing to choose.
#
# Now the dual, seen as a function of the multiplier :math:`m` of the must-link alone.
# Without that constraint the best :math:`\varphi_1` lies in the plane of the
# orthonormal pair :math:`\varphi_2, \varphi_3`, at an angle :math:`\theta` from
# :math:`\varphi_2`, and
#
# .. math::
#
#     d(m) = \min_\theta\ 2 - 2 \sin\theta + m\,(1 - \cos\theta)
#     = 2 + m - \sqrt{m^2 + 4} \ \approx\ 2 - \frac{2}{m},
#
# with the minimum at :math:`\tan\theta = 2/m`. The supremum is 2, as it should be, and
# no :math:`m` attains it. Do not take the formula on trust: below are a kernel and
# multipliers for each angle. They are optimal for their :math:`m` because
# :math:`S \succeq 0` and :math:`SK = 0`.

W = np.zeros((3, 3))
W[0, 2] = W[2, 0] = 1
three = cl.PCP(cl.Graph.from_affinity(W), cl.Links(3, must=[(0, 1)], cannot=[(1, 2)]))


def kernel_at(theta):
    """Return the kernel of three points with the first at an angle from the second."""
    vectors = np.array([[np.cos(theta), np.sin(theta)], [1, 0], [0, 1]])
    return vectors @ vectors.T


def multipliers_at(theta):
    """Return the multipliers, by constraint, for which that kernel is best."""
    unit = [
        1 - 1 / np.sin(theta),
        -(np.cos(theta) ** 2) / np.sin(theta),
        1 - np.sin(theta),
    ]
    return {"unit": unit, "must": [2 / np.tan(theta)], "cannot": [-2 * np.cos(theta)]}


print(
    f"{'m':>9} {'dual value':>12} {'2 − 2/m':>12} {'λmin(S)':>9} {'‖SK‖':>9} {'‖S‖':>9}"
)
for theta in (1.0, 0.1, 0.01, 0.001):
    y = multipliers_at(theta)
    m, z = y["must"][0], y["cannot"][0]
    links = np.array([[0, m, 0], [m, 0, z], [0, z, 0]]) / 2
    S = three.L.toarray() - np.diag(y["unit"]) - links
    least, product = np.linalg.eigvalsh(S)[0], np.linalg.norm(S @ kernel_at(theta))
    values = f"{m:9.2f} {sum(y['unit']) + m:12.6f} {2 - 2 / m:12.6f}"
    print(f"{values} {least:9.0e} {product:9.0e} {np.linalg.norm(S):9.1e}")

# %%
# To come within :math:`\delta` of the optimum, the multiplier has to be about
# :math:`2/\delta`. An interior-point method follows the central path towards a primal
# and a dual solution at the same time; here its dual half walks off to infinity, the
# linear systems become as ill-conditioned as ``‖S‖`` is large, and rounding stops it.
#
# A violation of ε is an error of √ε
# ----------------------------------
# Multipliers are sensitivities: they say how the optimal value moves with the
# right-hand side. Infinite ones say that it does not move linearly. Loosen the
# must-link to :math:`K_{12} = 1 - \varepsilon`, which is
# :math:`\cos\theta = 1 - \varepsilon`; then
#
# .. math::
#
#     v(\varepsilon) = 2 - 2\sin\theta = 2 - 2\sqrt{2\varepsilon - \varepsilon^2} .
#
# Moving a must-link by :math:`10^{-8}`, which a solver with a tolerance of
# :math:`10^{-8}` is entitled to do, moves the value by :math:`3 \cdot 10^{-4}`. The
# square root is geometry: an inner product of :math:`1 - \varepsilon` is an angle of
# :math:`\sqrt{2\varepsilon}`. So it should show up in real instances, too. We type PCP
# into CVXPY, with must-links at :math:`1 - \varepsilon`, and measure the exponent on
# the three points and on a part of Iris.


def textbook(problem, slip=0.0):
    """Return PCP as typed from the paper, must-links loosened by slip, and its K."""
    K = cp.Variable((problem.graph.n, problem.graph.n), symmetric=True)
    (i, j), (k, h) = problem.links.must.T, problem.links.cannot.T
    rules = [cp.diag(K) == 1, K[i, j] == 1 - slip, K[k, h] == 0, K >> 0]
    return cp.Problem(
        cp.Minimize(cp.sum(cp.multiply(problem.L.toarray(), K))), rules
    ), K


def drops(problem, slips):
    """Return by how much the optimum falls if must-links are loosened."""
    optimum = problem.solve(accuracy=1e-8).value
    return np.array(
        [
            optimum - textbook(problem, slip)[0].solve(solver="CLARABEL")
            for slip in slips
        ]
    )


def exponent(slips, drop):
    """Return the slope in logarithms."""
    return np.polyfit(np.log(slips), np.log(drop), 1)[0]


def iris(step, n_neighbors, per_class=2):
    """Return PCP on every step-th point of Iris."""
    X, y = cl.datasets.load("iris")
    graph = cl.Graph.knn(X[::step], n_neighbors=n_neighbors)
    return cl.PCP(
        graph, cl.Links.sample(y[::step], per_class=per_class, random_state=1)
    )


slips = np.logspace(-6, -4, 3 if QUICK else 7)
instances = {"three points": three, "Iris, 30 points": iris(5, 5)}
measured = {name: drops(problem, slips) for name, problem in instances.items()}
for name, drop in measured.items():
    print(f"{name:16} optimum falls like ε^{exponent(slips, drop):.3f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.6), layout="constrained")
m = np.logspace(0, 4, 50)
left.loglog(m, np.sqrt(m**2 + 4) - m, label=r"$2 - d(m)$")
left.loglog(m, 2 / m, "k:", label=r"$2/m$")
left.set(xlabel="multiplier m of the must-link", ylabel="distance to the optimum")
left.set_title("the dual arrives at infinity", fontsize=11)
for (name, drop), marker in zip(measured.items(), "os", strict=True):
    right.loglog(slips, drop, marker, label=name)
formula = r"$2\sqrt{2\varepsilon - \varepsilon^2}$"
right.loglog(slips, 2 * np.sqrt(2 * slips - slips**2), "k:", label=formula)
right.set(xlabel="must-links loosened by ε", ylabel="fall of the optimum")
right.set_title("a violation of ε is worth √ε", fontsize=11)
left.legend()
right.legend()
plt.show()

# %%
# Iris, as printed
# ----------------
# Now the program as printed, ``slip=0``, on a part of Iris, by Clarabel, a good
# interior-point code, at its own tolerances of :math:`10^{-8}`. We keep the clock, and
# compare with the optimum from the end of this page.

problem = iris(5, 5) if QUICK else iris(3, 8)
optimum = problem.solve(accuracy=1e-8).certificate
program, K = textbook(problem)
start = perf_counter()
program.solve(solver="CLARABEL")
seconds = perf_counter() - start
must, cannot = len(problem.links.must), len(problem.links.cannot)
print(f"{problem.graph.n} points, {must} must-links, {cannot} cannot-links")
print(f"Clarabel says  {program.status}: {program.value:.8f} in {seconds:.2f} s")
print(f"true optimum   between {optimum.lower_bound:.8f} and {optimum.upper_bound:.8f}")
print(f"least eigenvalue of its K {np.linalg.eigvalsh(K.value)[0]:.1e}")

# %%
# The reported value is *below* the optimum although the kernel looks feasible.
# Minimisation pushes a solver into exactly those violations that pay most.
#
# First step: contraction
# -----------------------
# Where does the thread come from on which feasibility hangs? For a must-link
#
# .. math::
#
#     (e_i - e_j)^\top K (e_i - e_j) = K_{ii} + K_{jj} - 2K_{ij} = 0 ,
#
# and for :math:`K \succeq 0` this means :math:`K e_i = K e_j`. Every feasible :math:`K`
# is constant on the *blocks*, the components of the must-links:
# :math:`K = P K' P^\top`, with :math:`P` the 0/1 matrix that maps :math:`n` points to
# :math:`c` blocks. Those matrices form a face of the cone, the smallest one with all
# feasible points in it. Moving the program onto that face is called *facial reduction*.
# In general each step of it takes an auxiliary semidefinite program. Here the links
# name the face:
#
# .. math::
#
#     \min_{K'}\ \langle P^\top \bar L P, K'\rangle \quad\text{s.t.}\quad
#     K'_{aa} = 1,\quad K'_{ab} = 0 \text{ on } \mathcal C',\quad K' \succeq 0 .
#
# Now :math:`K' = I` is feasible and positive definite. Slater's condition is back:
# multipliers exist, they are bounded, the central path is where it should be. As a
# matrix of order :math:`n` this kernel, :math:`PP^\top`, is singular like all the
# others; what changed is the space in which one looks for room around it. (If a
# cannot-link lies within a block, there is no solution, and this is known before any
# solver is called.)

P = np.eye(problem.links.n_blocks)[problem.links.blocks]
rank = np.linalg.matrix_rank(P @ P.T)
print(
    f"{P.shape[0]} points, {P.shape[1]} blocks; K' = I stands for PPᵀ, of rank {rank}"
)

# %%
# Second step: the dual
# ---------------------
# The contracted program still has :math:`c(c+1)/2` unknowns, though only
# :math:`c + |\mathcal C'|` equations. Its dual has one unknown for each equation:
#
# .. math::
#
#     \max_{y, z}\ \mathbf 1^\top y \quad\text{s.t.}\quad
#     P^\top \bar L P - \operatorname{Diag}(y)
#     - \sum_{(a,b) \in \mathcal C'} z_{ab} E_{ab} \succeq 0 .
#
# Modelling languages put programs into a standard form in which every unknown of a
# *matrix variable* is an unknown of the solver. Typing in the dual does not change the
# mathematics, since Slater's condition holds and both optima are attained and equal,
# and :math:`K'` comes back as the multiplier of the matrix inequality. It changes the
# size of the linear system in each iteration. Moreover the slack is as sparse as the
# graph, which some solvers use.
#
# Four ways to hand over one program
# ----------------------------------
# With and without contraction, primal and dual: ``form`` and ``presolve`` of ``solve``.
# Two solvers that come with cvxlink, at their own tolerances: Clarabel, an
# interior-point method, and SCS, a first-order method, which we stop after some
# thousand iterations. The column *gap* is not their own claim: it is the distance
# between a proven lower and a proven upper bound, divided by 1 + \|value\|. The
# smallest gap of each solver is marked.

STAGES = {
    "as printed": {"form": "paper", "presolve": False},
    "contracted": {"form": "paper", "presolve": True},
    "dual": {"form": "dual", "presolve": False},
    "both": {"form": "dual", "presolve": True},
}
OPTIONS = {"CLARABEL": {}, "SCS": {"max_iters": 1000 if QUICK else 10000}}


def outcome(solver, stage):
    """Return the solution at one of the four stages, as good as it is."""
    options = {"accuracy": None, "solver_options": OPTIONS[solver], "strict": False}
    return problem.solve(solver=solver, **options, **STAGES[stage])


runs = [(solver, stage) for solver in OPTIONS for stage in STAGES]
results = {run: outcome(*run) for run in runs}
best = {
    solver: min(results[solver, stage].certificate.relative_gap for stage in STAGES)
    for solver in OPTIONS
}
columns = f"{'value':>11} {'violation':>10} {'gap':>8}"
print(f"{'solver':9} {'stage':11} {'unknowns':>8} {'seconds':>8} {columns}")
for (solver, stage), s in results.items():
    c, unknowns = s.certificate, s.plan.program.sizes.unknowns
    print(
        f"{solver:9} {stage:11} {unknowns:8} {s.timings.total:8.2f} {s.value:11.7f} "
        f"{c.largest_violation:10.0e} {c.relative_gap:8.0e}"
        f"{' *' if c.relative_gap == best[solver] else ''}"
    )

# %%
# Read the table by columns. *Unknowns* fall a little by contraction and a lot by
# dualising. *Violation* does not tell good answers from bad ones. *Gap* does:
# contraction makes it many times smaller with either solver, while dualising alone is
# quick and wrong in the third or fourth digit, since an ill-posed program has an
# ill-posed dual. *Seconds*: a solver that factorises systems in the unknowns, as
# Clarabel does, needs both steps to be fast and right; SCS, which does not, gains
# nearly everything by contraction. Look also at SCS on the printed program: a
# first-order method has no central path to lose, but its convergence rests on a dual
# solution as well, and there is none.

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for solver, colour in zip(OPTIONS, ("C0", "C1"), strict=True):
    for stage, marker in zip(STAGES, "Xs^o", strict=True):
        s = results[solver, stage]
        seconds, gap = s.timings.total, s.certificate.relative_gap
        style = {"color": colour, "markersize": 9, "label": f"{solver}, {stage}"}
        ax.loglog(seconds, gap, marker, **style)
ax.set(xlabel="seconds, including compilation", ylabel="certified relative gap")
ax.set_title("fast and right is at the lower left")
ax.set_xlim(left=0.01)
ax.xaxis.set_minor_formatter(plt.NullFormatter())
ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %%
# The story of sizes
# ------------------
# An interior-point method that treats :math:`N` unknowns as a dense system pays
# :math:`N^3` operations per iteration and :math:`8N^2` bytes. The quadratic growth of
# :math:`c(c+1)/2` therefore becomes sixth powers. With one link for every five points
# and three classes:


def unknowns(n):
    """Return the unknowns at each of the four stages."""
    links = cl.Links.sample(np.arange(n) % 3, n_links=n // 5, random_state=0)
    c = links.n_blocks
    return (
        n * (n + 1) // 2,
        c * (c + 1) // 2,
        n + len(links),
        c + len(links.block_cannot),
    )


sizes = np.array([10, 30, 100, 300, 1000, 3000])
counts = np.array([unknowns(n) for n in sizes])
print(f"{'':53}   {'MB of a dense system':>25}")
stages = " ".join(f"{stage:>11}" for stage in STAGES)
print(f"{'n':>5} {stages}   {'as printed':>14} {'both':>10}")
for n, row in zip(sizes, counts, strict=True):
    first, last = (8 * float(count) ** 2 / 1e6 for count in (row[0], row[-1]))
    cells = " ".join(f"{count:11}" for count in row)
    print(f"{n:5} {cells}   {first:14,.1f} {last:10,.1f}")

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for stage, column, marker in zip(STAGES, counts.T, "Xs^o", strict=True):
    ax.loglog(sizes, column, marker + "-", label=stage)
ax.set(xlabel="points", ylabel="unknowns", title="what the solver is given")
ax.legend()
plt.show()

# %%
# Small violations, and how to be sure
# ------------------------------------
# How could one have noticed? Solvers stop when three numbers are small: the violation
# of the primal constraints, that of the dual ones, and the difference between the two
# objectives. Take the kernel of three points at the angle :math:`\theta`. It satisfies
# everything but the must-link, which it misses by
# :math:`\varepsilon = 1 - \cos\theta \approx \theta^2/2`. Pair it with the multipliers
# of another angle, :math:`\theta' = 2\arctan(\sin\theta)`. These are feasible for the
# dual, and as :math:`d = 2 - 2\tan(\theta'/2)`, the two objectives agree exactly. All
# three numbers are at most :math:`\varepsilon`. The optimum is 2.

columns = f"{'value':>10} {'lower bound':>12} {'upper bound':>12}"
print(f"{'violation':>9} {'difference':>11} {'⟨K, S⟩':>8} {columns}")
for theta in (0.1, 0.01, 0.001, 0.0001):
    y = multipliers_at(2 * np.arctan(np.sin(theta)))
    c = cl.certify(three, {"K": kernel_at(theta)}, y)
    print(
        f"{c.largest_violation:9.0e} {abs(c.dimacs[4]):11.0e} {c.dimacs[5]:8.0e} "
        f"{c.value:10.6f} {c.lower_bound:12.6f} {c.upper_bound:12.6f}"
    )

# %%
# A violation of :math:`5 \cdot 10^{-9}`, no gap at all, and the value is off by
# :math:`2 \cdot 10^{-4}`. (The third column is the last of the six DIMACS errors,
# complementarity. It is the only one that notices, and few solvers look at it.) A pair
# of *bounds* does not mislead: neither of them relies on the solver.
#
# *From below.* Take any multipliers, with the slack :math:`S` on the blocks. As every
# feasible :math:`K'` has the trace :math:`c`,
#
# .. math::
#
#     \langle C, K'\rangle = b^\top y + \langle S, K'\rangle
#     \ \ge\ b^\top y + c \min(0, \lambda_{\min}(S)) .
#
# *From above.* A kernel that is nearly feasible is made exactly feasible: averaged over
# blocks, projected onto the equations, mixed with the identity until it is
# semidefinite. The identity can do that because of contraction: before, no feasible
# matrix had any room around it. The value of the repaired kernel is an upper bound on
# the optimum, and its distance from the lower bound is the *gap* of this page. Here is
# the whole certificate of the worst and of the best of the eight answers on Iris:

ranked = sorted(results, key=lambda key: results[key].certificate.relative_gap)
for key in (ranked[-1], ranked[0]):
    print(*key, sep=", ")
    show(results[key].certificate, 15)
    print()

# %%
# Exercises
# ---------
# 1. *When is the dual attained?* Give the three points another graph, with an edge
#    between 2 and 3 as well, of the same weight as that between 1 and 3. Does the value
#    still move like the square root of :math:`\varepsilon`? *Hint:* :math:`K_{23} = 0`
#    is fixed, so that edge costs a constant. What if the edge is between 1 and 2
#    instead?
# 2. *Links that are redundant.* Must-link a, b and c by two links, then add the third.
#    Contraction gives the same program. What happens to the dimension of the set of
#    multipliers of the printed program? *Hint:* which combinations of rows vanish on
#    all matrices :math:`P K' P^\top`?
# 3. *Soft must-links.* Replace :math:`K_{ij} = 1` by :math:`K_{ij} \ge 1 - \delta` with
#    :math:`\delta = 0.1`. Why may one no longer contract, and why is there no need to?
#    *Hint:* find a positive definite feasible matrix, for instance by mixing
#    :math:`PP^\top` with the identity.
