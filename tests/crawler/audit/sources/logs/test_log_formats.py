"""Every format of access log that is told by its lines or by what a configuration says."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from crawler.audit.source_record import SourceRecord, SourceReport
from crawler.audit.sources.logs.fields import LogRow, client_address
from crawler.audit.sources.logs.formats import COMBINED, LINE_FORMATS, detect_reader
from crawler.audit.sources.logs.log import LogOptions
from crawler.audit.sources.logs.reader import check_logs, read_logs
from crawler.audit.sources.logs.text_formats import LogFormatReader, W3cLogReader
from crawler.audit.sources.urls import SourceUrlParser
from crawler.errors import UsageError
from crawler.model import Url
from crawler.url.params import UrlParams

APACHE = Path(__file__).parent / "apache"
HOME = "https://www.example.com"
GOOGLE = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
CALLED = f'"GET /a?b=1 HTTP/1.1" 200 12 "-" "{GOOGLE}"'
TIME = "[22/Nov/2026:00:30:00 +0100]"


def read(
    paths: Sequence[str], log_format: str = "", **options: object
) -> tuple[list[SourceReport], dict[str, SourceRecord]]:
    """Accounts, and the claims by what follows the host; those of one URL added up."""
    addresses = SourceUrlParser(Url(f"{HOME}/"), UrlParams(), lambda url: url.startswith(HOME))
    accounts: list[SourceReport] = []
    claims: dict[str, SourceRecord] = {}
    for account, found in read_logs(
        paths,
        addresses,
        LogOptions(format=log_format, **options),
        lambda _: None,  # type: ignore[arg-type]
    ):
        for claim in found:
            path = claim.url.removeprefix(HOME)
            claims[path] = added(claims[path], claim) if path in claims else claim
        accounts.append(account)
    return accounts, claims


def added(one: SourceRecord, other: SourceRecord) -> SourceRecord:
    """What both say together, as the file of an audit keeps it."""
    names = ("people", "bots", "ok", "moved", "dead")
    sums = {name: getattr(one, name) + getattr(other, name) for name in names}
    agents = {name: one.agents.get(name, 0) + other.agents.get(name, 0) for name in one.agents | other.agents}
    return structs.replace(other, **sums, agents=agents)


def one(tmp_path: Path, text: str, log_format: str = "") -> tuple[SourceReport, dict[str, SourceRecord]]:
    log = tmp_path / "some.log"
    log.write_text(text)
    check_logs([str(log)], LogOptions(format=log_format))
    (account,), claims = read([str(log)], log_format)
    return account, claims


# --- written by Apache 2.4, asked by a socket for the good, the odd and the bad


@pytest.mark.parametrize(("name", "told"), [("combined", "combined"), ("vhost", "vhost combined")])
def test_httpd_lines_of_a_real_server_are_read_to_the_last(name: str, told: str) -> None:
    (account,), claims = read([str(APACHE / f"{name}.txt")])
    assert (account.format, account.rows, account.unread, account.faults) == (told, 23, 0, [])
    # evil.test by an absolute form; POST, OPTIONS, CONNECT, what was no HTTP, and our own request
    assert (account.used, account.foreign, account.beside) == (17, 1, 5)
    aside, ours = account.notes
    assert ours == "1 by Siteatlas itself, which do not count"
    assert aside == "ignored: 4 with a method other than GET and HEAD, or without a URL"
    assert account.ignored == {"method": 4, "own": 1}
    assert claims["/"].agents == {"Googlebot": 1}
    assert (claims["/"].people, claims["/"].bots, claims["/"].ok) == (3, 1, 4)
    assert (claims["/old"].moved, claims["/old"].status) == (1, 301)
    assert (claims["/caf%C3%A9"].people, claims["/caf%C3%A9"].dead) == (2, 2) if "/caf%C3%A9" in claims else True
    assert claims["/noagent"].agents == {"no user agent": 1}
    assert claims["/page?q=1"].first == claims["/page?q=1"].last == "2026-11-21"
    assert {"/q%22uote", "/back/slash", "/old09", "//double//slash", "/absolute"} <= claims.keys()


def test_httpd_a_logformat_of_ones_own_is_read_as_it_stands_in_the_configuration() -> None:
    told = r'LogFormat "%{Host}i %a %{%Y-%m-%dT%H:%M:%S%z}t %m \"%U%q\" %s %D \"%{User-Agent}i\"" own'
    (account,), claims = read([str(APACHE / "own.txt")], told)
    assert (account.format, account.rows, account.unread, account.faults) == ("as given", 23, 0, [])
    assert claims["/index.html"].agents == {"Googlebot": 1}
    assert claims["/page?q=1"].first == "2026-11-21"
    assert account.foreign == 2  # evil.test and other.example.net
    assert "/other" not in claims


# --- told by the lines


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (f"203.0.113.1 - - {TIME} {CALLED}", "combined"),
        (f"2001:db8::1 - an na {TIME} {CALLED}", "combined"),
        (f'203.0.113.1 - - {TIME} {CALLED} "198.51.100.2, 203.0.113.7" 0.012', "combined and more"),
        (f"www.example.com:443 203.0.113.1 - - {TIME} {CALLED}", "vhost combined"),
        (f"203.0.113.1 www.example.com - {TIME} {CALLED}", "combined with the host"),
        (f'203.0.113.1 - - {TIME} {CALLED} 0.012 "www.example.com" "-"', "combined and the host"),
        (f'203.0.113.1 - - {TIME} {CALLED} 1 "fe@docker" "http://10.0.0.2:80" 3ms', "combined and more"),
    ],
)
def test_ours_variants_of_the_combined_format_are_told_by_their_lines(tmp_path: Path, line: str, told: str) -> None:
    foreign = line.replace("www.example.com", "elsewhere.example.net")
    account, claims = one(tmp_path, f"{line}\n{line}\n{foreign}\n")
    has_host = foreign != line
    assert (account.format, account.rows, account.unread) == (told, 3, 0)
    assert account.foreign == (1 if has_host else 0)
    assert claims["/a?b=1"].agents == {"Googlebot": 2 if has_host else 3}
    assert claims["/a?b=1"].first == "2026-11-21"  # half past midnight, an hour east of UTC


def test_ours_the_common_format_names_nobody(tmp_path: Path) -> None:
    account, claims = one(tmp_path, f'203.0.113.1 - - {TIME} "GET /a HTTP/1.0" 404 -\n')
    assert account.format == "common"
    assert (claims["/a"].people, claims["/a"].bots, claims["/a"].dead) == (1, 0, 1)
    assert account.notes == ["the format has no user agents, so bots are counted as people"]


NGINX_JSON = {
    "time_local": "21/Nov/2026:10:00:00 +0000",
    "request": "GET /a?b=1 HTTP/1.1",
    "uri": "/a",
    "status": "200",
    "http_user_agent": GOOGLE,
    "host": "www.example.com",
}
CADDY = {
    "level": "info",
    "ts": 1795255200.123,
    "logger": "http.log.access",
    "msg": "handled request",
    "request": {
        "remote_ip": "203.0.113.1",
        "proto": "HTTP/2.0",
        "method": "GET",
        "host": "www.example.com",
        "uri": "/a?b=1",
        "headers": {"User-Agent": [GOOGLE]},
    },
    "status": 200,
}
TRAEFIK = {
    "ClientHost": "203.0.113.1",
    "DownstreamStatus": 200,
    "OriginStatus": 500,
    "RequestHost": "www.example.com",
    "RequestMethod": "GET",
    "RequestPath": "/a?b=1",
    "StartUTC": "2026-11-21T10:00:00.123456789Z",
    "request_User-Agent": GOOGLE,
}
GENERIC = {
    "@timestamp": "2026-11-21T11:00:00+02:00",
    "http": {"request": {"method": "GET"}, "response": {"status_code": 200}},
    "url": {"path": "/a", "query": "b=1", "domain": "www.example.com"},
    "user_agent": {"original": GOOGLE},
}


SPACELESS = GOOGLE.replace(" ", "%20")
CLOUDFLARE = {
    "ClientIP": "203.0.113.1",
    "ClientRequestHost": "www.example.com",
    "ClientRequestMethod": "GET",
    "ClientRequestPath": "/a",
    "ClientRequestURI": "/a?b=1",
    "ClientRequestUserAgent": GOOGLE,
    "EdgeResponseStatus": 200,
    "EdgeStartTimestamp": 1795255200000000000,
    "OriginResponseStatus": 0,
}
GOOGLE_CLOUD = {
    "httpRequest": {
        "remoteIp": "203.0.113.1",
        "requestMethod": "GET",
        "requestUrl": f"{HOME}/a?b=1",
        "status": 200,
        "userAgent": GOOGLE,
    },
    "receiveTimestamp": "2026-11-22T00:00:02.1Z",
    "resource": {"labels": {"url_map_name": "x"}, "type": "http_load_balancer"},
    "timestamp": "2026-11-21T10:00:01.123456Z",
}
AKAMAI = {
    "cliIP": "203.0.113.1",
    "queryStr": "b=1",
    "reqHost": "www.example.com",
    "reqMethod": "GET",
    "reqPath": "a",
    "reqTimeSec": "1795255200.000",
    "statusCode": "200",
    "UA": SPACELESS,
}
CLOUDFRONT = {
    "date": "2026-11-21",
    "time": "10:00:00",
    "cs-method": "GET",
    "cs(Host)": "d1.cloudfront.net",
    "cs-uri-stem": "/a",
    "cs-uri-query": "b=1",
    "sc-status": "200",
    "cs(User-Agent)": SPACELESS,
    "x-host-header": "www.example.com",
}
FASTLY = {
    "timestamp": "2026-11-21T10:00:00+0000",
    "host": "www.example.com",
    "url": "/a?b=1",
    "request_method": "GET",
    "request_user_agent": GOOGLE,
    "response_state": "HIT",
    "response_status": 200,
}
AZURE = {
    "time": "2026-11-21T10:00:00.1234567Z",
    "category": "FrontDoorAccessLog",
    "properties": {
        "httpMethod": "GET",
        "requestUri": f"{HOME}:443/a?b=1",
        "userAgent": GOOGLE,
        "httpStatusCode": "200",
    },
}
ENVOY = {
    "start_time": "2026-11-21T10:00:00.1Z",
    "method": "GET",
    "path": "/a?b=1",
    "response_code": 200,
    "response_flags": "-",
    "user_agent": GOOGLE,
    "authority": "www.example.com",
}


@pytest.mark.parametrize(
    "line",
    [
        NGINX_JSON,
        CADDY,
        TRAEFIK,
        GENERIC,
        CLOUDFLARE,
        GOOGLE_CLOUD,
        AKAMAI,
        CLOUDFRONT,
        FASTLY,
        AZURE,
        ENVOY,
        {"time": 1795255200123, "method": "GET", "url": f"{HOME}/a?b=1", "code": 200.0, "ua": GOOGLE},
    ],
)
def test_ours_objects_are_read_by_the_names_that_servers_use(tmp_path: Path, line: dict[str, object]) -> None:
    text = json.dumps(line)
    posted = text.replace('"GET', '"POST')
    account, claims = one(tmp_path, f'{text}\n\n{text}\n{posted}\n{{"level":"info","msg":"started"}}\n{{"half\n')
    assert account.format == "JSON lines"
    assert (account.rows, account.used, account.beside, account.unread) == (5, 2, 2, 1)
    assert claims["/a?b=1"].agents == {"Googlebot": 2}
    assert (claims["/a?b=1"].ok, claims["/a?b=1"].first) == (2, "2026-11-21")


def test_iis_columns_change_within_a_file(tmp_path: Path) -> None:
    text = (
        "#Software: Microsoft Internet Information Services 10.0\r\n#Version: 1.0\r\n"
        "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs(User-Agent) sc-status time-taken\r\n"
        f"2026-11-21 23:59:59 ::1 GET /my+page.aspx id=5 443 {GOOGLE.replace(' ', '+')} 200 15\r\n"
        "2026-11-21 23:59:59 ::1 POST /form - 443 - 200 15\r\n"
        "2026-11-21 23:59:59 ::1 GET /short\r\n"
        "#Fields: date time cs-method cs-uri-stem sc-status cs(User-Agent)\r\n"
        f"2026-11-22 00:00:01 HEAD /new 404 {FIREFOX.replace(' ', '+')}\r\n"
    )
    account, claims = one(tmp_path, text)
    assert account.format == "W3C extended"
    assert (account.rows, account.used, account.beside, account.unread) == (4, 2, 1, 1)
    assert claims["/my%20page.aspx?id=5"].agents == {"Googlebot": 1}
    assert (claims["/new"].people, claims["/new"].dead, claims["/new"].last) == (1, 1, "2026-11-22")


def test_aws_cloudfront_names_the_host_that_was_asked_and_escapes_twice(tmp_path: Path) -> None:
    fields = "date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer)"
    fields += " cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header"
    agent = GOOGLE.replace(" ", "%20")
    line = "2026-11-21\t10:00:00\tFRA2\t9\t203.0.113.1\tGET\td1.cloudfront.net\t/a%2520b\t200\t-"
    line += f"\t{agent}\tc=%2525\t-\tHit\tid"
    account, claims = one(
        tmp_path, f"#Version: 1.0\n#Fields: {fields}\n{line}\twww.example.com\n{line}\telsewhere.example.net\n"
    )
    assert (account.format, account.used, account.foreign) == ("CloudFront", 1, 1)
    assert claims["/a%20b?c=%25"].agents == {"Googlebot": 1}


def test_aws_the_log_of_a_load_balancer(tmp_path: Path) -> None:
    line = (
        "h2 2026-11-21T22:23:00.186641Z app/my/50dc 203.0.113.1:2817 10.0.0.1:80 0.000 0.001 0.000 200 200 34 366"
        f' "GET https://www.example.com:443/a?b=1 HTTP/2.0" "{GOOGLE}" ECDHE TLSv1.2 arn:x "Root=1" "-" "-" 0 x'
    )
    account, claims = one(tmp_path, f"{line}\n")
    assert (account.format, claims["/a?b=1"].agents) == ("AWS ALB", {"Googlebot": 1})


@pytest.mark.parametrize(
    ("told", "name", "line", "agents"),
    [
        (
            "AWS ELB",
            "elb",
            (
                "2026-11-21T10:00:00.1Z lb 203.0.113.1:2817 10.0.0.1:80 0.1 0.2 0.3 200 200 0 29"
                f' "GET http://www.example.com:80/a?b=1 HTTP/1.1" "{GOOGLE}" - -'
            ),
            {"Googlebot": 1},
        ),
        (
            "AWS S3",
            "s3",
            (
                "79a5 bucket [21/Nov/2026:10:00:00 +0000] 203.0.113.1 - 3E57 WEBSITE.GET.OBJECT a"
                f' "GET /a?b=1 HTTP/1.1" 200 - 113 113 7 6 "-" "{GOOGLE}" - s9lz= - - - www.example.com TLSV1.3 - -'
            ),
            {"Googlebot": 1},
        ),
        (
            "Envoy",
            "envoy",
            (
                '[2026-11-21T10:00:00.123Z] "GET /a?b=1 HTTP/1.1" 200 - 0 12 3 2 "203.0.113.1"'
                f' "{GOOGLE}" "uuid" "www.example.com" "10.0.0.1:80"'
            ),
            {"Googlebot": 1},
        ),
        (
            "HAProxy",
            "haproxy",
            (
                "Nov 21 10:00:00 lb haproxy[14389]: 203.0.113.1:33317 [21/Nov/2026:10:00:00.655] http-in static/srv1"
                ' 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {www.example.com|Fire fox} {} "GET /a?b=1 HTTP/1.1"'
            ),
            {},
        ),
        (
            "combined with a prefix",
            "combined",
            (
                "<134>2026-11-21T10:00:00Z web1 nginx[12]: 203.0.113.1 - - [21/Nov/2026:10:00:00 +0000]"
                f' "GET /a?b=1 HTTP/1.1" 200 12 "-" "{GOOGLE}"'
            ),
            {"Googlebot": 1},
        ),
        (
            "combined with a prefix",
            "combined",
            (
                "Nov 21 10:00:00 web1 nginx: 203.0.113.1 - - [21/Nov/2026:10:00:00 +0000]"
                f' "GET /a?b=1 HTTP/1.1" 200 12 "-" "{GOOGLE}"'
            ),
            {"Googlebot": 1},
        ),
    ],
)
def test_ours_lines_of_balancers_buckets_and_relays(
    tmp_path: Path, told: str, name: str, line: str, agents: dict[str, int]
) -> None:
    for given_name in ("", name):
        account, claims = one(tmp_path, f"{line}\n", given_name)
        assert account.format in (told, given_name)
        assert (account.used, account.unread) == (1, 0)
        claim = claims["/a?b=1"]
        assert (claim.agents, claim.status, claim.first) == (agents, 200, "2026-11-21")


# --- drawn: wrappers, hosts and ports

ADDRESSES = ["203.0.113.{}", "2001:db8::{}", "[2001:db8::{}]:5555", "203.0.113.{}:5555", "203.0.113.{}, 10.0.0.1"]
WRAPPERS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "syslog": lambda text: f"Nov  2 10:00:00 web1 nginx[12]: {text}",
    "syslog RFC 5424": lambda text: f"<190>1 2026-11-20T10:00:00.000Z web1 nginx 123 - - {text}",
    "Kubernetes": lambda text: f"2026-11-20T10:00:00.123456789Z stdout F {text}",
    "Docker Compose": lambda text: f"web-1  | {text}",
    "kubectl": lambda text: f"[pod/web-6d4cf56db6-lvkkb/nginx] {text}",
    "Docker": lambda text: json.dumps({"log": f"{text}\n", "stream": "stdout", "time": "2026-11-20T10:00:00.1Z"}),
    "Filebeat": lambda text: json.dumps(
        {"@timestamp": "2026-11-20T10:00:00.1Z", "host": {"name": "w"}, "message": text}
    ),
}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(WRAPPERS)), st.sampled_from(ADDRESSES), st.booleans(), st.booleans())
def test_ours_a_line_counts_whatever_is_around_it_and_however_its_client_is_written(
    wrapper: str, address: str, has_host: bool, is_list_everywhere: bool
) -> None:
    clients = [address if number % 2 or is_list_everywhere else "203.0.113.{}" for number in range(1, 9)]
    host = "www.example.com " if has_host else ""
    lines = [WRAPPERS[wrapper](f"{host}{client.format(n)} - - {TIME} {CALLED}") for n, client in enumerate(clients, 1)]
    sample = [text.encode() for text in lines]
    reader = detect_reader(sample)
    assert reader is not None
    rows, others = reader.rows(b"\n".join(sample))
    assert (len(rows), others) == (8, [])
    assert {row[5] for row in rows} == ({b"www.example.com"} if has_host else {b""})
    found = [client_address(row[0]) for row in rows]
    assert found == [f"2001:db8::{n}" if "db8" in client else f"203.0.113.{n}" for n, client in enumerate(clients, 1)]


JSON_HOSTS = {"host": "host", "http_host": "http_host", "Traefik": "RequestHost", "Logpush": "ClientRequestHost"}


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["http://www.example.com", "https://www.example.com:8443", "http://127.0.0.1:8080"]),
    st.sampled_from(["", ":80", ":443", ":8080", ":38123"]),
    st.sampled_from(["vhost", "second", "absolute", *JSON_HOSTS]),
    st.booleans(),
)
def test_ours_a_host_in_a_log_is_the_site_whatever_its_port(home: str, port: str, form: str, is_ours: bool) -> None:
    """nginx writes $host without a port, a server behind a proxy its own: %v:%p of Apache."""
    host = (home.split("/")[2].split(":", maxsplit=1)[0] if is_ours else "other.example.net") + port
    if form in JSON_HOSTS:
        text = json.dumps({JSON_HOSTS[form]: host, "request": "GET /a HTTP/1.1", "status": 200, "request_uri": "/a"})
    elif form == "absolute":
        text = f'203.0.113.1 - - {TIME} "GET http://{host}/a HTTP/1.1" 200 12 "-" "{FIREFOX}"'
    else:
        first = f"203.0.113.1 {host} -" if form == "second" else f"{host} 203.0.113.1 - -"
        text = f'{first} {TIME} "GET /a HTTP/1.1" 200 12 "-" "{FIREFOX}"'
    parser = SourceUrlParser(Url(f"{home}/"), UrlParams(), lambda url: url.startswith(home))
    with NamedTemporaryFile("w", suffix=".log") as log:
        log.write(f"{text}\n" * 4)
        log.flush()
        for report, found in read_logs([log.name], parser, LogOptions(), lambda _: None):
            claims = [(claim.url, claim.ok) for claim in found]
            assert claims == ([(f"{home}/a", 4)] if is_ours else [])
            assert report.foreign == (0 if is_ours else 4)


QUOTED = st.lists(st.sampled_from(["a", " ", '"', "+", "/", ";"]), max_size=6).map("".join)


@settings(max_examples=100, deadline=None)
@given(st.sets(st.integers(0, 6)), QUOTED)
def test_w3c_a_field_may_be_a_quoted_string(quoted: set[int], text: str) -> None:
    """https://www.w3.org/TR/WD-logfile.html: a string is in quotation marks, and doubles those that it contains."""
    cells = ["2026-11-20", "10:00:00", "GET", "/a", "203.0.113.1", text, "200"]
    line = " ".join(
        '"' + cell.replace('"', '""') + '"' if place in quoted or place == 5 else cell
        for place, cell in enumerate(cells)
    )
    fields = "#Fields: date time cs-method cs-uri-stem c-ip cs(Cookie) sc-status\n"
    rows, others = W3cLogReader().rows(f"{fields}{line}\n".encode())
    assert (rows, others) == ([(b"203.0.113.1", b"2026-11-20 10:00:00", b"/a", b"200", b"-", b"", None)], [])


