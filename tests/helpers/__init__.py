"""What tests share: builders of graphs, links and programs."""

# Installed by `make test`; a missing one is a failure of the set-up, not a reason to skip.
SOLVERS = ("CLARABEL", "SCS", "CVXOPT", "SDPA")
