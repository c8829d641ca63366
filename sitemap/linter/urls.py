"""Owns the checks of addresses: their length, what does not belong into them, and whether they may be listed here.

They are made on a batch at a time: a handful of passes in C clear nearly every batch, and only where one finds
something odd are the URLs looked at one by one.
"""

import re
from binascii import a2b_qp
from collections.abc import Callable
from typing import Final

from sitemap import limits, location
from sitemap.errors import InvalidLocation
from sitemap.escape import quote_text
from sitemap.finding import FindingCollector
from sitemap.reader.tree import LineOf

# What may stand in the form to compare (RFC 3986 sections 2.2 and 2.3), and the blank between two URLs.
_SAFE_BYTES: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/?% "
_UNRESERVED: Final = "2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE]"  # as escapes that need not be
_SOUND_URL: Final = re.compile(
    rf"https?://[a-z0-9-]++(?:\.[a-z0-9-]++)*+/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?]++|%(?!{_UNRESERVED})[0-9A-F]{{2}})*+"
)
_USERINFO: Final = re.compile(r"https?://[^/?#@]*@", re.IGNORECASE)
_DOT_SEGMENT: Final = re.compile(r"/\.")  # perhaps; several times as fast as a search for the text
# Percent signs that are not of the escape of a byte beyond ASCII.
_ASCII_ESCAPE: Final = re.compile("%(?![89A-Fa-f][0-9A-Fa-f])(?:[0-7][0-9A-Fa-f])?")
_ASCII: Final = bytes(range(0x80))
# Quoted-printable is percent-encoding with another sign (RFC 2045 section 6.7), and is decoded in C.
_TO_QUOTED: Final = bytes.maketrans(b"%=", b"=\x01")


def is_normal_form(url: str) -> bool:
    """Whether a URL is surely sound, and its own :func:`form`. Says no to some that are, but to few."""
    return len(url) <= limits.MAX_LOC and "/." not in url and _SOUND_URL.fullmatch(url) is not None


def normal_form(url: str) -> str:
    """A URL in the form in which two are compared, without its fragment; as it stands when it is not http(s)."""
    if is_normal_form(url):
        return url
    try:
        return location.form(url)
    except ValueError:
        return url


def normal_key(url: str) -> str:
    """By what a URL is known again: two have one key when they have one :func:`form`, and only then.

    It is the form with the bytes that are not ASCII in place of their escapes, one character each. To find the keys of
    many URLs takes a fraction of the time that their forms take, however their escapes are spelled.
    """
    if "%" not in url and is_normal_form(url):
        return url
    try:
        return _unescaped(location.form(url))
    except ValueError:
        return url


class _EscapeCache(dict[str, str]):
    """What :func:`_unescaped` makes of an escape of ASCII: the character, or the escape in upper case, as in the form.

    A percent sign that stays is escaped once more, since it will be decoded.
    """

    def __missing__(self, escape: str) -> str:
        spelled = location.form(_ANY + escape).removeprefix(_ANY)
        self[escape] = spelled.replace("%", "%25")
        return self[escape]


_ANY: Final = "https://any.example/any"
_ESCAPE_CACHE: Final = _EscapeCache()


def _unescaped(text: str) -> str:
    """URLs of safe characters with the bytes that are not ASCII in place of their escapes; others in their one form."""
    data = text.encode()
    decoded = _decoded(data)
    if len(decoded.translate(None, _ASCII)) != data.count(b"%"):  # not all were such escapes
        decoded = _decoded(_ASCII_ESCAPE.sub(lambda found: _ESCAPE_CACHE[found[0]], text).encode())
    return decoded.decode("latin-1")


def _decoded(data: bytes) -> bytes:
    return a2b_qp(data.translate(_TO_QUOTED)).replace(b"\x01", b"=")


