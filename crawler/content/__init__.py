"""TODO: what is in content."""
