"""HTTP for a crawl: :class:`Fetcher` turns a URL into a ``Reply`` or a ``Failure``, within limits and safely."""
