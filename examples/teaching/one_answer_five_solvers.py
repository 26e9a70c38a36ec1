r"""
One answer, five solvers
========================

A semidefinite program has one optimal value. Give it to five solvers and five numbers
come back. They agree to some digits, and each comes with a status, a gap and a
tolerance that mean something else in every code. Which digits are true? One can
compare, and hope that two programs that agree are right. One can do better: let each
answer *prove* something. Then the answers no longer compete. Together they give a
single interval that must contain the optimum.

This page does so with PCP (see :doc:`textbook_sdp` for what it is), on all installed
solvers. You need weak duality, and little else.
"""

import os
import warnings
from functools import cache
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np

import cvxlink as cl

QUICK = bool(os.environ.get("CVXLINK_QUICK"))
warnings.filterwarnings("ignore", category=cl.InaccurateWarning)  # the tables say so
warnings.filterwarnings("ignore", message="Solution may be inaccurate")


def show(result, indent):
    """Print in lines of at most 88 characters."""
    for line in str(result).splitlines():
        print(fill(line, 88, subsequent_indent=indent * " "))


X, y = cl.datasets.load("iris")
graph = cl.Graph.knn(X[::5], n_neighbors=5)
problem = cl.PCP(graph, cl.Links.sample(y[::5], per_class=2, random_state=1))
show(problem, 14)

# %%
# What solvers say
# ----------------
# ``cl.installed_sdp_solvers()`` lists the solvers that are here. Some need a licence
# that is missing; we say so and go on. All get the same program, after cvxlink's
# reductions, and the same ``accuracy``, which is translated into whatever each solver
# calls its tolerance.


@cache
def solved(name, accuracy):
    """Return the answer of a solver, good or bad."""
    return problem.solve(solver=name, accuracy=accuracy, strict=False)


def proof(solution):
    """Return the certificate of a solution, if it has one with bounds on both sides."""
    c = solution.certificate
    return c if c is not None and None not in (c.lower_bound, c.upper_bound) else None


def words(solution):
    """Return what the solver itself called its answer."""
    return (
        solution.reason.split("'")[1] if "reported" in solution.reason else "no answer"
    )


def available(names):
    """Return the solvers that give an answer, and say why the others do not."""
    found = []
    for name in names:
        try:
            if proof(solved(name, 1e-6)):
                found.append(name)
            else:
                print(f"left out: {name} gave no answer")
        except cl.SolverUnavailable as error:
            print(f"left out: {str(error).split(' (')[0]}")
    return found


installed = cl.installed_sdp_solvers()
solvers = available(installed[:4] if QUICK else installed)
answers = {name: solved(name, 1e-6) for name in solvers}
print(f"{'solver':9} {'it says':22} {'iterations':>10} {'value':>13} {'seconds':>8}")
for name, s in answers.items():
    iterations = "not told" if s.iterations is None else s.iterations
    numbers = f"{iterations:>10} {s.value:13.9f} {s.timings.solve:8.3f}"
    print(f"{name:9} {words(s):22} {numbers}")

# %%
# The tolerances that each solver was given for this:


def tolerances(options):
    """The tolerances among a solver's options, which some solvers want in groups."""
    for option, value in options.items():
        if isinstance(value, dict):
            yield from tolerances(value)
        elif isinstance(value, float):
            yield f"{option} {value:.0e}"


for name, s in answers.items():
    print(f"{name:9} " + ", ".join(tolerances(s.options)))

# %%
# Is *optimal* of one code better than *optimal_inaccurate* of another? The words follow
# each solver's own stopping test. Absolute or relative, to the 2-norm of the right-hand
# side or to its largest entry, before or after the solver's own scaling, primal minus
# dual value or complementarity: no two are alike. Here is what SCS looks at, in its own
# words:

program = problem.to_cvxpy("dual", presolve=True)
program.solve(solver="SCS", eps=1e-6)
info = program.solver_stats.extra_stats["info"]
print({name: float(f"{info[name]:.2g}") for name in ("res_pri", "res_dual", "gap")})

# %%
# What can be proven
# ------------------
# A certificate takes only a kernel :math:`K` and multipliers :math:`y` from the solver,
# and recomputes everything else.
#
# * *From below:* :math:`b^\top y + c\,\min(0, \lambda_{\min}(S))`, with the slack
#   :math:`S = C - \sum_r y_r A_r` and :math:`c` the trace of every feasible matrix. It
#   holds for any :math:`y`, good or bad.
# * *From above:* :math:`K` is repaired until it satisfies every constraint to rounding.
#   The value of that matrix is at least the optimum.
# * The *six DIMACS errors* measure how well the pair satisfies the optimality
#   conditions, each relative to the size of the data: (1) equations,
#   :math:`\|\mathcal A(K) - b\|`; (2) :math:`K \succeq 0`; (3) dual equations,
#   :math:`\|\mathcal A^*(y) + Z - C\|`; (4) :math:`Z \succeq 0`; (5) difference of the
#   values, :math:`\langle C, K\rangle - b^\top y`; (6) complementarity,
#   :math:`\langle K, Z\rangle`.
#
# Errors are small or large; only bounds are true or false. The third error is zero, as
# cvxlink takes the slack itself for :math:`Z`. The fourth is seldom zero even for
# excellent answers: it belongs to the program as printed, whose dual does not attain
# its optimum, so multipliers can only approach it. The smallest gap is marked.

