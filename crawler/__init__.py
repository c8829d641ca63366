"""An asynchronous frontier crawler that turns one website into true, valid, stable sitemaps."""
