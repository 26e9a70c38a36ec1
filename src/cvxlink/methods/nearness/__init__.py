"""The kernel nearest to a given one: MinKL."""
