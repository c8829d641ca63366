"""URLs: their canonical form, their parts, and the references of documents. Knows nothing of scope or robots."""

from crawler.url.normalize import DEFAULT, InvalidUrl, host, join, normalise, origin, path, path_and_query
from crawler.url.params import Params
from crawler.url.resolve import Resolver

__all__ = [
    "DEFAULT",
    "InvalidUrl",
    "Params",
    "Resolver",
    "host",
    "join",
    "normalise",
    "origin",
    "path",
    "path_and_query",
]
