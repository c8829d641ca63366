"""The link graph as arrays. Pure. Imports numpy: import this only where a graph is made."""