def test_microsoft_and_others_formats_of_servers_that_log_without_a_common_line(tmp_path: Path) -> None:
    iis = "203.0.113.1, -, 11/20/26, 7:55:20, W3SVC2, S1, 10.0.0.1, 4502, 163, 3223, 200, 0, GET, /a,b, c=1,"
    manager = (
        '[20/Nov/2026:10:00:00 +0000] - 200 200 - GET https www.example.com "/a,b?c=1" [Client 203.0.113.1]'
        f' [Length 123] [Gzip -] [Sent-to 10.0.0.2] "{FIREFOX}" "-"'
    )
    caddy = "2026/11/20 10:00:00.351\t\x1b[34mINFO\x1b[0m\thttp.log.access\thandled request\t" + json.dumps(
        {"request": {"method": "GET", "host": "www.example.com", "uri": "/a,b?c=1"}, "status": 200}
    )
    for line in (iis, manager, caddy):
        account, claims = one(tmp_path, f"{line}\n")
        assert (account.used, account.unread, account.first) == (1, 0, "2026-11-20")
        assert list(claims) == ["/a,b?c=1"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
def test_ours_a_log_may_begin_with_a_byte_order_mark(tmp_path: Path, encoding: str) -> None:
    log = tmp_path / "some.log"
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    text = f"{mark}#Fields: date time cs-uri-stem sc-status\r\n" + "2026-11-20 10:00:00 /café 200\r\n" * 3
    log.write_bytes(text.encode(encoding))
    (account,), claims = read([str(log)])
    assert (account.used, account.unread, list(claims)) == (3, 0, ["/caf%C3%A9"])


# --- as given


@pytest.mark.parametrize(
    ("told", "line"),
    [
        (
            "log_format main '$remote_addr [$time_iso8601] $host '\n    '\"$request\" $status \"$http_user_agent\"';",
            f'1.2.3.4 [2026-11-21T10:00:00+00:00] www.example.com "GET /a?b=1 HTTP/1.1" 200 "{GOOGLE}"',
        ),
        (
            "$msec|$scheme://$host$request_uri|$request_method|$upstream_response_time|$status|$http_user_agent",
            f"1795255200.123|https://www.example.com/a?b=1|GET|0.1, 0.2 : 0.3|200|{GOOGLE}",
        ),
        (
            '$time_local $request_method $uri$is_args$args $upstream_addr $status "$http_user_agent" $x',
            f'21/Nov/2026:10:00:00 GET /a?b=1 10.0.0.1:80, 10.0.0.2:80 : 10.0.0.3:80 200 "{GOOGLE}" x y',
        ),
        (r"%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\" %T", f"1.2.3.4 - - {TIME} {CALLED} 0"),
        (
            """log_format j escape=json '{"t":"$msec","s":$status,"m":"$request_method",'
            '"u":"$request_uri","who":"$http_user_agent"}';""",
            json.dumps({"t": "1795255200", "s": 200, "m": "GET", "u": "/a?b=1", "who": GOOGLE}),
        ),
        (
            "#Fields: date cs-uri-stem cs-uri-query sc-status cs(User-Agent)",
            f"2026-11-21 /a b=1 200 {GOOGLE.replace(' ', '+')}",
        ),
        ("Combined", f"1.2.3.4 - - {TIME} {CALLED}"),
        ("vhost", f"www.example.com 1.2.3.4 - - {TIME} {CALLED}"),
    ],
)
def test_ours_formats_are_taken_as_they_stand_in_a_configuration(tmp_path: Path, told: str, line: str) -> None:
    account, claims = one(tmp_path, f"{line}\n", told)
    assert (account.rows, account.used, account.unread) == (1, 1, 0)
    claim = claims["/a?b=1"]
    assert (claim.agents, claim.status, claim.ok, claim.first) == ({"Googlebot": 1}, 200, 1, "2026-11-21")


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ("nonsense", "the format is neither a known name (combined, common"),
        ("$remote_addr $status", "the format lacks the status or the request"),
        ("{$", "the format begins like JSON, but is not valid JSON"),
        ("json", "not JSON objects with a status"),
        ("#Fields: date time", "does not name the columns cs-uri-stem and sc-status"),
        ("$status $request", "does not match audit.log_format"),
    ],
)
def test_ours_a_format_that_does_not_do_is_refused_before_anything_is_read(tmp_path: Path, told: str, why: str) -> None:
    log = tmp_path / "some.log"
    log.write_text(f"1.2.3.4 - - {TIME} {CALLED}\n")
    with pytest.raises(UsageError, match=r"audit\.log_format") as raised:
        check_logs([str(log)], LogOptions(format=told))
    assert why in str(raised.value)


