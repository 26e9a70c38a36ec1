"""Clustering: from a kernel, a factor or an embedding to labels."""

from .labelling import (
    METHODS,
    SAME_PLACE,
    best_class,
    kernel_factor,
    kernel_kmeans,
    kmeans,
    places,
    spectral,
    spectral_embedding,
)

__all__ = [
    "METHODS",
    "SAME_PLACE",
    "best_class",
    "kernel_factor",
    "kernel_kmeans",
    "kmeans",
    "places",
    "spectral",
    "spectral_embedding",
]
