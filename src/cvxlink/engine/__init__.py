"""The flow of a solve, and the objects users hold: problems, plans, solutions."""
