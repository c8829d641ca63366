"""TODO: what is in compare."""
