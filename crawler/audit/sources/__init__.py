"""TODO: what is in sources."""
