"""Writes and reads maps of redirects, in the formats of servers, hosts and tools. Pure.

A row that a format cannot hold is left out and named, and so is a limit that a file passes. Sources match the whole
path, with the case of its letters where the format can. The query of a request that no row names does not count, and
servers keep it.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urljoin, urlsplit
from xml.etree import ElementTree as ET  # the input is a file that the user names
from xml.sax.saxutils import quoteattr

from msgspec import Struct

from crawler.errors import UsageError

SKIPPED_GRADES: Final = frozenset({"look", "none"})
"""Grades of a plain CSV file whose rows are no redirects yet: a person sets another when the row is right."""
_SAFE: Final = "/!$&'()*+,;=:@-._~"
_PERMANENT: Final = frozenset({301, 308})


class Redirect(Struct, frozen=True):
    """One row: the path of the source with its query, or its URL; the target in the same way; the status."""

    source: str
    target: str
    status: int = 301

    @property
    def path(self) -> str:
        """The path of the source, encoded, without its query."""
        return encoded(urlsplit(self.source).path or "/")

    @property
    def query(self) -> str:
        """The query of the source, "" for any."""
        return urlsplit(self.source).query

    @property
    def place(self) -> str:
        """The path and the query of the source, encoded."""
        return self.path + (f"?{self.query}" if self.query else "")


Rows = Sequence[Redirect]


def encoded(path: str) -> str:
    """A path in the spelling of RFC 3986, section 6.2.2: letters as they are, others encoded in upper case."""
    return quote(_decoded(path), safe=_SAFE, errors="surrogateescape")


def _decoded(path: str) -> str:
    return unquote(path, errors="surrogateescape")


_SAME_QUERY: Final = "$is_args$args"


def _nginx(rows: Rows) -> Iterator[str]:
    """https://nginx.org/en/docs/http/ngx_http_map_module.html: strings match in any case, and ``$uri`` is decoded."""
    longest = max((len(row.source) for row in rows), default=0)
    yield "# Include this file in the http block, and add to the server block:\n"
    yield '#   if ($moved_to != "") { return 301 $moved_to; }\n'
    yield f"map_hash_bucket_size {1 << max(6, (longest + 32).bit_length())};\n"
    yield f"map_hash_max_size {max(2048, 4 * len(rows))};\n"
    yield from _nginx_map("$uri", "$moved_path", '""', [row for row in rows if not row.query], _SAME_QUERY)
    yield from _nginx_map("$uri?$args", "$moved_to", "$moved_path", [row for row in rows if row.query])


def _nginx_map(value: str, name: str, default: str, rows: Rows, query: str = "") -> Iterator[str]:
    yield f"map {value} {name} {{\n  default {default};\n"
    keys = [_decoded(row.path) + row.place[len(row.path) :] for row in rows]
    cases = Counter(map(str.lower, keys))
    for key, row in zip(keys, rows, strict=True):
        is_plain = cases[key.lower()] == 1 and key.isprintable()
        quoted = key.replace("\\", "\\\\").replace('"', '\\"') if is_plain else f"~^{_as_pattern(key)}$"
        end = "" if re.search("[?#]", row.target) else query
        yield f'  "{quoted}" "{row.target.replace("$", "%24")}{end}";\n'
    yield "}\n"


def _apache(rows: Rows) -> Iterator[str]:
    """https://httpd.apache.org/docs/2.4/mod/mod_rewrite.html: in a virtual host or in .htaccess of its root."""
    yield "RewriteEngine On\n"
    for row in sorted(rows, key=lambda row: not row.query):
        if row.query:
            yield f'RewriteCond %{{QUERY_STRING}} "^{_as_pattern(row.query)}$"\n'
        target = re.sub(r"([$%])", r"\\\1", row.target)
        flags = f"R={row.status},L,NE" + (",QSD" if row.query else "")
        yield f'RewriteRule "^/?{_as_pattern(_decoded(row.path)[1:])}$" "{target}" [{flags}]\n'


def _as_pattern(text: str) -> str:
    """A regular expression of PCRE that matches a text alone; signs and broken bytes by their number."""
    return re.sub(r"[\x00-,.:-@\[-^`{-\x7f\udc80-\udcff]", lambda sign: f"\\x{ord(sign[0]) & 0xFF:02x}", text)


