"""What families of methods share."""
