"""What the cells of the studies in this folder compute."""
