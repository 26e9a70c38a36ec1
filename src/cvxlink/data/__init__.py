"""What is given: the graph, links, partial labels, numbers for links, and the files they are read from."""
