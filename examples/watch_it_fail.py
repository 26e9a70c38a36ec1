"""
Why not type it into CVXPY
==========================

Switch the reductions off and watch. Every must-link makes every feasible kernel singular, so the printed program has no
strictly feasible point. Solvers then return answers that look feasible to eight digits and are wrong in the fourth; the
certificate says so.
"""

import os

import matplotlib.pyplot as plt

import cvxlink as cl

quick = "CVXLINK_QUICK" in os.environ
X, y = cl.datasets.load("iris")
X, y = X[::5], y[::5]
problem = cl.PCP(cl.Graph.knn(X, n_neighbors=5), cl.Links.sample(y, per_class=2, random_state=1))
print(problem.explain())

# %%
# Three ways to hand the same program to a solver: the dual and the primal form after the reductions, and the program as
# it is printed. For that each solver gets a few seconds only, because some would take minutes.

WAYS = {"dual, reduced": ("dual", True), "paper, reduced": ("paper", True), "paper, as printed": ("paper", False)}
gaps = {name: {} for name in WAYS}
print(f"{'solver':10} {'form':18} {'status':11} {'value':>11} {'violation':>10} {'certified gap':>14}")
for solver in ("CLARABEL",) if quick else ("CLARABEL", "CVXOPT", "SDPA", "SCS"):
    for name, (form, presolve) in WAYS.items():
        limit = None if presolve else 1 if quick else 5
        try:
            s = problem.solve(solver=solver, form=form, presolve=presolve, time_limit=limit, strict=False)
        except cl.SolverUnavailable as error:
            print(f"{solver:10} {error}")
            break
        row = f"{solver:10} {name:18} {s.status!s:11}"
        if s.certificate is not None:
            c = s.certificate
            row += f" {s.value:11.6f} {c.largest_violation:10.1e} {c.relative_gap:14.1e}"
            gaps[name][solver] = c.relative_gap
        print(row)

# %%
# A gap of 1e-4 says that the optimum is known to four digits. Where there is no mark, the solver came back without an
# answer.

_, ax = plt.subplots(layout="constrained")
for (name, found), marker in zip(gaps.items(), "os^", strict=True):
    ax.plot(list(found), list(found.values()), marker, markersize=9, label=name)
ax.set(ylabel="certified relative gap", yscale="log", title="the same optimum, asked for in three ways")
ax.legend()
plt.show()
