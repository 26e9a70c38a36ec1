"""Files of points, links and names, and writing files whole or not at all."""
