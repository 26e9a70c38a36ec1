"""Files of points and links, and files that appear whole or not at all."""
