"""The page of the manual that shows what was published on drawn nights. Pure."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from .judge import NightReport
from .trial import TrialReport

_MAX_KINDS = 3
_INTRODUCTION = """\
# Bad nights

This page shows what [the gate](../../../docs/regenerate.md#the-gate) of Siteatlas published on {nights:,} nights on
which a site was broken or changed. A program made the sites, drew the nights at random, and compared what Siteatlas
published with what the site served. This command wrote the page:

```sh
{command}
```

Of the {nights:,} nights, {tens} were on sites of about ten pages, {hundreds} on sites of about 65 pages and {thousands}
on sites of about 1,000 pages. On {kept} nights, all URLs stayed and no URL was added. On these nights, no page got a
new `lastmod` unless an editor had changed it. The program judged {wrong} of the {trials} series of nights wrong, and
{weak} doubtful. Before and after each series, the site was whole for one or two runs. In some series, editors also
changed the site.

- **Site** is the number of pages that the site had in the first run.
- **Pages and time** says which pages were affected. If only some requests of the run were affected, it says which,
  such as those from the 20th on.
- **Published** is "as before" if the gate refused the run or held the affected pages, and "the same URLs" if the gate
  let the run pass. Otherwise, it is the number of URLs in the sitemap before and after the run. Some of the URLs may
  have left the sitemap or have moved, which means that they got a new `lastmod`. Some may be "no pages": they are
  listed, but are no pages of the site.

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
        cells = (series, str(report.size), _cell(_first(what)) + times, _cell(extent) or "all", _cell(published))
        yield f"| {' | '.join(cells)} |"


def _result(night: NightReport) -> str:
    kept = "as before" if night.exit else "the same URLs"
    published = kept if _is_kept(night) else night.published.replace(" lost", " left")
    return f"{published}. {night.verdict}" if night.verdict else published


def _first(what: str) -> str:
    """The first kinds of trouble of a night, and the number of the others."""
    first, rest = (parts := what.split(" + "))[:_MAX_KINDS], parts[_MAX_KINDS:]
    return " + ".join(first) + (f" and {len(rest)} more" if rest else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
