"""TODO: what is in crawl."""
