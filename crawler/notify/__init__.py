"""Tells those who are configured what a run changed, that runs fail, and that they are well again: each once."""