least = min(s.certificate.relative_gap for s in answers.values())
bounds = f"{'lower bound':>14} {'upper bound':>14}"
print(f"{'solver':9} {'violation':>9} {bounds} {'gap':>8}")
for name, s in answers.items():
    c = s.certificate
    bounds = f"{c.lower_bound:14.10f} {c.upper_bound:14.10f}"
    mark = " *" if c.relative_gap == least else ""
    print(f"{name:9} {c.largest_violation:9.0e} {bounds} {c.relative_gap:8.0e}{mark}")

# %%
# And the six DIMACS errors:

print(f"{'solver':9} " + " ".join(f"{f'({k})':>8}" for k in range(1, 7)))
for name, s in answers.items():
    print(f"{name:9} " + " ".join(f"{error:8.0e}" for error in s.certificate.dimacs))

# %%
# Five answers, one interval
# --------------------------
# Each row claims that the optimum lies between its bounds, and all these claims are
# proven. So the optimum lies in all the intervals at once. Two disjoint intervals would
# be a contradiction: a mistake in the certificates, which do not depend on the solvers'
# claims. They do meet, and their intersection is at most as wide as the narrowest of
# them.


def interval(certificates):
    """Return the interval that all certificates together leave for the optimum."""
    lower = max(c.lower_bound for c in certificates)
    return lower, min(c.upper_bound for c in certificates)


coarse = {name: c for name in solvers if (c := proof(solved(name, 1e-2)))}
fine = {name: proof(s) for name, s in answers.items()}
for said, certificates in (("1e-2", coarse), ("1e-6", fine)):
    lower, upper = interval(certificates.values())
    narrowest = min(c.gap for c in certificates.values())
    print(f"accuracy {said}: optimum in [{lower:.12f}, {upper:.12f}]")
    widths = f"width {upper - lower:.1e}, narrowest certificate {narrowest:.1e}"
    print(f"{'':15}{widths}")

lower, upper = interval(fine.values())
middle = (lower + upper) / 2
figure, ax = plt.subplots(figsize=(7.5, 1.0 + 0.5 * len(solvers)), layout="constrained")
for certificates, shift, colour in ((coarse, 0.15, "C0"), (fine, -0.15, "C1")):
    for name, c in certificates.items():
        ends = np.array([c.lower_bound, c.upper_bound]) - middle
        place = solvers.index(name) + shift
        ax.plot(ends, [place, place], "|-", color=colour, linewidth=3)
ax.axvspan(lower - middle, upper - middle, color="C2", alpha=0.4)
ax.set_xscale("symlog", linthresh=1e-11)
ax.set_xticks([-1e-5, -1e-8, -1e-11, 0, 1e-11, 1e-8, 1e-5])
ax.set_yticks(range(len(solvers)), solvers)
ax.set(xlabel="distance from the middle of the intersection")
ax.set_title("accuracy 1e-2 (blue), 1e-6 (orange), intersection (green)", fontsize=11)
plt.show()

# %%
# The best lower bound and the best upper bound need not come from the same solver. A
# dual method may have excellent multipliers and a poor kernel. As the certificate uses
# only :math:`K` and :math:`y`, they can be mixed: the kernel of one solver, the
# multipliers of another.

giver = min(fine, key=lambda name: fine[name].upper_bound)
prover = max(fine, key=lambda name: fine[name].lower_bound)
mixed = cl.certify(problem, answers[giver].values, answers[prover].duals)
print(f"kernel of {giver}, multipliers of {prover}: gap {mixed.gap:.1e}")

# %%
# Asked and reached
# -----------------
# Now ask for accuracies from :math:`10^{-2}` to :math:`10^{-8}`, and look at what the
# certificates say was reached. For interior-point codes low accuracy is pointless: the
# last digits cost one or two iterations, so cvxlink asks them for more than you do. At
# the other end rounding sets a limit, which is not the same for all. Above the diagonal
# a solver has delivered less than it was asked for, and the status is INACCURATE,
# whatever the solver itself says.

