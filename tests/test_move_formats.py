"""The formats of maps of redirects: real servers answer each row, and each file is read back."""

import csv
import http.client
import io
import json
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from urllib.parse import parse_qsl, unquote, urlsplit
from xml.etree import ElementTree as ET

import pytest
from nginx import nginx

from crawler.errors import UsageError
from crawler.moves.formats import FORMATS, Redirect, encoded, read_map, write_map

_ODD = list("abcxyzABC019-_.~!$&'()*+,;=:@%\"<>\\^`{|}[]# äß中") + ["//"[:1]] * 4


def drawn_rows(seed: int, count: int) -> list[Redirect]:
    """Rows with characters that some format gives a meaning, with queries, and with paths that differ in case."""
    draw = Random(seed)
    rows: dict[str, Redirect] = {}
    while len(rows) < count:
        path = encoded("/" + "".join(draw.choices(_ODD, k=draw.randint(1, 70))).strip("/. "))
        if "//" in path or "/." in path:
            continue
        query = f"?p={draw.randint(1, 99)}&x={draw.choice(('1', 'a%20b', 'A'))}" if draw.random() < 0.1 else ""
        target = encoded("/" + "".join(draw.choices(_ODD, k=20)).replace("/", "")) + draw.choice(("", "/", "?a=1&b=2"))
        for source in (path + query, path.upper() if draw.random() < 0.1 and "%" not in path else path + query):
            rows[source] = Redirect(source, target)
    return list(rows.values())


