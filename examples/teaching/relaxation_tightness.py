r"""
How tight is the relaxation
===========================

A clustering that respects the links is a point of PCP: with indicators :math:`Y`, a
column for each cluster, its kernel :math:`YY^\top` is 1 within clusters and 0 between
them, has a unit diagonal, and is semidefinite. PCP minimises
:math:`\langle \bar L, K\rangle` over all kernels that share these properties, so it is
a *relaxation*: it drops the demand that :math:`K` be the kernel of a clustering, and
becomes convex. Three numbers are then in order,

.. math::

    \text{bound} \ \le\ \min_{Y}\ \langle \bar L, YY^\top\rangle
    \ \le\ \langle \bar L, \hat Y\hat Y^\top\rangle ,

the certified bound of the relaxation, the optimum over clusterings, and the value of
the clustering :math:`\hat Y` that one makes of the optimal kernel (by kernel k-means,
for instance), which is called *rounding*. The first and the third are known. The second
is out of reach except for a dozen points, where one can see how much each of the two
steps loses. This page counts all clusterings of small sets, shows by hand where the
relaxation is tight and where it is not, and then turns to two relaxations of another
kind, one of which is always exact.
"""

import os
from functools import cache

import matplotlib.pyplot as plt
import numpy as np

import cvxlink as cl

QUICK = bool(os.environ.get("CVXLINK_QUICK"))

# %%
# All clusterings
# ---------------
# Number the clusters by first appearance: the first point is in cluster 0, every other
# one in a cluster that is there already or in the next new one. Each partition of the
# points is then written in exactly one way. How many there are is the Stirling number
# of the second kind: the last point is either alone, or joins one of :math:`k` clusters
# of the others,
#
# .. math:: S(n, k) = S(n-1, k-1) + k\,S(n-1, k) .


@cache
def partitions(n, k):
    """Return all partitions of n points into exactly k clusters, one row each."""
    rows = np.zeros((1, 1), dtype=int)
    for _ in range(n - 1):
        choices = np.minimum(rows.max(axis=1) + 2, k)
        rows = np.repeat(rows, choices, axis=0)
        last = np.arange(len(rows)) - np.repeat(np.cumsum(choices) - choices, choices)
        rows = np.column_stack([rows, last])
    return rows[rows.max(axis=1) == k - 1]


def stirling(n, k):
    """Return the number of partitions of n points into k clusters."""
    if n == 0 or k == 0:
        return int(n == k)
    return stirling(n - 1, k - 1) + k * stirling(n - 1, k)


print(f"{'n':>3} {'k':>3} {'listed':>7} {'S(n, k)':>8}")
for n, k in ((4, 2), (8, 3), (10, 3), (10, 5) if QUICK else (12, 3)):
    print(f"{n:3} {k:3} {len(partitions(n, k)):7} {stirling(n, k):8}")

# %%
# Links reduce their number. Must-linked points move together, so blocks are partitioned
# instead of points, and only partitions that separate cannot-linked blocks remain. With
# a single cannot-link on :math:`c` blocks these are :math:`S(c, k) - S(c-1, k)`, since
# the partitions that break it are those in which the two blocks are one.


def clusterings(links, k):
    """Return the clusterings into exactly k clusters that respect the links."""
    rows = partitions(links.n_blocks, k)
    a, b = links.block_cannot.T
    return rows[(rows[:, a] != rows[:, b]).all(axis=1)][:, links.blocks]


def costs(L, labels):
    """Return ⟨L, YYᵀ⟩ for each row of labels: the sum over pairs within a cluster."""
    i, j = L.nonzero()
    pairs = zip(i, j, L[i, j], strict=True)
    return sum(cost * (labels[:, a] == labels[:, b]) for a, b, cost in pairs)


def cheapest(problem, k=None):
    """Return the optimum over clusterings into k clusters, or into any number."""
    numbers = range(1, problem.links.n_blocks + 1) if k is None else [k]
    listed = [clusterings(problem.links, number) for number in numbers]
    return min(costs(problem.L, labels).min() for labels in listed if len(labels))


one_link = cl.Links(8, must=[(0, 1)], cannot=[(0, 5)])
print(len(clusterings(one_link, 3)), "=", stirling(7, 3), "−", stirling(6, 3))

