"""
Why not type it into CVXPY
==========================

Switch the reductions off and watch. A must-link makes every feasible kernel singular,
so the printed program has no strictly feasible point. Solvers then return answers that
look feasible to eight digits and are wrong in the fourth. The certificate says so.
"""

import os
from textwrap import fill

import matplotlib.pyplot as plt

import cvxlink as cl

quick = "CVXLINK_QUICK" in os.environ
X, y = cl.datasets.load("iris")
X, y = X[::5], y[::5]
links = cl.Links.sample(y, per_class=2, random_state=1)
problem = cl.PCP(cl.Graph.knn(X, n_neighbors=5), links)
for line in str(problem.explain()).splitlines():
    print(fill(line, 88, subsequent_indent="   "))

# %%
# There are three ways to hand the same program to a solver: the dual and the primal
# form after the reductions, and the program as it is printed. For the last one each
# solver gets only a few seconds, because some would take minutes. The smallest gap of
# each solver is marked.

WAYS = {
    "dual, reduced": ("dual", True),
    "paper, reduced": ("paper", True),
    "paper, as printed": ("paper", False),
}
SOLVERS = ("CLARABEL",) if quick else ("CLARABEL", "CVXOPT", "SDPA", "SCS")


def solved(solver, form, presolve):
    """Return the answer of a solver, good or bad."""
    limit = None if presolve else 1 if quick else 5
    options = {"form": form, "presolve": presolve, "time_limit": limit}
    return problem.solve(solver=solver, **options, strict=False)


gaps = {name: {} for name in WAYS}
columns = f"{'value':>11} {'violation':>10} {'gap':>9}"
print(f"{'solver':10} {'form':18} {'status':11} {columns}")
for solver in SOLVERS:
    try:
        found = {name: solved(solver, *way) for name, way in WAYS.items()}
    except cl.SolverUnavailable as error:
        print(fill(f"{solver:10} {error}", 88, subsequent_indent=11 * " "))
        continue
    proofs = {name: s.certificate for name, s in found.items() if s.certificate}
    for name, s in found.items():
        row = f"{solver:10} {name:18} {s.status!s:11}"
        if name in proofs:
            c = proofs[name]
            gaps[name][solver] = c.relative_gap
            best = c.relative_gap == min(p.relative_gap for p in proofs.values())
            row += f" {s.value:11.6f} {c.largest_violation:10.1e} {c.relative_gap:9.1e}"
            row += " *" if best else ""
        print(row.rstrip())

# %%
# A certified gap of 1e-4 means that the optimum is known to four digits. Where a mark
# is missing in the picture, the solver returned no answer.

_, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, found), marker in zip(gaps.items(), "os^", strict=True):
    ax.plot(list(found), list(found.values()), marker, markersize=9, label=name)
ax.set(ylabel="certified relative gap", yscale="log")
ax.set_title("the same optimum, asked for in three ways")
ax.legend()
plt.show()