ASKED = (1e-2, 1e-6, 1e-8) if QUICK else (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
certified = {name: [proof(solved(name, asked)) for asked in ASKED] for name in solvers}
reached = {
    name: [c.relative_gap if c else np.nan for c in proofs]
    for name, proofs in certified.items()
}
print(f"{'asked':9} " + " ".join(f"{asked:8.0e}" for asked in ASKED))
for name, gaps in reached.items():
    print(f"{name:9} " + " ".join(f"{gap:8.0e}" for gap in gaps))

figure, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
for (name, gaps), marker in zip(reached.items(), "osX^vDP*<>", strict=False):
    ax.loglog(ASKED, gaps, marker + "-", alpha=0.8, label=name)
ax.loglog(ASKED, ASKED, "k:", label="as asked")
ax.invert_xaxis()
ax.set(
    xlabel="accuracy asked for",
    ylabel="certified relative gap",
    title="asked and reached",
)
ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %%
# Without the reductions
# ----------------------
# The same solvers on the program as printed, in which must-links are equations. Every
# feasible kernel is then singular, and the dual has no solution. Compare the words with
# the proofs, and the values with the interval from above.


def as_printed(name):
    """Return the answer of a solver to the unreduced program."""
    options = {"max_iters": 1000 if QUICK else 5000} if name == "SCS" else None
    printed = {"form": "paper", "presolve": False, "accuracy": 1e-6}
    return problem.solve(solver=name, **printed, solver_options=options, strict=False)


printed = {name: as_printed(name) for name in solvers}
head = (
    f"{'value':>10} {'violation':>9} {'lower bound':>12} {'upper bound':>12} {'gap':>8}"
)
print(f"{'solver':9} {'it says':20} {head}")
for name, s in printed.items():
    row = f"{name:9} {words(s):20}"
    if c := proof(s):
        row += f" {c.value:10.6f} {c.largest_violation:9.0e}"
        row += f" {c.lower_bound:12.6f} {c.upper_bound:12.6f} {c.relative_gap:8.0e}"
    print(row.rstrip())
lower, upper = interval([*fine.values(), *filter(None, map(proof, printed.values()))])
print(f"all together, with the answers from above: [{lower:.10f}, {upper:.10f}]")

# %%
# Several values lie *outside* the interval, below the optimum, although hardly any
# constraint is violated. The bounds do not: they are wide, and true. Bad answers make
# poor proofs but never false ones, so they do not harm the intersection.
#
# Answers that are wrong
# ----------------------
# Finally, let us cheat. Take a good answer and spoil it: a kernel 0.1 % too large or
# too small, entries rounded to three digits, a kernel with a cannot-link forgotten,
# multipliers with their signs swapped, a single multiplier raised. Bugs in interfaces
# do similar things: a factor of two off the diagonal, a sign convention, rows in
# another order.

good = answers[prover]
K = good.values["K"]
duals = {name: np.array(good.duals[name]) for name in ("unit", "must", "cannot")}
(i, j), *_ = problem.links.cannot
forgotten = K.copy()
forgotten[i, j] = forgotten[j, i] = 0.05
raised = {**duals, "unit": duals["unit"] + 0.01 * (np.arange(len(K)) == 0)}
claims = {
    "as it was": (K, duals),
    "K times 1.001": (1.001 * K, duals),
    "K times 0.999": (0.999 * K, duals),
    "K to three digits": (K.round(3), duals),
    "a cannot-link at 0.05": (forgotten, duals),
    "signs of y swapped": (K, {name: -dual for name, dual in duals.items()}),
    "y in another order": (K, {**duals, "unit": duals["unit"][::-1]}),
    "one y raised by 0.01": (K, raised),
}
print(f"{'claim':22} {head}  to 1e-4")
for claim, (kernel, multipliers) in claims.items():
    c = cl.certify(problem, {"K": kernel}, multipliers)
    numbers = f"{c.value:10.6f} {c.largest_violation:9.0e}"
    bounds = f"{c.lower_bound:12.6g} {c.upper_bound:12.6g} {c.relative_gap:8.0e}"
    print(f"{claim:22} {numbers} {bounds}  {'holds' if c.holds(1e-4) else 'fails'}")

# %%
# Only the first line holds. A kernel that is 0.1 % too small has a smaller value, which
# looks like progress; its violation gives it away. Raising a multiplier raises
# :math:`b^\top y`, which would be a better bound if the slack were still semidefinite;
# the term :math:`c\,\lambda_{\min}(S)` takes back more than was gained. And again every
# interval, even that of the worst claim, contains the optimum: a proof does not depend
# on the prover.
#
# Exercises
# ---------
# 1. *The price of the trace.* The lower bound pays :math:`c\,|\lambda_{\min}(S)|` for a
#    slack that is not quite semidefinite. Shift instead: replace :math:`y_a` by
#    :math:`y_a - |\lambda_{\min}(S)|` for all :math:`a`. Show that the new multipliers
#    are feasible and that the bound is the same. *Hint:* the right-hand sides of the
#    unit constraints sum to :math:`c`.
# 2. *A kernel without multipliers.* Somebody sends you :math:`K` only. Which :math:`y`
#    would you try? *Hint:* at the optimum :math:`SK = 0`; this is a linear
#    least-squares problem in :math:`y`. How good is the bound for the kernel rounded to
#    three digits?
# 3. *Two wrongs.* Can the intersection of the intervals of two bad answers be much
#    narrower than both? Construct such a pair from the claims above. *Hint:* spoil the
#    kernel in one and the multipliers in the other.