def _underscore(rows: Rows) -> Iterator[str]:
    """https://docs.netlify.com/manage/routing/redirects/overview.md: ``:`` and ``*`` begin a placeholder."""
    for row in rows:
        target = row.target.replace(":", "%3A") if row.target.startswith("/") else row.target
        yield f"{row.path.replace(':', '%3A').replace('*', '%2A')} {target} {row.status}\n"


def _next_row(row: Redirect) -> dict[str, object]:
    """https://nextjs.org/docs/app/api-reference/config/next-config-js/redirects: signs of patterns have a backslash."""
    source = re.sub(r"([\\(){}:*+?])", r"\\\1", row.path)
    target = re.sub(r"([\\(){}:*+])", r"\\\1", row.target) if row.target.startswith("/") else row.target
    asked = [{"type": "query", "key": key, "value": re.escape(value)} for key, value in parse_qsl(row.query)]
    has = {"has": asked} if asked else {}
    return {"source": source, **has, "destination": target, "permanent": row.status in _PERMANENT}


def _json(rows: Rows, key: str = "") -> Iterator[str]:
    told = [_next_row(row) for row in rows]
    yield json.dumps({key: told} if key else told, indent=2) + "\n"


def _iis(rows: Rows) -> Iterator[str]:
    """https://learn.microsoft.com/en-us/iis/extensions/url-rewrite-module/using-rewrite-maps-in-url-rewrite-module"""
    yield '<!-- The rule that uses it: <rule name="moves" stopProcessing="true"><match url=".*" />\n'
    yield '<conditions logicalGrouping="MatchAny"><add input="{moves:{REQUEST_URI}}" pattern="(.+)" />\n'
    yield '<add input="{moves:{PATH_INFO}}" pattern="(.+)" /></conditions>\n'
    yield '<action type="Redirect" url="{C:1}" appendQueryString="false" redirectType="Permanent" /></rule> -->\n'
    yield '<rewriteMaps>\n  <rewriteMap name="moves">\n'
    yield from (f"    <add key={quoteattr(row.place)} value={quoteattr(row.target)} />\n" for row in rows)
    yield "  </rewriteMap>\n</rewriteMaps>\n"


def csv_table(header: str, rows: Iterable[Sequence[object]]) -> str:
    """A CSV file: its ``header``, and the cells of each row."""
    lines = io.StringIO(newline="")
    csv.writer(lines, lineterminator="\n").writerows(rows)
    return f"{header}{lines.getvalue()}"


def _plain_csv(rows: Rows, header: str = "") -> str:
    return csv_table(header, ((row.source, row.target, row.status) for row in rows))


def _wordpress(rows: Rows) -> str:
    """https://github.com/johngodley/redirection, fileio/csv.php: the header is skipped by its name."""
    return csv_table("source,target,regex,code\n", ((row.place, row.target, 0, row.status) for row in rows))


class Format(Struct, frozen=True):
    """A format, and its ``limits`` by the documentation at ``source``.

    ``query``: a source may have a query. ``status``: a row has its status. ``whole``: sources and targets are URLs.
    """

    write: Callable[[Rows], Iterable[str]]
    limits: Mapping[str, int] = {}
    source: str = ""
    query: bool = True
    status: bool = True
    whole: bool = False


