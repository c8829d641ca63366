"""TODO: what is in init."""
