"""Links propagated to all pairs of points: SRCP and E2CP."""
