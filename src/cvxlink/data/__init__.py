"""What is given: graphs, links, partial labels, weights per link, constraint matrices."""