_ROWS, _LINE, _BYTES = "rows", "characters in a line", "bytes"
_NETLIFY: Final = "https://docs.netlify.com/manage/routing/redirects/overview.md"
_PAGES: Final = "https://developers.cloudflare.com/pages/configuration/redirects/"
_BULK: Final = "https://developers.cloudflare.com/rules/url-forwarding/bulk-redirects/ (free plan)"
_VERCEL: Final = "https://vercel.com/docs/project-configuration"
_NEXT: Final = "https://nextjs.org/docs/app/api-reference/config/next-config-js/redirects"
_IIS: Final = "https://ruslany.net/2010/05/storing-url-rewrite-mappings-in-a-separate-file/"
FORMATS: Final[Mapping[str, Format]] = {
    "csv": Format(partial(_plain_csv, header="old,new,status\n")),
    "nginx": Format(_nginx, status=False),
    "apache": Format(_apache),
    "netlify": Format(_underscore, {_ROWS: 10_000}, _NETLIFY, query=False),
    "cloudflare": Format(_underscore, {_ROWS: 2_000, _LINE: 1_000}, _PAGES, query=False),
    # https://developers.cloudflare.com/rules/url-forwarding/bulk-redirects/reference/csv-file-format/: no header
    "cloudflare-bulk": Format(_plain_csv, {_ROWS: 10_000}, _BULK, query=False, whole=True),
    "vercel": Format(partial(_json, key="redirects"), {_ROWS: 2_048}, _VERCEL),
    "next": Format(_json, {_ROWS: 1_024}, _NEXT),
    "iis": Format(_iis, {_BYTES: 250_000}, _IIS, status=False),
    "wordpress": Format(_wordpress),
}
"""Netlify has no fixed limit, and advises patterns beyond 10,000 rows."""


def write_map(name: str, rows: Rows, site: str = "") -> tuple[str, list[str]]:
    """The file in a format, and in sentences what it cannot hold. Raises UsageError for a map without hosts.

    ``site`` is the URL of the site, for formats that need whole URLs.
    """
    form = FORMATS[name]
    base = site if form.whole else ""
    held = [
        Redirect(urljoin(base, row.source), urljoin(base, quote(row.target, safe=_SAFE + "%?#[]")), row.status)
        for row in rows
        if form.query or not row.query
    ]
    notes = []
    if left := len(rows) - len(held):
        notes.append(f"{left:,} rows are left out: {name} cannot match the query of a source")
    if not form.status and (temporary := sum(row.status not in _PERMANENT for row in held)):
        notes.append(f"{temporary:,} temporary redirects become permanent: a file of {name} has no status")
    if form.whole and any("://" not in row.source or "://" not in row.target for row in held):
        raise UsageError(f"{name} needs whole URLs. Add --site https://www.example.com")
    text = "".join(form.write(held))
    longest = max(map(len, text.splitlines()), default=0)
    sizes = {_ROWS: len(held), _LINE: longest, _BYTES: len(text.encode("utf-8", "surrogatepass"))}
    notes += (
        f"the file has {sizes[unit]:,} {unit}, and the limit of {name} is {limit:,}: {form.source}"
        for unit, limit in form.limits.items()
        if sizes[unit] > limit
    )
    return text, notes


def read_map(text: str, name: str, skipped: Collection[str] = SKIPPED_GRADES) -> list[Redirect]:
    """The rows of a file in any of the formats, which is found by its content. ``name`` is for messages.

    Rows of a plain CSV file with one of the ``skipped`` grades are left out.

    Raises UsageError if the file has no row.
    """
    start = text.lstrip("\ufeff \t\r\n")
    try:
        if start[:1] in ("{", "["):
            rows = [*_read_json(json.loads(start))]
        elif start[:1] == "<":
            rows = [*_read_iis(start)]
        elif re.search(r"^\s*(?:map\s|Rewrite(?:Rule|Engine)|Redirect)", start, re.MULTILINE):
            rows = [*_read_server(start)]
        else:
            is_underscore = re.search(r"^(?:/|https?:)\S*+[ \t]++(?:/|https?:)", start, re.MULTILINE)
            rows = [*(_read_underscore(start) if is_underscore else _read_csv(start, skipped))]
        for row in rows:
            for url in (row.source, row.target):
                urlsplit(url)
    except (ValueError, TypeError, KeyError, ET.ParseError) as error:
        raise UsageError(f"{name} cannot be read as a map of redirects: {error}") from None
    if not rows:
        raise UsageError(f"{name} has no redirects. It may be in one of these formats: {', '.join(FORMATS)}")
    return rows


def _read_json(value: Any) -> Iterator[Redirect]:
    for row in value["redirects"] if isinstance(value, dict) else value:
        asked = urlencode(
            [(part["key"], _unescaped(part.get("value", ""))) for part in row.get("has", ())], quote_via=quote
        )
        source = _unescaped(row["source"]) + (f"?{asked}" if asked else "")
        status = row.get("statusCode") or (308 if row.get("permanent") else 307)
        yield Redirect(source, _unescaped(row["destination"]), int(status))


