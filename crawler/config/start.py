"""The start URL: as a person writes it, and where its own site has moved it.

A start URL may redirect to its own site: to https, or to the host with or without ``www.``. Then the crawl starts
there. A file beside the states of the sites remembers it, so that every command finds the same state again.
"""

import re
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from crawler.config.config import Config
from crawler.errors import NEXT_RUN, NothingCrawlable, StorageError, UsageError
from crawler.model import Url
from crawler.url.normalize import InvalidUrl, host_of, normalize_url, origin_of, path_of
from crawler.url.params import UrlParams
from sitemap import destination_error, replacement

MOVED_FILE: Final = "moved-starts.json"  # in the directory of all states: start URLs, and where the crawl starts
_host_and_path = re.compile(
    r"(?:[^\s/:?#@.]++(?:\.[^\s/:?#@.]++)++\.?|localhost)(?::[0-9]{1,5})?(?:[/?#].*)?", re.DOTALL
).fullmatch


class StartMoved(NothingCrawlable):
    """The start URL redirects to its own site: the first crawl of the site starts at ``target`` instead."""

    def __init__(self, start: Url, target: Url, reason: str) -> None:
        super().__init__(f"the start URL {start} {reason}: {NEXT_RUN.starting_at(target)}")
        self.target = target


def parse_url_setting(text: str, what: str, params: UrlParams) -> Url:
    """A URL of the configuration in canonical form; ``what`` names it in the UsageError for a bad one.

    A host without a scheme, such as ``example.com/docs/``, means https.
    """
    if not text:
        raise UsageError(f"{what} is not given. Use siteatlas crawl https://example.com/ -o DIR")
    try:
        url = normalize_url(f"https://{text}" if lacks_scheme(text) else text, params)
    except InvalidUrl as error:
        if "@" in text:  # perhaps a password; the error masks it
            raise UsageError(f"{what} cannot be used: {error}") from None
        near, hint = f"https://{text.rpartition('://')[2]}", ""
        with suppress(InvalidUrl):
            normalize_url(near, params)
            hint = f". Did you mean {near}?"
        raise UsageError(f'{what} "{text}" cannot be used: {error}{hint}') from None
    if "@" in text.partition("://")[2].partition("/")[0]:
        raise UsageError(f"{what} contains a user name or a password. Give them with --basic-auth instead")
    return url


def lacks_scheme(text: str) -> bool:
    """Whether a text is a host, perhaps with a port and a path, but no scheme: then https is tried first."""
    return "://" not in text and _host_and_path(text) is not None


def moved_start(start: Url, target: Url) -> Url | None:
    """The start URL at the origin that it redirects to; None when that is another site or outside of its directory.

    The origins of one site differ in the scheme, with its port, or in a leading ``www.``.
    """
    before, after = origin_of(start), origin_of(target)
    if before == after or host_of(start).removeprefix("www.") != host_of(target).removeprefix("www."):
        return None
    is_same_scheme = start.partition(":")[0] == target.partition(":")[0]
    if is_same_scheme and _port(start) != _port(target):
        return None
    directory = path_of(start).rpartition("/")[0] + "/"
    is_inside = path_of(target).startswith(directory) or path_of(target) == path_of(start)
    return Url(after + path_of(start)) if is_inside else None


def _port(url: Url) -> str:
    return origin_of(url).removeprefix(url.partition("//")[0] + "//").removeprefix(host_of(url))


def may_move(config: Config) -> bool:
    """Whether a start URL may move: not with secrets, which are for one origin, nor if more than the start is set."""
    fetch = config.fetch
    has_secrets = bool(fetch.headers or fetch.cookies or fetch.basic_auth)
    return not (has_secrets or fetch.source or config.site.sitemap_url)


def named_start(config: Config) -> Url:
    """The start URL of a configuration. Raises UsageError."""
    params = UrlParams(config.urls.drop_params, config.urls.keep_params)
    return parse_url_setting(config.site.url, "the start URL", params)


def followed_start(config: Config) -> Url:
    """Where the crawl of a start URL starts: there, or where an earlier run found that it has moved.

    Only a host without a scheme moves to plain http: a person who writes https means it. Raises UsageError.
    """
    start = named_start(config)
    target = _moves(config).get(start, start)
    return start if target == plain_http(start) and not lacks_scheme(config.site.url) else target


def plain_http(start: Url) -> Url:
    """The same URL with http."""
    return Url(start.replace("https://", "http://", 1))


def given_starts(config: Config, start: Url) -> tuple[Url, ...]:
    """The URLs that a person named for the crawl of ``start``. A host without a scheme names that with http, too."""
    named = named_start(config)
    guessed = [plain_http(named)] if lacks_scheme(config.site.url) else []
    return tuple(dict.fromkeys([named, *guessed, *(given for given, to in _moves(config).items() if to == start)]))


def remember_move(config: Config, start: Url, target: Url) -> None:
    """Remember that a start URL has moved, once a crawl from ``target`` has worked. Raises StorageError."""
    root = Path(config.state.directory)
    earlier = _moves(config)
    target = earlier.get(target, target)
    moves = {given: target if to == start else to for given, to in earlier.items()} | {start: target}
    moves.pop(target, None)
    try:
        with replacement(root / MOVED_FILE, 0o600) as file:
            file.write(msgspec.json.format(msgspec.json.encode(moves), indent=2))
    except OSError as error:
        raise StorageError(str(destination_error(f"{root / MOVED_FILE} cannot be written", error))) from None


def _moves(config: Config) -> dict[Url, Url]:
    if not may_move(config):
        return {}
    try:
        return msgspec.json.decode((Path(config.state.directory) / MOVED_FILE).read_bytes(), type=dict[Url, Url])
    except (OSError, msgspec.DecodeError):
        return {}
