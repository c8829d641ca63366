"""Which images an entry lists: those of the page, not those of the site."""

from crawler.config.config import ContentConfig, OutputConfig
from crawler.model import ListedPage, Url
from crawler.publish.entries import EntryBuilder, EntryCounts, find_site_images


def site(count: int, logos: int, own: int = 1) -> list[list[str]]:
    """The images of so many pages, of which some show a logo, and groups of ``own`` pages share a picture."""
    return [[f"/{n // own}.jpg", *(["/logo.svg"] if n < logos else [])] for n in range(count)]


def test_google_an_image_of_most_pages_belongs_to_the_site() -> None:
    for count in (3, 10, 527):
        assert find_site_images(site(count, count), (), 0.5) == {"/logo.svg"}
        assert find_site_images(site(count, count // 2), (), 0.5) == frozenset()
        assert find_site_images(site(count, count), (), 1) == frozenset()
    assert find_site_images(site(2, 2), (), 0.5) == frozenset()  # two pages may share a picture
    assert find_site_images(site(40, 0, own=20), (), 0.5) == frozenset()
    assert find_site_images([], ("/logo.svg",), 0.5) == frozenset()


def test_ours_an_image_does_not_come_and_go_around_the_limit() -> None:
    before: frozenset[str] = frozenset()
    seen = []
    for logos in (49, 50, 51, 50, 49, 45, 41, 40, 45, 50, 51):
        before = find_site_images(site(100, logos), before, 0.5)
        seen.append(bool(before))
    assert seen == [False, False, True, True, True, True, True, False, False, False, True]


def test_ours_only_the_start_page_lists_an_image_of_the_site() -> None:
    entries = EntryBuilder(ContentConfig(), OutputConfig(), lambda url: None, EntryCounts())
    entries.start, entries.site_images = Url("https://a.example/"), frozenset({"https://a.example/logo.svg"})
    images = ["https://a.example/logo.svg", "https://a.example/boat.jpg"]
    for path, listed in (("", images), ("boat", images[1:])):
        page = ListedPage(1, Url(f"https://a.example/{path}"), "", images, [], [], "", None, "")
        assert [image.loc for image in entries.build(page).images] == listed