def _read_iis(text: str) -> Iterator[Redirect]:
    for row in ET.fromstring(text).iter("add"):  # noqa: S314 - a file that the user names
        yield Redirect(row.attrib["key"], row.attrib["value"])


def _read_csv(text: str, skipped: Collection[str]) -> Iterator[Redirect]:
    head, _, rest = text.partition("\n")
    names = head.lower().replace('"', "").strip().split(",")
    is_named = names[0] in ("old", "source")
    table = csv.DictReader(io.StringIO(rest if is_named else text), names if is_named else ("source", "target", "code"))
    for row in table:
        source, target = row.get("old") or row.get("source"), row.get("new") or row.get("target")
        if source and target and row.get("grade") not in skipped:
            yield Redirect(source, target, int(row.get("code") or row.get("status") or 301))


def _read_underscore(text: str) -> Iterator[Redirect]:
    for line in text.splitlines():
        parts = line.partition(" #")[0].split()
        if len(parts) >= 2 and not line.startswith("#"):
            status = parts[2].rstrip("!") if len(parts) > 2 else "302"
            yield Redirect(parts[0], parts[1], int(status))


_STRING: Final = r"(\"(?:\\.|[^\"\\])*+\"|[^\s\";]++)"
_nginx_row = re.compile(rf"^\s*{_STRING}\s+{_STRING}\s*;\s*$").match
_apache_row = re.compile(
    rf"^\s*(RewriteRule|RewriteCond|Redirect(?:Match)?)(?:\s*+(30[1278]\b|permanent\b))?\s++{_STRING}\s++{_STRING}"
    r"(?:\s+\[([^\]]*+)\])?\s*$",
    re.IGNORECASE,
).match


def _read_server(text: str) -> Iterator[Redirect]:
    """The rows of an nginx map, or of Apache's directives. Patterns of more than one path or query are left out."""
    query: str | None = ""
    has_query = False
    for line in text.splitlines():
        if row := _apache_row(line):
            name, code, left, right, flags = row[1].lower(), row[2], _bare(row[3]), _bare(row[4]), row[5]
            if name == "rewritecond":
                query = _literal(right) if query == "" and "QUERY_STRING" in left else None
                continue
            condition, query = query, ""
            if name == "redirect" and not left.startswith("/"):  # "Redirect gone /a"
                continue
            if name in ("rewriterule", "redirectmatch"):
                path = _literal(left)
                if path is None or condition is None or right == "-":  # no redirect
                    continue
                left, right = f"/{path.removeprefix('/')}", _unescaped(right)
            given = re.search(r"30\d", f"{flags} {code}".lower().replace("permanent", "301"))
            source = encoded(left) + (f"?{condition}" if condition else "")
            yield Redirect(source, right, int(given[0]) if given else 302)
        elif row := _nginx_row(line):
            key = _bare(row[1])
            key = (_literal(key) or "") if key.startswith("~") else key
            path, mark, asked = key.rpartition("?") if has_query else (key, "", "")
            if key.startswith("/"):
                yield Redirect(encoded(path) + mark + asked, _bare(row[2]).removesuffix(_SAME_QUERY))
        elif line.lstrip().startswith("map "):
            has_query = "args" in line


def _literal(pattern: str) -> str | None:
    """The one text that a pattern of a whole path or query matches, None if it matches several."""
    bare = re.sub(r"^~?\^(?:/\?)?|(?:/\?)?\$$", "", pattern)
    return None if bare == "." or re.search(r"(?<!\\)[()*+?\[\]{}|^$]", bare) else _unescaped(bare)


def _bare(text: str) -> str:
    return re.sub(r"\\([\"\\])", r"\1", text[1:-1]) if text.startswith('"') else text


def _unescaped(text: str) -> str:
    return re.sub(r"\\(?:x([0-9a-f]{2})|(.))", _unescaped_sign, text)


def _unescaped_sign(sign: re.Match[str]) -> str:
    return bytes.fromhex(sign[1]).decode("utf-8", "surrogateescape") if sign[1] else sign[2]
