"""TODO: what is in publish."""
