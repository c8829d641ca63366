"""TODO: what is in lastmod."""
