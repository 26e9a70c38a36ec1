"""Constrained clustering via spectral regularization: CCSR."""
