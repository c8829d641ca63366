"""TODO: what is in memory."""