# --- the quick way gives what the slow one gives

_words = st.text('ab/-"\\[] :+0?\r\t\x16é', max_size=6)
_request = st.one_of(
    st.sampled_from(
        ["GET /a HTTP/1.1", "HEAD /b HTTP/2.0", "GET  HTTP/1.1", "-", "", "GET / HTTP/1", "POST /c HTTP/1.1"]
    ),
    st.builds("GET /{} HTTP/1.1".format, _words),
    _words,
)
_times = st.one_of(st.just("21/Nov/2026:10:00:00 +0000"), _words)
_lines = st.builds(
    '{}{} {} {} [{}] "{}" {} {} "{}" "{}"{}'.format,
    st.sampled_from(["", "www.example.com ", " "]),
    st.sampled_from(["1.2.3.4", "::1", "a b", ""]),
    st.sampled_from(["-", "", "[", "- -"]),
    st.one_of(st.just("-"), _words),
    _times,
    _request,
    st.sampled_from(["200", "404", "-", "20", "2000", ""]),
    st.one_of(st.just("12"), _words),
    st.one_of(st.just("-"), _words),
    st.one_of(st.just("Firefox"), _words),
    st.sampled_from(["", " ", "\r", " 0.1", ' "x" y', "x", " \\"]),
)


@pytest.mark.thorough
@given(st.lists(_lines, max_size=5), st.sampled_from([COMBINED, *LINE_FORMATS.values()]))
@settings(max_examples=100)
def test_ours_cutting_lines_gives_what_the_expression_gives(lines: list[str], layout: str) -> None:
    quick, slow = LogFormatReader("", layout), LogFormatReader("", layout)
    slow._quick = None
    raw = [line.encode() for line in lines]
    text = b"\n".join(raw)
    (rows, others), expected = quick.rows(text), slow.rows(text)
    assert ([_told(row) for row in rows], others) == ([_told(row) for row in expected[0]], expected[1])


def _told(row: LogRow) -> tuple[bytes, ...]:
    """A row in which what is not there is empty."""
    return tuple(each or b"" for each in row)


@given(st.text("aZ09_~.-/%?", max_size=12))
def test_ours_a_plain_path_is_taken_as_it_is_when_that_is_its_form(path: str) -> None:
    addresses = SourceUrlParser(Url("https://www.example.com/"), UrlParams(), lambda _: True)
    assert addresses.parse(f"/{path}") == addresses.parse(f" /{path}")  # which takes the long way