# %%
# Where it is tight
# -----------------
# Look at the objective by its edges. Off the diagonal
# :math:`\bar L_{ij} = -w_{ij}/\sqrt{d_i d_j} \le 0`, and entries of a semidefinite
# matrix with a unit diagonal are at most 1, so
#
# .. math::
#
#     \langle \bar L, K\rangle \ \ge\ \langle \bar L, \mathbf 1\mathbf 1^\top\rangle ,
#
# with equality as soon as :math:`K_{ij} = 1` on all edges. Therefore: *if some
# clustering that respects the links keeps every edge of the graph within a cluster, the
# relaxation is tight, and that clustering is optimal.* Without cannot-links it is the
# clustering with a single cluster: tight, and useless. PCP does not know how many
# clusters are wanted! Only cannot-links keep its points apart. A less trivial case is a
# graph with several components and all cannot-links between different ones. Three
# triangles:

triangles = cl.Graph.from_affinity(np.kron(np.eye(3), np.ones((3, 3)) - np.eye(3)))
apart = cl.PCP(triangles, cl.Links(9, cannot=[(0, 3), (3, 6), (0, 6)]))
solution = apart.solve(accuracy=1e-7)
print(f"the best of three clusters costs {cheapest(apart, 3):.6f}; rounding:")
print(solution.relaxation_gap(solution.cluster(3, random_state=0)))

# %%
# Where it is not: the pentagon
# -----------------------------
# Five points on a ring. Everybody likes both neighbours, but these two cannot stand
# each other: edges :math:`(i, i+1)`, cannot-links :math:`(i, i+2)`. Let us do it by
# hand, with :math:`L = D - W` (the graph is regular, so :math:`\bar L = L/2`), where
# :math:`\langle L, K\rangle = 10 - 2 \sum_i K_{i,i+1}`.
#
# *Clusterings.* Three points always include a cannot-link, so clusters have one or two
# members. Two disjoint edges fit onto the ring, but not three: the optimum is
# :math:`10 - 2 \cdot 2 = 6`, with three clusters.
#
# *Relaxation.* Averaging a feasible kernel over the rotations of the ring changes
# neither feasibility nor value, so some optimal kernel is a circulant matrix: 1 on the
# diagonal, :math:`x` between neighbours, 0 elsewhere. Its eigenvalues are
# :math:`1 + 2x\cos(2\pi k/5)`; the smallest is that for :math:`k = 2`, and it is
# nonnegative as long as :math:`x \le 1/(2\cos(\pi/5)) = (\sqrt 5 - 1)/2`. The optimum
# is :math:`10 - 5(\sqrt 5 - 1) = 3.82`, far below 6. The five vectors stand like the
# ribs of an umbrella. This is Lovász's umbrella: with it he found the capacity of the
# pentagon, and odd cycles are also the classical bad instances of the relaxation of the
# maximum cut.

i = np.arange(5)
W = np.zeros((5, 5))
W[i, (i + 1) % 5] = W[(i + 1) % 5, i] = 1
ring = cl.Graph.from_affinity(W)
pentagon = cl.PCP(
    ring, cl.Links(5, cannot=np.column_stack([i, (i + 2) % 5])), normalized=False
)
solution = pentagon.solve(accuracy=1e-8)
by_hand = 10 - 5 * (np.sqrt(5) - 1)
print(f"bound       {solution.certificate.lower_bound:.6f}, by hand {by_hand:.6f}")
print(f"clusterings {cheapest(pentagon):.6f}, by hand 6")
print(solution.kernel.round(3))

# %%
# And where it is as loose as you like
# ------------------------------------
# A path of :math:`m` edges whose ends are cannot-linked. A clustering has to cut some
# edge, which costs 2. The relaxation need not cut. It has to turn by a right angle on
# the way from one end to the other, and turns by :math:`\pi/2m` in every step:
#
# .. math::
#
#     2m\,\bigl(1 - \cos\tfrac{\pi}{2m}\bigr) \ \approx\ \frac{\pi^2}{4m} \ \to\ 0 .
#
# (That equal steps are best is Jensen's inequality: :math:`1 - \cos` is convex between
# 0 and a right angle, and angles on the sphere satisfy the triangle inequality.) No
# constant bounds the ratio of the two optima: a bound of 0.1 says little about
# clusterings of a long path. The remedy is in the same formula. Links in between
# shorten the path.


