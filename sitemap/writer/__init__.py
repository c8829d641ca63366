"""Writing: from entries to files that every reader takes, published as a whole."""
