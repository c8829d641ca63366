"""Owns reading a published folder with ultimate-sitemap-parser, which fetches from the folder instead of a server."""

from pathlib import Path

from usp.fetch_parse import SitemapFetcher
from usp.objects.page import SitemapPage
from usp.objects.sitemap import InvalidSitemap
from usp.web_client.abstract_client import (
    AbstractWebClient,
    AbstractWebClientResponse,
    AbstractWebClientSuccessResponse,
    WebClientErrorResponse,
)


class _Answer(AbstractWebClientSuccessResponse):
    def __init__(self, url: str, data: bytes) -> None:
        self._url, self._data = url, data

    def status_code(self) -> int:
        return 200

    def status_message(self) -> str:
        return "OK"

    def header(self, case_insensitive_name: str) -> str | None:
        return None

    def raw_data(self) -> bytes:
        return self._data

    def url(self) -> str:
        return self._url


class _Folder(AbstractWebClient):
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def set_max_response_data_length(self, max_response_data_length: int | None) -> None:
        pass

    def get(self, url: str) -> AbstractWebClientResponse:
        path = self._folder / url.rpartition("/")[2]
        if not path.is_file():
            return WebClientErrorResponse("404 Not Found", retryable=False)
        return _Answer(url, path.read_bytes())


def pages(folder: Path, url: str) -> list[SitemapPage]:
    """The pages of the set that is published in the folder, and announced at the URL."""
    tree = SitemapFetcher(url, recursion_level=0, web_client=_Folder(folder), parent_urls=set()).sitemap()
    for each in (tree, *tree.all_sitemaps()):
        assert not isinstance(each, InvalidSitemap), each
    return list(tree.all_pages())
