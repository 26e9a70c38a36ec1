"""Numbers only: checks, threads, products kept as factors, eigenpairs, factorisations, harmonic extension."""
