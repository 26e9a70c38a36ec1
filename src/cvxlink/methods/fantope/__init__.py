"""Relaxed cuts over projections: NCuts and SSKK."""
