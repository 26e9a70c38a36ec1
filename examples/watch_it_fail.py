"""Why the textbook program is hard: switch the reductions off and watch.

Every must-link makes every feasible kernel singular, so the printed program has no strictly feasible point. Solvers
then return answers that look feasible to eight digits and are wrong in the fourth; the certificate says so.
"""

import cvxlink as cl

X, y = cl.datasets.load("iris")
X, y = X[::5], y[::5]
problem = cl.PCP(cl.Graph.knn(X, n_neighbors=5), cl.Links.sample(y, per_class=2, random_state=1))
print(problem.explain(), end="\n\n")

print(f"{'solver':10} {'form':6} {'presolve':8} {'status':11} {'value':>11} {'violation':>10} {'certified gap':>14}")
for solver in cl.installed_sdp_solvers():
    for form in ("dual", "paper"):
        for presolve in (True, False):
            limit = None if presolve else 5
            try:
                s = problem.solve(solver=solver, form=form, presolve=presolve, time_limit=limit, strict=False)
            except cl.SolverUnavailable as error:
                print(f"{solver:10} {error}")
                break
            row = f"{solver:10} {form:6} {presolve!s:8} {s.status!s:11}"
            if s.certificate is not None:
                c = s.certificate
                row += f" {s.value:11.6f} {c.largest_violation:10.1e} {c.relative_gap:14.1e}"
            print(row)
        else:
            continue
        break
