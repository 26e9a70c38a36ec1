"""Labels propagated over a graph: GFHF and LLGC."""
