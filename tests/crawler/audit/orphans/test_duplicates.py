"""Which pages say next to nothing before scripts have run."""

from crawler.audit.orphans.duplicates import is_bare

TEXT = "Our boats are the best of the coast, says everybody who ever sailed one. " * 4


def test_ours_a_frame_for_scripts_is_bare_whatever_stands_where_nobody_reads_it() -> None:
    assert is_bare("<title>Shop</title><div id=root>Loading</div>")
    unseen = "".join(f"<{name} x>{TEXT}</{name}>" for name in ("head", "title", "noscript", "template", "SVG"))
    assert is_bare(f"{unseen}<p title='{TEXT}'>Hello</p>")
    assert not is_bare(f"{unseen}<p>{TEXT}</p>")
    assert not is_bare(f"<head><meta name=a><p>{TEXT}</p>")


def test_ours_a_long_page_is_none() -> None:
    assert not is_bare("<p></p>" * 10_000)


def test_ours_white_space_is_no_text() -> None:
    assert is_bare("<p>a</p>\n" + " " * 5_000)
    assert is_bare("x " * 199)
    assert not is_bare("x " * 200)
