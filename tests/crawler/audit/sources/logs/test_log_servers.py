"""Logs that a real nginx wrote, in several formats at once, of requests good and bad."""

import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from nginx import nginx

from crawler.audit.source_record import SourceRecord, SourceReport
from crawler.audit.sources.logs.log import LogOptions
from crawler.audit.sources.logs.reader import read_logs
from crawler.audit.sources.urls import SourceUrlParser
from crawler.model import Url
from crawler.url.params import UrlParams

HOME = "https://www.example.com"
OWN = (
    "log_format own '$remote_addr|$time_iso8601|$scheme://$host$request_uri|'\n"
    "  '$request_method|$status|$upstream_response_time|$http_user_agent';"
)
JSON = """log_format json escape=json '{"time":"$time_iso8601","status":$status,"request":"$request",'
  '"host":"$host","http_user_agent":"$http_user_agent","request_time":$request_time}';"""
HOSTED = (
    "log_format hosted '$host $remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent '\n"
    '  \'"$http_referer" "$http_user_agent" "$http_x_forwarded_for"\';'
)
AGENT = b"Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"


def request(line: bytes, agent: bytes = AGENT, host: bytes = b"www.example.com") -> bytes:
    return line + b" HTTP/1.1\r\nHost: " + host + b"\r\nUser-Agent: " + agent + b"\r\nConnection: close\r\n\r\n"


REQUESTS = [
    request(b"GET /"),
    request(b"GET /index.html?q=1&utm_source=x"),
    request(b"HEAD /"),
    request(b"GET /caf\xc3\xa9"),
    request(b"GET /caf%C3%A9"),
    request(b'GET /q"uote'),
    request(b"GET /back\\slash"),
    request(b"GET /style.css"),
    request(b"POST /form"),
    request(b"GET /old"),
    request(b"GET http://www.example.com/absolute"),
    request(b"GET /", b"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"),
    request(b"GET /", b'we"ird \\ \x1b[31m agent\t[x]'),
    request(b"GET /", b"Siteatlas/0.1"),
    request(b"GET /other", host=b"other.example.net"),
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    b"GARBAGE\r\n\r\n",
]


def ask(url: str, raw: bytes) -> None:
    with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), timeout=5) as connection:
        connection.sendall(raw)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65_536):
            pass


def read(log: Path, log_format: str = "") -> tuple[SourceReport, dict[str, SourceRecord]]:
    addresses = SourceUrlParser(Url(f"{HOME}/"), UrlParams(), lambda url: url.startswith(HOME))
    (only,) = (
        (account, list(found))
        for account, found in read_logs([str(log)], addresses, LogOptions(format=log_format), lambda _: None)
    )
    claims: dict[str, SourceRecord] = {}
    for claim in only[1]:
        path = claim.url.removeprefix(HOME)
        claims[path] = claim if path not in claims or claim.people > claims[path].people else claims[path]
    return only[0], claims


@pytest.mark.needs_nginx
def test_nginx_its_own_lines_are_read_to_the_last_in_every_format(tmp_path: Path) -> None:
    root = tmp_path / "www"
    root.mkdir()
    (root / "index.html").write_text("<!doctype html><title>x</title>")
    logs = {name: tmp_path / f"{name}.log" for name in ("combined", "own", "json", "hosted")}
    # what follows is for the server that is opened before it, because all of http's is
    extra = f"location = /old {{ return 301 /new; }} }} {OWN} {JSON} {HOSTED}"
    extra += "".join(f" access_log {path} {name};" for name, path in logs.items())
    extra += f" server {{ listen unix:{tmp_path}/spare; return 404;"
    with nginx(root, extra) as server:
        for raw in REQUESTS:
            ask(server.url, raw)
    found = {
        "combined": read(logs["combined"]),
        "own": read(logs["own"], OWN),
        "json": read(logs["json"]),
        "json as given": read(logs["json"], JSON),
        "hosted": read(logs["hosted"]),
        "hosted as given": read(logs["hosted"], HOSTED),
    }
    for name, (account, claims) in found.items():
        assert (account.rows, account.unread, account.faults) == (len(REQUESTS), 0, []), name
        assert account.used + account.beside + account.foreign == len(REQUESTS), name
        assert account.foreign == (0 if name == "combined" else 1), name
        assert (claims["/"].people, claims["/"].agents) == (3, {"Googlebot": 1}), name
        assert (claims["/"].ok, claims["/"].first) == (4, claims["/"].last), name
        assert claims["/old"].moved == claims["/index.html?q=1"].ok == 1, name
        assert {"/caf%C3%A9", "/q%22uote", "/back/slash", "/absolute"} <= claims.keys(), name
        assert "/form" not in claims, name
    assert "/other" in found["combined"][1]
    assert found["hosted"][0].format == "vhost combined and more"
