"""What others know of the site's URLs: sitemaps, logs, exports, lists. Each reader turns what it reads into claims."""
