"""HTTP for a crawl: :class:`Fetcher` turns a URL into a ``Reply`` or a ``Failure``, within limits and safely."""

from crawler.fetch.address import AddressPolicy
from crawler.fetch.failures import Code, failure
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.identity import Credentials, Identity
from crawler.fetch.limits import PAGE_BODY, ROBOTS_BODY, SITEMAP_BODY, BodyLimits, FetchLimits
from crawler.fetch.options import TransportOptions
from crawler.fetch.origins import Resolver, system_resolver
from crawler.fetch.overrides import overriding, read_override
from crawler.fetch.sourced import FolderTransports, ServerTransports
from crawler.fetch.transports import GivenTransport, HttpxTransports, ReqwestTransports, Transports

__all__ = [
    "PAGE_BODY",
    "ROBOTS_BODY",
    "SITEMAP_BODY",
    "AddressPolicy",
    "BodyLimits",
    "Code",
    "Credentials",
    "FetchLimits",
    "Fetcher",
    "FolderTransports",
    "GivenTransport",
    "HttpxTransports",
    "Identity",
    "ReqwestTransports",
    "Resolver",
    "ServerTransports",
    "TransportOptions",
    "Transports",
    "failure",
    "overriding",
    "read_override",
    "system_resolver",
]
