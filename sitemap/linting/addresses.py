"""Owns the checks of addresses: their length, what does not belong into them, and whether they may be listed here.

They are made on a batch at a time: a handful of passes in C clear nearly every batch, and only where one finds
something odd are the URLs looked at one by one.
"""

import re
from collections.abc import Callable
from typing import Final

from sitemap import limits, location
from sitemap.errors import InvalidLocation
from sitemap.finding import Findings
from sitemap.linting.quote import shown
from sitemap.reading.tree import LineOf

# What stands for itself in the form to compare (RFC 3986 sections 2.2 and 2.3), and the blank between two URLs.
_SAFE: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/? "
_PERCENT: Final = set(b"%")
_UNRESERVED: Final = "2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE]"  # as escapes that need not be
_ODD_ESCAPE: Final = re.compile(rf"%(?:[0-9A-F][a-f]|[a-f][0-9A-Fa-f]|{_UNRESERVED})")
_STRAY_PERCENT: Final = re.compile("%(?![0-9A-Fa-f]{2})")
_FORMED: Final = re.compile(
    rf"https?://[a-z0-9-]++(?:\.[a-z0-9-]++)*+/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?]++|%(?!{_UNRESERVED})[0-9A-F]{{2}})*+"
)
_USERINFO: Final = re.compile(r"https?://[^/?#@]*@", re.IGNORECASE)


def is_formed(url: str) -> bool:
    """Whether a URL is surely sound, and its own :func:`form`. Says no to some that are, but to few."""
    return len(url) <= limits.MAX_LOC and "/." not in url and _FORMED.fullmatch(url) is not None


def form(url: str) -> str:
    """A URL in the form in which two are compared, without its fragment; as it stands when it is not http(s)."""
    if is_formed(url):
        return url
    try:
        return location.form(url)
    except ValueError:
        return url


class _Respelled(dict[str, str]):
    """Escapes in their one form: in upper case, or as the character itself where no escape is needed."""

    def __missing__(self, escape: str) -> str:
        spelled = self[escape] = location.form(_ANY + escape).removeprefix(_ANY)
        return spelled


_ANY: Final = "https://any.example/any"
_RESPELLED: Final = _Respelled()


class Addresses:
    """Checks the addresses of one document.

    ``url`` is where it will be, "" when that is not known. ``vouched`` says of a URL whether the robots.txt of its
    origin names the sitemap; it is asked once for each origin.
    """

    def __init__(self, url: str, findings: Findings, vouched: Callable[[str], bool]) -> None:
        try:
            self._directory = location.directory(url) if url else ""
        except InvalidLocation:
            self._directory = ""  # a file's path, say: nothing is known of where it will be
        self._findings = findings
        self._vouched = vouched
        self._believed: dict[str, bool] = {}  # what was vouched for, by origin
        self._prefix = self._directory  # in its form to compare; nearly all URLs begin with it

    def check(self, locs: list[str], line_of: LineOf) -> list[str]:
        """Judge a batch of URLs, and answer the forms in which they are compared."""
        text = " ".join(locs)  # a URL holds no blank: the reader has escaped it
        lengths = list(map(len, locs))
        if max(lengths) > limits.MAX_LOC or min(lengths) < limits.MIN_LOC:
            self._lengths(locs, line_of)
        odd = set(text.encode("utf-8", "replace").translate(None, _SAFE))
        if odd or "@" in text:
            self._odd(text, locs, line_of)
        if not self._prefix:
            self._prefix = _origin(locs[0])
        if self._prefix and (" " + text).count(" " + self._prefix) == len(locs):
            # All of them are below the prefix, and stay there when nothing leads out again.
            if not odd and "/." not in text:
                return locs
            if odd == _PERCENT and not _STRAY_PERCENT.search(text):
                text = _ODD_ESCAPE.sub(lambda found: _RESPELLED[found[0]], text)
                if "/." not in text:
                    return text.split(" ")
        if self._directory:
            self._outside(locs, line_of)
        return [form(loc) for loc in locs]

    def _lengths(self, locs: list[str], line_of: LineOf) -> None:
        for number, loc in enumerate(locs):
            if len(loc) > limits.MAX_LOC:
                rule, most = "sitemap.loc_too_long", f"fewer than {limits.MAX_LOC + 1:,} are allowed"
            elif len(loc) < limits.MIN_LOC:
                rule, most = "sitemap.loc_too_short", f"the schema wants at least {limits.MIN_LOC}"
            else:
                continue
            self._findings.add(rule, line_of(number), f"{shown(loc)} has {len(loc):,} characters, {most}")

    def _odd(self, text: str, locs: list[str], line_of: LineOf) -> None:
        """What may stand in a URL and should not. One look at the whole batch spares those that are not concerned."""
        if not text.isascii():
            for number, loc in enumerate(locs):
                if not loc.isascii():
                    self._findings.add(
                        "sitemap.loc_not_ascii", line_of(number), f"{shown(loc)} is not in ASCII"
                    )
        if "#" in text:
            for number, loc in enumerate(locs):
                if "#" in loc:
                    self._findings.add(
                        "sitemap.loc_fragment",
                        line_of(number),
                        f"{shown(loc)} has a fragment, which is ignored",
                    )
        if "@" in text:
            for number, loc in enumerate(locs):
                if "@" in loc and _USERINFO.match(loc):
                    self._findings.add(
                        "sitemap.loc_credentials",
                        line_of(number),
                        f"{shown(loc)} holds a user name or a password: anyone can read it here",
                    )

    def _outside(self, locs: list[str], line_of: LineOf) -> None:
        for number, loc in enumerate(locs):
            if location.within(self._directory, loc):
                continue
            origin = _origin(loc)  # "" for what the reader or another rule has found fault with
            if not origin or (not self._directory.startswith(origin) and self._is_vouched(origin, loc)):
                continue
            if _host(origin) == _host(_origin(self._directory)):
                self._findings.add(
                    "location.outside", line_of(number), f"{shown(loc)} is not below {self._directory}"
                )
            else:
                self._findings.add(
                    "location.other_host",
                    line_of(number),
                    f"{shown(loc)} is on another host than {self._directory}: name this sitemap in the robots.txt of"
                    " that host, or list it in a sitemap there",
                )

    def _is_vouched(self, origin: str, loc: str) -> bool:
        if origin not in self._believed:
            self._believed[origin] = self._vouched(loc)
        return self._believed[origin]


def _origin(loc: str) -> str:
    """The origin of a URL with a slash, or "" when it has none."""
    try:
        return location.origin(loc) + "/"
    except ValueError:
        return ""


def _host(origin: str) -> str:
    """The host of what :func:`_origin` gave."""
    host = origin.split("/")[2]
    return host if host.endswith("]") else host.rpartition(":")[0] or host
