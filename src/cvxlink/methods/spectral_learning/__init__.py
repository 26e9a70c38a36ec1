"""Spectral learning: the nearest affinity with given entries (SL)."""
