"""TODO: what is in config."""
