"""TODO: what is in run."""
