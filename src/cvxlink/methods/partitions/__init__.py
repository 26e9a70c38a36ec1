"""Programs that know the number of clusters: normalised cuts and k-means with links."""
