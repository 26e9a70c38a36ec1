"""Programs and results as files, in the formats that solvers read and write."""
