"""Kernels that share the eigenvectors of the graph: ImprovedOrder and GaussianField."""
