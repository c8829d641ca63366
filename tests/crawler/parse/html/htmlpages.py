"""Makes documents of markup and reads them, for the tests of this folder."""

from crawler.model import FetchedDocument, Page, Url
from crawler.parse.html.page import ReadOptions, read_flat_page, read_page
from crawler.url.resolve import UrlResolver

URL = Url("https://example.com/dir/page.html")
NOW = 1_700_000_000.0  # 2023-11-14


def document(body: str | bytes, **fields: object) -> FetchedDocument:
    values: dict[str, object] = {
        "url": URL,
        "content_type": "text/html; charset=utf-8",
        "links": [],
        "robots": [],
        "refresh": "",
        "body": body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body,
    }
    return FetchedDocument(**{**values, **fields})  # type: ignore[arg-type]


def read(body: str | bytes, *, options: ReadOptions | None = None, **fields: object) -> Page:
    return read_page(document(body, **fields), options or ReadOptions(), UrlResolver(), NOW)


def scan(body: str | bytes, *, options: ReadOptions | None = None, **fields: object) -> Page:
    return read_flat_page(document(body, **fields), options or ReadOptions(), UrlResolver(), NOW, "parse.timeout")


def links(body: str | bytes, **fields: object) -> dict[str, int]:
    return {str(url): int(flags) for url, flags in read(body, **fields).links}
