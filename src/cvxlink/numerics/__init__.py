"""Numbers only: checks, matrices kept as products, eigenvalues, factorisations, harmonic extension."""
