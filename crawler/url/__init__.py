"""URLs: their canonical form, their parts, and the references of documents. Knows nothing of scope or robots."""
