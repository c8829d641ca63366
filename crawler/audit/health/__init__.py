"""The health of what is published: entries of sitemaps, their dates, and language clusters, against what visits saw."""