def path(m):
    """Return PCP on a path of m edges with its ends apart."""
    W = np.diag(np.ones(m), 1)
    return cl.PCP(
        cl.Graph.from_affinity(W + W.T),
        cl.Links(m + 1, cannot=[(0, m)]),
        normalized=False,
    )


print(f"{'edges':>5} {'bound':>9} {'by hand':>9} {'clusterings':>12}")
for m in (1, 2, 4, 7):
    bound = path(m).solve(accuracy=1e-7).certificate.lower_bound
    by_hand = 2 * m * (1 - np.cos(np.pi / 2 / m))
    print(f"{m:5} {bound:9.5f} {by_hand:9.5f} {cheapest(path(m)):12.5f}")

# %%
# Random instances: what links buy
# --------------------------------
# Instances met in practice lie between these extremes. Take points around three
# centres, a graph of nearest neighbours, and more and more links, drawn from the true
# classes. For each instance four numbers: the bound, the best clustering into any
# number of clusters, the best one into three, and the rounded one, also into three.

N_POINTS, N_INSTANCES = (7, 3) if QUICK else (10, 30)
N_LINKS = (2, 4, 8, 16) if QUICK else (3, 6, 12, 24)


def random_points(rng):
    """Return points around three centres, and the classes."""
    y = np.arange(N_POINTS) % 3
    centres = np.array([[0, 0], [3, 0], [1.5, 3]])
    return rng.standard_normal((N_POINTS, 2)) + centres[y], y


def four_numbers(rng, n_links):
    """Return bound, optimum, optimum for three clusters, and rounded value.

    The last is NaN where rounding breaks a link.
    """
    X, y = random_points(rng)
    links = cl.Links.sample(y, n_links=n_links, random_state=rng)
    problem = cl.PCP(cl.Graph.knn(X, n_neighbors=4), links)
    solution = problem.solve(accuracy=1e-7)
    # Three clusters, even if some points share a place.
    three = cl.clustering.kernel_kmeans(solution.kernel, 3, random_state=0, n_init=5)
    rounded = solution.relaxation_gap(three)
    value = rounded.value if rounded.feasible else np.nan
    return rounded.bound, cheapest(problem), cheapest(problem, 3), value


rng = np.random.default_rng(0)
found = {
    q: np.array([four_numbers(rng, q) for _ in range(N_INSTANCES)]) for q in N_LINKS
}
print(f"{N_INSTANCES} instances of {N_POINTS} points")
print("medians over the instances in which rounding respects the links")
print("links respected   bound   any k   k = 3 rounded  tight  rounding optimal")
for q, numbers in found.items():
    respected = np.isfinite(numbers[:, 3])
    bound, any_k, three, rounded = numbers[respected].T
    medians = " ".join(
        f"{np.median(column):7.3f}" for column in (bound, any_k, three, rounded)
    )
    tight, optimal = np.mean(three - bound < 1e-5), np.mean(rounded - three < 1e-9)
    print(f"{q:5} {respected.mean():9.0%} {medians} {tight:6.0%} {optimal:17.0%}")

figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.8), layout="constrained")
for q, numbers in found.items():
    left.plot(numbers[:, 0], numbers[:, 2], "o", alpha=0.6, label=f"{q} links")
ends = [0, max(numbers[:, 2].max() for numbers in found.values())]
left.plot(ends, ends, "k:", label="tight")
left.set(xlabel="certified bound", ylabel="optimum over three clusters")
left.set_title("no point is below the line", fontsize=10)
left.legend(fontsize=8)
places = np.arange(len(N_LINKS))
relaxing = [numbers[:, 2] - numbers[:, 0] for numbers in found.values()]
rounding = [
    (numbers[:, 3] - numbers[:, 2])[np.isfinite(numbers[:, 3])]
    for numbers in found.values()
]
for losses, shift, colour in ((relaxing, -0.2, "C0"), (rounding, 0.2, "C1")):
    style = {"boxprops": {"color": colour}, "medianprops": {"color": colour}}
    right.boxplot(losses, positions=places + shift, widths=0.3, **style)
right.set_xticks(places, N_LINKS)
right.set(xlabel="links", ylabel="loss")
right.set_title("loss by relaxing (blue) and rounding (orange)", fontsize=10)
plt.show()

