"""TODO: what is in robots."""
