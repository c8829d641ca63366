"""Builds the Fetcher of a site from its configuration: transport, proxy, secrets and addresses."""

import logging
import os
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from crawler.config import source as sources
from crawler.config.config import Config
from crawler.config.secrets import reveal_secret
from crawler.config.source import SiteSource
from crawler.errors import UsageError
from crawler.fetch.address_policy import AddressPolicy
from crawler.fetch.dns import resolver_with_overrides
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.identity import Credentials, Identity
from crawler.fetch.limits import FetchLimits, TransportOptions
from crawler.fetch.transports import HttpxTransports, ReqwestTransports, Transports
from crawler.packages import missing_packages

if TYPE_CHECKING:
    from crawler.fetch.signature import RequestSigner

log = logging.getLogger(__name__)
_PROXY_VARIABLES: Final = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")


def build_fetcher(
    config: Config,
    origins: Sequence[str],
    clock: Callable[[], float] = time.time,
    source: SiteSource | None = None,
    public: frozenset[str] = frozenset(),
) -> Fetcher:
    """The Fetcher for the ``origins`` that the operator names; the first gets the secrets. Raises UsageError.

    With a ``source``, its origin replaces these, and it alone gets the secrets. ``public`` holds the ``host:port`` that
    had a public address in an earlier run: see :func:`crawler.state.store.public_hosts`.
    """
    fetch = config.fetch
    limits = FetchLimits(
        connect=fetch.connect_timeout, first_byte=fetch.read_timeout, idle=fetch.read_timeout, total=fetch.timeout
    )
    if fetch.ca_file and not Path(fetch.ca_file).is_file():
        raise UsageError(f"fetch.ca_file: {fetch.ca_file} is not a file. Give a PEM file with certificates")
    proxy = reveal_secret(fetch.proxy)
    if fetch.http2 and sources.host_header(config):
        raise UsageError(
            "-H 'Host: …' does not work with --set fetch.http2=true, because HTTP/2 takes the host from the URL. Use "
            "--resolve instead of -H"
        )
    if proxy and not _is_proxy(proxy):
        raise UsageError("--proxy needs a URL such as http://host:port, https://host:port or socks5://host:port")
    _note_proxy(proxy, tuple(name for name in _PROXY_VARIABLES if os.environ.get(name)))
    options = TransportOptions(
        proxy=proxy,
        ca_file=Path(fetch.ca_file) if fetch.ca_file else None,
        http2=fetch.http2,
        idle=config.pace.concurrency,
    )
    kind = ReqwestTransports if fetch.transport == "fast" else HttpxTransports
    overrides = sources.address_overrides(config)
    origins = [source.secret_origin] if source else origins
    try:
        transports: Transports = kind(options, limits)
        sign = signer.headers_for if (signer := request_signer(config, clock)) else None
        identity = Identity(fetch.user_agent, credentials=(_credentials(config, origins[0]),), sign=sign)
        # hosts that the operator names may be at a private address; other hosts may not
        hosts = [host for host in config.scope.hosts if "*" not in host]
        named = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
        policy = AddressPolicy.for_seeds(
            origins, [*named, *(f"http://{target}" for target in overrides)], public=public
        )
        if source:
            transports = source.transports(transports)
        return Fetcher(transports, identity, policy, limits, resolver_with_overrides(overrides), clock)
    except ValueError as error:
        raise UsageError(str(error)) from None


def request_signer(config: Config, clock: Callable[[], float] = time.time) -> "RequestSigner | None":
    """What signs the requests of a site, None if nothing does. Raises UsageError."""
    key, agent = config.fetch.signing_key, config.fetch.signature_agent
    if not key and not agent:
        return None
    if not key or not agent:
        raise UsageError("fetch.signing_key and fetch.signature_agent work only together. Set both options, or neither")
    is_reference = key.startswith(("env:", "file:"))
    try:
        from crawler.fetch.signature import RequestSigner  # noqa: PLC0415 - an extra

        return RequestSigner(reveal_secret(key if is_reference else f"file:{key}"), agent.rstrip("/"), clock)
    except ModuleNotFoundError:
        raise missing_packages("fetch.signing_key", "sign") from None
    except ValueError as error:
        raise UsageError(f"fetch.signing_key and fetch.signature_agent: {error}") from None


def build_service_fetcher(user_agent: str, options: TransportOptions, limits: FetchLimits) -> Fetcher:
    """A Fetcher for services that are not the site, such as Google or a webhook: it has no secrets of the site.

    The operator names these services, so they may be at private addresses. Raises UsageError for a bad user agent.
    """
    try:
        identity = Identity(user_agent, accept="*/*")
    except ValueError as error:
        raise UsageError(str(error)) from None
    return Fetcher(HttpxTransports(options, limits), identity, AddressPolicy(is_named=True), limits)


@lru_cache(maxsize=8)  # a process says it once
def _note_proxy(proxy: str, variables: tuple[str, ...]) -> None:
    if proxy:
        parts = urlsplit(proxy)
        log.info(
            "requests go through the proxy %s:%s, which resolves the host names, so the proxy has to refuse private "
            "addresses: Siteatlas cannot",
            parts.hostname,
            parts.port or "",
        )
    elif variables:
        log.warning("%s is set, but Siteatlas uses no proxy: --proxy URL sets one", " and ".join(variables))


def _is_proxy(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https", "socks5", "socks5h") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _credentials(config: Config, origin: str) -> Credentials:
    fetch = config.fetch
    user, separator, password = reveal_secret(fetch.basic_auth).partition(":")
    if fetch.basic_auth and not separator:
        raise UsageError("--basic-auth needs user:password (or env:NAME, file:PATH)")
    headers = tuple((name, reveal_secret(value)) for name, value in fetch.headers.items())
    cookies = tuple((name, reveal_secret(value)) for name, value in fetch.cookies.items())
    try:
        return Credentials(origin, headers, (user, password) if separator else None, cookies)
    except ValueError as error:
        raise UsageError(str(error)) from None
