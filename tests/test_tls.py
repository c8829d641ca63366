"""TLS and HTTP/2 against a real nginx, over both transports."""

from pathlib import Path

import pytest
import trustme
from nginx import nginx
from ports import reserved_port
from run import crawl, listed

WWW = Path(__file__).parent / "example_site" / "www"


@pytest.fixture
def tls(tmp_path: Path) -> tuple[str, str]:
    """The lines of nginx's configuration that make it speak TLS, and the URL it then has."""
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_and_cert_chain_pem.write_to_path(tmp_path / "server.pem")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    port = reserved_port()
    pem = tmp_path / "server.pem"
    lines = f"listen 127.0.0.1:{port} ssl http2; ssl_certificate {pem}; ssl_certificate_key {pem};"
    return lines, f"https://127.0.0.1:{port}/"


@pytest.mark.needs_nginx
@pytest.mark.parametrize("transport", ["fast", "httpx"])
@pytest.mark.parametrize(
    ("flag", "protocol"), [("--set=fetch.http2=true", "HTTP/2.0"), ("--set=fetch.http2=false", "HTTP/1.1")]
)
def test_rfc9113_http2_is_spoken_when_asked_for(
    tmp_path: Path, tls: tuple[str, str], transport: str, flag: str, protocol: str
) -> None:
    lines, url = tls
    with nginx(WWW, lines) as server:
        ran = crawl(tmp_path, url, f"--set=fetch.transport={transport}", flag, "--set=fetch.ca_file=ca.pem")
        assert ran.code == 0, ran.err
        assert len(listed(tmp_path)) == 8
        assert server.protocols() == {protocol}


@pytest.mark.needs_nginx
@pytest.mark.parametrize("transport", ["fast", "httpx"])
def test_ours_a_certificate_of_nobody_we_trust_ends_it_before_a_request(
    tmp_path: Path, tls: tuple[str, str], transport: str
) -> None:
    lines, url = tls
    with nginx(WWW, lines) as server:
        ran = crawl(tmp_path, url, f"--set=fetch.transport={transport}")
        assert ran.code == 5
        assert "certificate" in ran.err
        assert server.requests() == []