class UrlChecks:
    """Checks the addresses of one document.

    ``url`` is where it will be, "" when that is not known. ``vouched`` says of a URL whether the robots.txt of its
    origin names the sitemap; it is asked once for each origin.
    """

    def __init__(self, url: str, findings: FindingCollector, vouched: Callable[[str], bool]) -> None:
        try:
            self._directory = location.directory(url) if url else ""
        except InvalidLocation:
            self._directory = ""  # a file's path, say: nothing is known of where it will be
        self._findings = findings
        self._vouched = vouched
        self._believed: dict[str, bool] = {}  # what was vouched for, by origin
        self._prefix = normal_key(self._directory)  # nearly all keys begin with it

    def check(self, locs: list[str], line_of: LineOf) -> list[str]:
        """Judge a batch of URLs, and answer the keys by which they are compared."""
        text = " ".join(locs)  # a URL holds no blank: the reader has escaped it
        lengths = set(map(len, locs))
        if max(lengths) > limits.MAX_LOC or min(lengths) < limits.MIN_LOC:
            self._check_lengths(locs, line_of)
        odd = text.encode("utf-8", "replace").translate(None, _SAFE_BYTES)
        if odd or "@" in text:
            self._check_characters(text, locs, line_of)
        if not odd and (keys := self._keys_of_plain(text, locs)):
            return keys
        if self._directory:
            self._check_location(locs, line_of)
        return [normal_key(loc) for loc in locs]

    def _keys_of_plain(self, text: str, locs: list[str]) -> list[str]:
        """The keys of URLs that are all below the prefix, and stay there as nothing leads out again; else none."""
        if not self._prefix:
            self._prefix = _origin(locs[0])
        escaped = "%" in text
        if escaped:
            text = _unescaped(text)
        below = self._prefix and (" " + text).count(" " + self._prefix) == len(locs)
        if not below or _DOT_SEGMENT.search(text):
            return []
        return text.split(" ") if escaped else locs

    def _check_lengths(self, locs: list[str], line_of: LineOf) -> None:
        for number, loc in enumerate(locs):
            if len(loc) > limits.MAX_LOC:
                rule, most = "sitemap.loc_too_long", f"fewer than {limits.MAX_LOC + 1:,} are allowed"
            elif len(loc) < limits.MIN_LOC:
                rule, most = "sitemap.loc_too_short", f"the schema wants at least {limits.MIN_LOC}"
            else:
                continue
            self._findings.add(
                rule, line_of(number), f"{quote_text(loc)} has {len(loc):,} characters, {most}"
            )

    def _check_characters(self, text: str, locs: list[str], line_of: LineOf) -> None:
        """What may stand in a URL and should not. One look at the whole batch spares those that are not concerned."""
        if not text.isascii():
            for number, loc in enumerate(locs):
                if not loc.isascii():
                    self._findings.add(
                        "sitemap.loc_not_ascii", line_of(number), f"{quote_text(loc)} is not in ASCII"
                    )
        if "#" in text:
            for number, loc in enumerate(locs):
                if "#" in loc:
                    self._findings.add(
                        "sitemap.loc_fragment",
                        line_of(number),
                        f"{quote_text(loc)} has a fragment, which is ignored",
                    )
        if "@" in text:
            for number, loc in enumerate(locs):
                if "@" in loc and _USERINFO.match(loc):
                    self._findings.add(
                        "sitemap.loc_credentials",
                        line_of(number),
                        f"{quote_text(loc)} holds a user name or a password: anyone can read it here",
                    )

    def _check_location(self, locs: list[str], line_of: LineOf) -> None:
        for number, loc in enumerate(locs):
            if location.is_within(self._directory, loc):
                continue
            origin = _origin(loc)  # "" for what the reader or another rule has found fault with
            if not origin or (not self._directory.startswith(origin) and self._is_vouched(origin, loc)):
                continue
            if _host_of_origin(origin) == _host_of_origin(_origin(self._directory)):
                self._findings.add(
                    "location.outside", line_of(number), f"{quote_text(loc)} is not below {self._directory}"
                )
            else:
                self._findings.add(
                    "location.other_host",
                    line_of(number),
                    f"{quote_text(loc)} is on another host than {self._directory}: take it out, list it in a sitemap"
                    " there, or name this one in the robots.txt of that host",
                )

    def _is_vouched(self, origin: str, loc: str) -> bool:
        if origin not in self._believed:
            self._believed[origin] = self._vouched(loc)
        return self._believed[origin]


def _origin(loc: str) -> str:
    """The origin of a URL with a slash, or "" when it has none."""
    try:
        return location.url_origin(loc) + "/"
    except ValueError:
        return ""


def _host_of_origin(origin: str) -> str:
    """The host of what :func:`_origin` gave."""
    host = origin.split("/")[2]
    return host if host.endswith("]") else host.rpartition(":")[0] or host
