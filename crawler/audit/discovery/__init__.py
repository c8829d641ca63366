"""Whether a published sitemap can be found: what the robots.txt of its site says of it, and how both are answered."""
