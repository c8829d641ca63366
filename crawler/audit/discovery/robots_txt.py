"""What the robots.txt of a site says of its sitemap, and whether crawlers can read it at all. Judges an answer."""

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from crawler.audit.discovery.result import DiscoveryCheck, check_failed, check_passed
from crawler.fetch.media_type import parse_media_type
from crawler.model import Reply, Url
from crawler.robots.rules import MAX_BYTES, Blocked, parse_robots
from sitemap import form, missing_lines, sitemaps_in

CRAWLERS: Final = ("*", "Googlebot", "Bingbot")
"""Those whose rules are asked whether they may fetch the sitemap."""
_MAX_NAMED: Final = 5


def check_robots_response(reply: Reply, asked: str) -> Iterator[DiscoveryCheck]:
    """Whether an answer with status 200 is one that crawlers take for a robots.txt."""
    size = f"{len(reply.body):,} bytes"
    way = "" if reply.url == asked else f", by a redirect to {reply.url}"
    yield check_passed("robots.answers", f"{asked} answered 200, {size}{way}")
    label = parse_media_type(reply.header("content-type") or "")
    if reply.body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        yield check_failed(
            "robots.type",
            f"robots.txt is a web page ({label or 'without a Content-Type'}), no text",
            "serve a text file there; that page hides that there is none",
        )
    elif label != "text/plain":
        yield check_failed(
            "robots.type",
            f"robots.txt is served as {label or 'nothing in particular'}",
            "serve it with Content-Type: text/plain; charset=utf-8 (RFC 9309, section 2.3)",
        )
    else:
        yield check_passed("robots.type", "robots.txt is served as text/plain")
    yield _decoded_text(reply)


def _decoded_text(reply: Reply) -> DiscoveryCheck:
    body = reply.body
    if reply.cut or len(body) > MAX_BYTES:
        return check_failed(
            "robots.text",
            f"robots.txt is larger than {MAX_BYTES:,} bytes, and crawlers need not read on from there",
            "shorten it, or move the Sitemap lines to its beginning",
        )
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        return check_failed(
            "robots.text", f"line {line} of robots.txt is not UTF-8", "save the file as UTF-8"
        )
    return check_passed("robots.text", "robots.txt is UTF-8 and short enough")


def check_declared(body: bytes, sitemap_url: Url) -> DiscoveryCheck:
    """Whether a robots.txt names a sitemap, in any spelling of the same address."""
    named = sitemaps_in(body)
    if not missing_lines(body, [sitemap_url]):
        return check_passed("sitemap.declared", f"robots.txt names {sitemap_url}")
    if twin := next(
        (each for each in named if _without_scheme_and_www(each) == _without_scheme_and_www(sitemap_url)), ""
    ):
        return check_failed(
            "sitemap.declared",
            f"robots.txt names {twin}, and what is published is {sitemap_url}",
            "these are two addresses: change that line",
        )
    others = f"; it names {', '.join(named[:_MAX_NAMED])}" if named else ""
    if len(named) > _MAX_NAMED:
        others += f" and {len(named) - _MAX_NAMED} more"
    return check_failed(
        "sitemap.declared", f"robots.txt does not name {sitemap_url}{others}", "add the line below"
    )


def check_allowed(body: bytes, sitemap_url: Url, now: float) -> DiscoveryCheck:
    """Whether the crawlers may fetch a sitemap: one that is blocked is declared in vain."""
    blocked: dict[str, list[str]] = {}
    for who in CRAWLERS:
        answer = parse_robots(body, who, now).can_fetch(sitemap_url)
        if isinstance(answer, Blocked):
            blocked.setdefault(answer.reason, []).append("whom it does not name" if who == "*" else who)
    if not blocked:
        return check_passed(
            "sitemap.allowed", "robots.txt lets everybody fetch the sitemap, Googlebot and Bingbot too"
        )
    told = "robots.txt blocks the sitemap: " + "; ".join(
        f"{why} ({_name_crawlers(who)})" for why, who in blocked.items()
    )
    path = urlsplit(sitemap_url).path
    return check_failed("sitemap.allowed", told, f'let it be fetched: add "Allow: {path}" to that group')


def _name_crawlers(names: list[str]) -> str:
    if len(names) == len(CRAWLERS):
        return "for everybody"
    return f"for {' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))}"


def _without_scheme_and_www(url: str) -> str:
    """An address without what http and https, and www and its absence, differ in."""
    try:
        return form(url).partition("://")[2].removeprefix("www.")
    except ValueError:
        return url