def asked(url: str, rows: list[Redirect]) -> dict[str, tuple[int, str]]:
    """The status and the target of each source."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc)
    answers = {}
    for row in rows:
        connection.request("GET", row.source)
        response = connection.getresponse()
        response.read()
        answers[row.source] = response.status, (response.getheader("Location") or "").removeprefix(url.rstrip("/"))
    connection.close()
    return answers


def expected(rows: list[Redirect], dollar: str = "$") -> dict[str, tuple[int, str]]:
    return {row.source: (301, row.target.replace("$", dollar)) for row in rows}


@contextmanager
def apache(root: Path, config: str) -> Iterator[str]:
    """The URL of a private Apache on the loopback address. Skips the test without one."""
    binary = shutil.which("apache2", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if binary is None:
        if os.environ.get("SITEATLAS_REQUIRE_ALL"):
            pytest.fail("apache2 is not installed, and SITEATLAS_REQUIRE_ALL demands it")
        pytest.skip("apache2 is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    modules = Path("/usr/lib/apache2/modules")
    loaded = "".join(
        f"LoadModule {name}_module {modules}/mod_{name}.so\n" for name in ("mpm_event", "authz_core", "rewrite")
    )
    user = "User www-data\nGroup www-data\n" if os.geteuid() == 0 else ""
    (root / "apache.conf").write_text(
        f"{loaded}{user}ServerName localhost\nListen 127.0.0.1:{port}\nPidFile {root}/pid\nErrorLog {root}/error.log\n"
        f"DefaultRuntimeDir {root}\nDocumentRoot {root}\nAllowEncodedSlashes On\n"
        f"<VirtualHost *:{port}>\n{config}</VirtualHost>\n",
        encoding="utf-8",
    )
    process = subprocess.Popen([binary, "-X", "-f", str(root / "apache.conf"), "-E", str(root / "start.log")])
    try:
        for _ in range(500):
            if process.poll() is not None:
                raise RuntimeError((root / "start.log").read_text())
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(10)


@pytest.mark.parametrize("seed", [1, 2])
def test_ours_nginx_redirects_every_row_of_a_map(tmp_path: Path, seed: int) -> None:
    rows = drawn_rows(seed, 300)
    text, notes = write_map("nginx", rows)
    (tmp_path / "moves.conf").write_text(text, encoding="utf-8")
    use = 'if ($moved_to != "") { return 301 $moved_to; }'
    with nginx(tmp_path, use, f"include {tmp_path}/moves.conf;") as server:
        assert asked(server.url, rows) == expected(rows, "%24")
        assert asked(server.url, [Redirect("/another", "")])["/another"][0] != 301
        with_query = _with_queries(rows)
        assert asked(server.url, with_query) == expected(with_query, "%24")
    assert notes == []


def _with_queries(rows: list[Redirect]) -> list[Redirect]:
    """Requests of the plain rows with a query, which the target gets."""
    plain = [row for row in rows if not {"?", "#"} & {*row.source, *row.target}]
    assert plain
    return [Redirect(f"{row.source}?utm=1", f"{row.target}?utm=1") for row in plain]


@pytest.mark.parametrize("seed", [1, 2])
def test_ours_apache_redirects_every_row_of_a_map(tmp_path: Path, seed: int) -> None:
    rows = [row for row in drawn_rows(seed, 300) if "%2F" not in row.source]
    text, notes = write_map("apache", rows)
    with apache(tmp_path, text) as url:
        assert asked(url, rows) == expected(rows)
        assert asked(url, [Redirect("/another", "")])["/another"][0] != 301
        with_query = _with_queries([row for row in rows if row.status == 301])
        assert asked(url, with_query) == expected(with_query)
    assert notes == []


def encoded_sign(sign: str) -> str:
    return f"%{ord(sign):02X}"


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("seed", range(5))
def test_ours_every_format_is_read_back_as_it_was_written(name: str, seed: int) -> None:
    site = "https://www.example.com" if name == "cloudflare-bulk" else ""
    rows = [Redirect(site + row.source, site + row.target) for row in drawn_rows(seed, 200)]
    text, notes = write_map(name, rows)
    held = [row for row in rows if FORMATS[name].query or not row.query]
    sign = {"nginx": "$", "netlify": ":", "cloudflare": ":"}.get(name, "\0")  # signs that it encodes in targets
    kept = {(row.path, row.query): row.target.replace(sign, encoded_sign(sign)) for row in held}
    back = {(row.path, row.query): row.target for row in read_map(text, "moves")}
    assert back == kept
    assert bool(notes) == (len(held) < len(rows))


def literal(pattern: str) -> str:
    """The one path that a pattern of path-to-regexp matches. Fails if a sign of patterns has no backslash."""
    assert not re.search(r"[(){}:*+?]", re.sub(r"\\.", "", pattern)), pattern
    return re.sub(r"\\(.)", r"\1", pattern)


@pytest.mark.parametrize("name", ["netlify", "cloudflare"])
def test_netlify_a_line_is_two_urls_and_a_status_without_placeholders(name: str) -> None:
    """https://docs.netlify.com/manage/routing/redirects/redirect-options/#placeholders."""
    rows = [row for row in drawn_rows(7, 200) if not row.query]
    lines = write_map(name, rows)[0].splitlines()
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows, strict=True):
        source, target, status = line.split(" ")
        assert re.fullmatch(r"/[!-~]*", source + target)
        assert not set(":*#") & set(source + target.replace("*", ""))
        assert (unquote(source), unquote(target), status) == (unquote(row.source), unquote(row.target), "301")


@pytest.mark.parametrize("name", ["vercel", "next"])
def test_next_a_source_is_a_pattern_of_one_path(name: str) -> None:
    """https://nextjs.org/docs/app/api-reference/config/next-config-js/redirects; ``has`` values are expressions."""
    rows = drawn_rows(8, 200)
    told = json.loads(write_map(name, rows)[0])
    for given, row in zip(told["redirects"] if name == "vercel" else told, rows, strict=True):
        assert given.keys() <= {"source", "destination", "permanent", "has"}
        assert literal(given["source"]) == row.path
        assert literal(given["destination"].partition("?")[0]) == row.target.partition("?")[0]
        assert given["permanent"] is True
        asked = parse_qsl(row.query)
        for condition, (key, value) in zip(given.get("has", []), asked, strict=True):
            assert (condition["type"], condition["key"]) == ("query", key)
            assert re.fullmatch(condition["value"], value)


def test_iis_a_rewrite_map_is_xml_with_each_key_once() -> None:
    rows = drawn_rows(9, 200)
    text, _ = write_map("iis", rows)
    rule = ET.fromstring(re.search(r"(?s)<rule .*</rule>", text)[0])  # type: ignore[index]
    assert [part.tag for part in rule] == ["match", "conditions", "action"]
    root = ET.fromstring(text)
    assert [child.tag for child in root] == ["rewriteMap"]
    assert {add.get("key"): add.get("value") for add in root.iter("add")} == {row.source: row.target for row in rows}