# %%
# With few links most of the loss comes from the unknown number of clusters: the optimum
# over *any* number is much nearer to the bound than the one over three. Links then
# tighten both steps at once. Each cannot-link removes clusterings, so the optimum
# rises, but the bound rises faster; and as the kernel comes near to that of a
# clustering, rounding has less to decide. In the end hardly more than one clustering is
# left. In practice, where enumeration is impossible, the certificate still gives
# rounded minus bound. This is the sum of both losses, so it bounds each of them.
#
# CSC: a relaxation that is exact
# -------------------------------
# Constrained spectral clustering looks for a cut :math:`f`, a real number for each
# point, that is cheap and satisfies the links to the degree :math:`\beta`,
#
# .. math::
#
#     \min_f\ f^\top \bar L f \quad\text{s.t.}\quad f^\top \bar Q f \ge \beta,\quad
#     f^\top f = 1,\quad f \perp D^{1/2}\mathbf 1 .
#
# It is not convex: the sphere is not, and :math:`\bar Q` is indefinite. Write :math:`X`
# for :math:`ff^\top`, and drop the demand that its rank be one:
#
# .. math::
#
#     \min_X\ \langle \bar L, X\rangle \quad\text{s.t.}\quad
#     \langle \bar Q, X\rangle \ge \beta,\quad \operatorname{tr} X = 1,\quad
#     X \succeq 0 \quad\text{on the complement of } D^{1/2}\mathbf 1 .
#
# *Nothing is lost.* An extreme point of a spectrahedron cut out by :math:`m` linear
# constraints has a rank :math:`r` with :math:`r(r+1)/2 \le m` (Barvinok, Pataki). The
# reason fits into one line: on the face of an :math:`X` of rank :math:`r` there are
# :math:`r(r+1)/2` dimensions to move in, and if the constraints do not use them up, one
# can move both ways. Here :math:`m = 2`, so :math:`r = 1`, and a linear objective is
# minimal at some extreme point. For PCP the same count allows a rank of about
# :math:`\sqrt{2(n + |\mathcal C|)}`, and the kernel of the pentagon has rank 3.

X, y = random_points(np.random.default_rng(3))
graph = cl.Graph.rbf(X, sigma=1.5)
cut = cl.CSC(graph, cl.Links.sample(y == 0, n_links=6, random_state=0), fraction=0.6)
search = cut.solve()
relaxation = cut.equivalents["sdp"].solve(solver="CLARABEL", accuracy=1e-7)
lower = search.certificate.lower_bound
print(f"search over one multiplier {search.value:.8f}, at least {lower:.8f}")
print(f"relaxation                 {relaxation.value:.8f}, rank {relaxation.rank}")

# %%
# One can see it. Every :math:`f` on the sphere has a satisfaction and a cost: a point
# in the plane. The points of the relaxation are the convex hull of these. For four
# points the sphere is an ordinary one, of dimension two, in the complement of
# :math:`D^{1/2}\mathbf 1`. Its image is drawn below, and it *is* convex already, by a
# theorem of Brickman on two quadratic forms on a sphere of dimension two or more. Both
# programs look for the lowest point on or to the right of the line.

four = cl.Graph.from_affinity([[0, 3, 1, 0], [3, 0, 1, 1], [1, 1, 0, 2], [0, 1, 2, 0]])
small = cl.CSC(four, cl.Links(4, must=[(0, 3)], cannot=[(0, 1)]), fraction=0.6)
best = small.solve(accuracy=1e-8)
complement = np.linalg.svd(four.trivial_cut[None])[2][1:]
directions = np.random.default_rng(0).standard_normal((2000 if QUICK else 20000, 3))
f = directions / np.linalg.norm(directions, axis=1, keepdims=True) @ complement
cost = ((f @ four.laplacian().toarray()) * f).sum(axis=1)
satisfaction = ((f @ small.Q.toarray()) * f).sum(axis=1)
feasible = satisfaction >= small.threshold
print(f"best of {feasible.sum()} random feasible cuts {cost[feasible].min():.4f}")
print(f"best of all cuts {best.value:.4f}")

