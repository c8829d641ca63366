"""The page of the manual that shows what was published on drawn nights. Pure."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from .judge import NightReport
from .trial import TrialReport

_INTRODUCTION = """\
# Bad nights

This page shows what [the gate](regenerate.md#the-gate) of Siteatlas published on {nights:,} nights on which a site was
broken or changed. A program made the sites, drew the nights at random, and compared what Siteatlas published with what
the site served. This command wrote the page:

```sh
{command}
```

Of the {nights:,} nights, {tens} were on sites of about ten pages, {hundreds} on sites of about 65 pages and {thousands}
on sites of about 1,000 pages. On {kept} nights, the published sitemap stayed exactly as it was. The program judged
{wrong} of the {trials} series of nights wrong, and {weak} doubtful. Before and after each series, the site was whole
for one or two runs.

- **Site** is the number of pages that the site had on the first night.
- **Pages and time** says which pages were affected. It may also name the requests of the run, if only some requests
  were affected, such as those from the 20th on.
- **Published** is the number of URLs in the sitemap before and after the run. URLs "left" the sitemap, "moved" if
  they got a new `lastmod`, or are listed though they are "no pages" of the site.

| series | site | night | pages and time | published |
| --- | --- | --- | --- | --- |
"""


def manual_page(reports: Sequence[TrialReport], quiet: frozenset[str], command: str) -> str:
    """The page, without the nights whose names are in ``quiet``: nothing was drawn for these."""
    nights = [(report, night) for report in reports for night in report.nights if night.what not in quiet]
    sizes = [report.size for report, _ in nights]
    text = _INTRODUCTION.format(
        nights=len(nights),
        command=command,
        tens=sum(size <= 20 for size in sizes),
        hundreds=sum(20 < size <= 200 for size in sizes),
        thousands=sum(size > 200 for size in sizes),
        kept=sum(_is_kept(night) for _, night in nights),
        trials=len(reports),
        wrong=sum(bool(report.wrong) for report in reports) or "none",
        weak=sum(bool(report.weak) and not report.wrong for report in reports) or "none",
    )
    return text + "\n".join(row for report in reports for row in _rows(report, quiet)) + "\n"


def _is_kept(night: NightReport) -> bool:
    return night.published in ("nothing", "the same set")


def _rows(report: TrialReport, quiet: frozenset[str]) -> Iterator[str]:
    """One row for equal nights of a series that follow each other."""
    drawn = [night for night in report.nights if night.what not in quiet]
    for (what, extent, published), nights in groupby(drawn, lambda night: (night.what, night.extent, _result(night))):
        count = len(list(nights))
        times = f" ({count} nights)" if count > 1 else ""
        series = report.name.partition(":")[2]
        yield f"| {series} | {report.size} | {_cell(what)}{times} | {_cell(extent) or 'all'} | {_cell(published)} |"


def _result(night: NightReport) -> str:
    published = "as before" if _is_kept(night) else night.published.replace(" lost", " left")
    return f"{published}. {night.verdict}" if night.verdict else published


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