def test_wordpress_a_row_has_four_cells_below_the_header_that_is_skipped() -> None:
    """https://github.com/johngodley/redirection, fileio/csv.php: source, target, regex, code."""
    rows = drawn_rows(10, 200)
    header, *told = csv.reader(io.StringIO(write_map("wordpress", rows)[0]))
    assert header == ["source", "target", "regex", "code"]
    assert told == [[row.source, row.target, "0", "301"] for row in rows]


def test_cloudflare_a_bulk_list_has_no_header_and_whole_urls() -> None:
    site = "https://www.example.com"
    rows = [Redirect(site + row.source, site + row.target) for row in drawn_rows(11, 200)]
    text, notes = write_map("cloudflare-bulk", rows)
    told = [*csv.reader(io.StringIO(text))]
    assert told == [[row.source, row.target, "301"] for row in rows if "?" not in row.source]
    assert "cannot match the query" in notes[0]
    with pytest.raises(UsageError, match="--site"):
        write_map("cloudflare-bulk", [Redirect("/x", "/y")])


LIMITED = [(name, unit) for name, form in FORMATS.items() for unit in form.limits]


@pytest.mark.parametrize(("name", "unit"), LIMITED)
def test_ours_a_limit_that_a_file_passes_is_said(name: str, unit: str) -> None:
    limit = FORMATS[name].limits[unit]
    host = "https://www.example.com"

    def told(count: int) -> list[str]:
        if unit == "rows":
            return write_map(name, [Redirect(f"{host}/old/{number}", f"{host}/") for number in range(count)])[1]
        empty = len(write_map(name, [Redirect("/", "/new")])[0]) - (unit != "bytes")
        return write_map(name, [Redirect("/" + "a" * (count - empty), "/new")])[1]

    assert told(limit) == []
    (note,) = told(limit + 1)
    assert f"{limit + 1:,} {unit}" in note
    assert "https://" in note


@pytest.mark.parametrize("name", ["nginx", "iis"])
def test_ours_a_file_without_statuses_says_what_it_makes_of_temporary_redirects(name: str) -> None:
    (note,) = write_map(name, [Redirect("/a", "/b", 302), Redirect("/c", "/d", 308)])[1]
    assert note.startswith("1 temporary")


def test_ours_directives_that_people_write_by_hand_are_read() -> None:
    text = "RewriteRule ^index\\.php$ - [L]\nRewriteRule . /index.php [L]\nRedirect gone /x\nRedirect 410 /y\n"
    text += "Redirect permanent /a https://www.example.com/b\nRedirectMatch 301 ^/c\\.html$ /c/\nRedirect /d /e\n"
    text += "RewriteRule ^old/(.*)$ /new/$1 [R=301,L]\nRewriteRule ^f/?$ /g [R=301,L]\n"  # the first is of many paths
    text += "RewriteCond %{HTTP_HOST} ^old$\nRewriteRule ^h$ /i [R=301]\n"  # of another host
    text += "RewriteCond %{QUERY_STRING} ^id=4$\nRewriteRule ^j$ /k [R=308]\n"
    rows = read_map(text, ".htaccess")
    assert [(row.source, row.target, row.status) for row in rows] == [
        ("/a", "https://www.example.com/b", 301),
        ("/c.html", "/c/", 301),
        ("/d", "/e", 302),
        ("/f", "/g", 301),
        ("/j?id=4", "/k", 308),
    ]


def test_ours_a_file_without_redirects_is_named() -> None:
    with pytest.raises(UsageError, match="has no redirects"):
        read_map("nothing here\n"[:7], "moves.txt")


def test_ours_a_row_that_is_no_url_is_named() -> None:
    with pytest.raises(UsageError, match=r"m\.csv cannot be read as a map of redirects: Invalid IPv6 URL"):
        read_map("old,new\nhttp://[x,/b\n", "m.csv")