figure, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
dots = {"markersize": 2, "color": "#9ecae1", "rasterized": True}
ax.plot(satisfaction, cost, ".", **dots, label="cuts")
ax.axvline(small.threshold, color="black", linestyle=":", label=r"$\beta$")
place = best.measures["satisfaction"], best.value
ax.plot(*place, "o", color="C3", label="the cheapest that satisfies β")
ax.set(xlabel=r"satisfaction $f^\top \bar Q f$", ylabel=r"cost $f^\top \bar L f$")
ax.set_title("two quadratic forms on a sphere")
ax.legend()
plt.show()

# %%
# It is exact for the program in real numbers. But a cut :math:`f` is not yet a
# clustering; its signs make it one. That is another relaxation, which came first.
#
# Normalised cuts: the Fantope
# ----------------------------
# The normalised cut of a clustering, the sum over clusters of the weight that leaves
# them divided by their degrees, is :math:`\langle \bar L, X\rangle` with
# :math:`X = D^{1/2}Y(Y^\top D Y)^{-1}Y^\top D^{1/2}`, a projection of rank :math:`k`.
# The convex hull of all projections of rank :math:`k` is the Fantope,
# :math:`0 \preceq X \preceq I`, :math:`\operatorname{tr} X = k`, and the relaxation has
# a solution in closed form: the sum of the :math:`k` smallest eigenvalues of
# :math:`\bar L`. Unlike PCP, it knows :math:`k`, but it knows no links. How good is it?


def normalised_cuts(graph, labels):
    """Return the normalised cut of each row of labels."""
    clusters = np.arange(labels.max() + 1)[:, None]
    members = (labels[:, None, :] == clusters).astype(float)
    within = ((members @ graph.W.toarray()) * members).sum(axis=2)
    return (1 - within / (members @ graph.degrees)).sum(axis=1)


rng = np.random.default_rng(1)
rows = []
for _ in range(N_INSTANCES):
    X, _ = random_points(rng)
    problem = cl.NCuts(cl.Graph.knn(X, n_neighbors=4), n_clusters=3)
    solution = problem.solve()
    rounded = solution.relaxation_gap(solution.cluster(random_state=0))
    least = normalised_cuts(problem.graph, partitions(N_POINTS, 3)).min()
    rows.append([rounded.bound, least, rounded.value])
bound, exact, rounded = np.array(rows).T
ratio = bound / exact
middle = np.median(ratio)
print(f"bound / optimum: {min(ratio):.2f} to {max(ratio):.2f}, median {middle:.2f}")
hit = np.mean(rounded - exact < 1e-9)
print(f"rounding finds the optimum in {hit:.0%} of the instances")

figure, ax = plt.subplots(figsize=(5.5, 4.2), layout="constrained")
ax.plot(bound, exact, "o", label="best clustering")
ax.plot(bound, rounded, "x", color="C1", label="rounded")
ax.plot([0, max(exact)], [0, max(exact)], "k:", label="tight")
ax.set(xlabel="sum of the three smallest eigenvalues", ylabel="normalised cut")
ax.set_title("normalised cuts and their bound")
ax.legend()
plt.show()

# %%
# The bound is too low by a tenth or a quarter, and yet rounding is mostly right: a
# relaxation may be a poor estimate of the optimum and still a good guide to the optimal
# point. Which of the two is needed depends on the use. Branch and bound needs the
# first, clustering the second.
#
# Exercises
# ---------
# 1. *Longer rings.* Compute by hand the bound for a ring of seven points with
#    cannot-links :math:`(i, i+2)` and :math:`(i, i+3)`, and the best clustering. What
#    happens to the ratio for rings of :math:`2j + 1` points with all pairs but
#    neighbours cannot-linked? *Hint:* the kernel is circulant again, and the smallest
#    eigenvalue is :math:`1 - 2x\cos(\pi/(2j+1))`.
# 2. *Negative entries.* Kernels of clusterings are not negative. Add
#    :math:`K_{ij} \ge 0` for all pairs to the program (subclass ``cl.PCP``, override
#    ``constraints``), and see how much of the gap closes on the random instances. Does
#    the pentagon notice? *Hint:* look at the kernel that was printed for it.
# 3. *Counting with links.* How many clusterings into :math:`k` clusters respect
#    cannot-links that form a triangle on :math:`c` blocks? *Hint:* for a single
#    cannot-link it was :math:`S(c,k) - S(c-1,k)`; apply this to one link after the
#    other, and check with ``clusterings``.
