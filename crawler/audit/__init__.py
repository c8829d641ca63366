"""The audit of a site: sources are read, the site is visited, what is known is joined, judged and told."""
