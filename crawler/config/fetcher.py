"""Who fetches for a site: what a configuration says of transport, proxy, secrets and addresses becomes a Fetcher."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
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
from crawler.fetch.transports import HttpxTransports, ReqwestTransports


def build_fetcher(
    config: Config,
    homes: Sequence[str],
    clock: Callable[[], float] = time.time,
    source: SiteSource | None = None,
) -> Fetcher:
    """Who fetches, as whom, and with which secrets for the first of the origins that were named. Raises UsageError.

    With a ``source`` the origin that is named is that, and so the secrets are for it alone.
    """
    fetch = config.fetch
    limits = FetchLimits(
        connect=fetch.connect_timeout,
        first_byte=fetch.read_timeout,
        idle=fetch.read_timeout,
        total=fetch.timeout,
    )
    if fetch.ca_file and not Path(fetch.ca_file).is_file():
        raise UsageError(f"--ca-file {fetch.ca_file} is no file")
    proxy = reveal_secret(fetch.proxy)
    if fetch.http2 and sources.host_header(config):
        raise UsageError("-H 'Host: …' cannot go with --http2, where the URL says the host: use --resolve")
    if proxy and not _is_proxy(proxy):
        raise UsageError("--proxy wants a URL: http://host:port, https://… or socks5://…")
    options = TransportOptions(
        proxy=proxy,
        ca_file=Path(fetch.ca_file) if fetch.ca_file else None,
        http2=fetch.http2,
        idle=config.pace.concurrency,
    )
    kind = ReqwestTransports if fetch.transport == "fast" else HttpxTransports
    doors = sources.address_overrides(config)
    homes = [source.secret_origin] if source else homes
    try:
        transports = kind(options, limits)
        identity = Identity(fetch.user_agent, credentials=(_credentials(config, homes[0]),))
        # what the operator names may be at a private address; where pages lead to may not
        named = [f"{scheme}://{host}" for host in config.scope.hosts for scheme in ("http", "https")]
        named = [*(each for each in named if "*" not in each), *(f"http://{door}" for door in doors)]
        policy = AddressPolicy.for_seeds(homes, named)
        chosen = source.transports(transports) if source else transports
        return Fetcher(chosen, identity, policy, limits, resolver_with_overrides(doors), clock)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _is_proxy(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in ("http", "https", "socks5", "socks5h")
            and bool(parts.hostname)
            and parts.port != 0
        )
    except ValueError:
        return False


def _credentials(config: Config, home: str) -> Credentials:
    fetch = config.fetch
    user, separator, password = reveal_secret(fetch.basic_auth).partition(":")
    if fetch.basic_auth and not separator:
        raise UsageError("--basic-auth wants user:password (or env:NAME, file:PATH)")
    headers = tuple((name, reveal_secret(value)) for name, value in fetch.headers.items())
    cookies = tuple((name, reveal_secret(value)) for name, value in fetch.cookies.items())
    try:
        return Credentials(home, headers, (user, password) if separator else None, cookies)
    except ValueError as error:
        raise UsageError(str(error)) from None
