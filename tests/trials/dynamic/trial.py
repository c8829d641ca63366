"""One trial: a drawn site, audited three times in a row by the command as a user calls it, and what was wrong."""

import json
import sqlite3
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from run import FAST, siteatlas

from .site import SLOW, URL, Site, served
from .sources import Known, write_sources

AUDITS = 3
CONCERNS = ("certain", "found", "alike", "acting", "private")
BROWSER = ("--set=render.sandbox=false", "--set=render.timeout=3")


@dataclass(frozen=True)
class Wrong:
    """One thing that an audit should not have done: whose concern it is, in words that many have in common, in full."""

    concern: str
    kind: str
    text: str


@dataclass
class DynamicReport:
    """What came of a trial; its ``name`` draws it again."""

    name: str
    seconds: float = 0.0
    wrong: list[Wrong] = field(default_factory=list)
    noted: Counter[str] = field(default_factory=Counter)  # figures that are no faults

    def told(self, *concerns: str) -> str:
        """What was wrong in some respect, with the name."""
        lines = [f"  {each.kind}: {each.text}" for each in self.wrong if each.concern in (concerns or CONCERNS)]
        return "\n".join([f"trial {self.name!r} ({self.seconds:.1f} s)", *lines])


@dataclass(frozen=True)
class Finding:
    """One finding of an audit."""

    rule: str
    path: str
    grade: str


def trial(name: str, *, is_rendered: bool = False, keep: Path | None = None) -> DynamicReport:
    """Audits the site of this name three times, and judges. ``keep`` is a folder for the files."""
    report = DynamicReport(name)
    site = Site(name)
    with tempfile.TemporaryDirectory() as temporary, served(site) as server:
        folder = keep or Path(temporary)
        known = write_sources(site, folder)
        began = time.monotonic()
        audits = [_audit(site, folder, server, known.words, number, is_rendered) for number in range(AUDITS)]
        report.seconds = time.monotonic() - began
        for number, findings in enumerate(audits):
            judge(site, known, number, findings, report)
        judge_alike(site, audits, report)
        report.wrong += [Wrong("acting", "acting request", target) for target in sorted(set(site.acted))]
        judge_privacy(folder, known, report)
    report.noted["sites"] += 1
    return report


def _audit(
    site: Site, folder: Path, server: str, words: Sequence[str], number: int, is_rendered: bool
) -> list[Finding]:
    site.hours += (0, 1, 24)[number]
    render = ("--render", "auto", *BROWSER) if is_rendered else ("--render", "never")
    said = folder / f"said-{number}"
    ended = siteatlas(
        folder,
        "audit",
        URL,
        "--source",
        server,
        "-o",
        "report",
        "--set=fetch.retries=0",
        *FAST,
        *render,
        *words,
        timeout=100,
    )
    said.write_text(ended.out + ended.err)
    assert ended.code in (0, 4), (site.name, ended)
    audit: dict[str, Any] = json.loads((folder / "report" / "audit.json").read_text())
    return [
        Finding(each["rule"], unquote("/" + each["url"].removeprefix(URL)), each["certainty"])
        for each in audit["findings"]
    ]


def judge(site: Site, known: Known, number: int, findings: Sequence[Finding], report: DynamicReport) -> None:
    said = {each.path: each for each in findings if each.rule.startswith("orphan.")}
    for each in findings:
        if each.grade != "certain" or not each.rule.startswith("orphan."):
            continue
        path, page = each.path, site.page(each.path)
        if page and page.turn in SLOW and number < SLOW[page.turn]:
            report.noted["certain, though a box shows it that has not turned yet"] += 1
        elif why := _why_false(site, known, path):
            kind = f"certain orphan, but {why}"
            report.wrong.append(Wrong("certain", kind, f"{path} in audit {number + 1}: {each.rule}{_made(site, path)}"))
    for path, sources in known.orphans.items():
        report.noted["orphans"] += 1
        found = said.get(unquote(path))
        if found is None:
            others = sorted({other.rule for other in findings if other.path == unquote(path)})
            text = f"{path} in audit {number + 1}, named by: {sources}; reported instead: {others}"
            report.wrong.append(Wrong("found", "orphan not found", text))
            continue
        report.noted[f"orphans that are {found.grade}"] += 1
        if site.is_plain and found.grade != "certain":
            text = f"{path} in audit {number + 1}: {found.grade}"
            report.wrong.append(Wrong("found", "orphan of a site without scripts and boxes is not certain", text))
    if not site.scripted and not site.boxes:
        hidden = [said[unquote(path)].grade for path in known.orphans if unquote(path) in said]
        report.noted["orphans of sites without hidden links"] += len(hidden)
        report.noted["orphans of sites without hidden links that are certain"] += hidden.count("certain")


def _why_false(site: Site, known: Known, path: str) -> str:
    """Why a page is no orphan, "" if it is one."""
    page = None if site.acts(path) else site.page(path)
    if page is None or "?" in path:
        is_personal = any(needle.lower() in path.lower() for needle in known.needles)
        is_other = "it is a form of another page" if page else "there is no such page"
        return "it acts" if site.acts(path) else "it is the page of one person" if is_personal else is_other
    ways = {"script": "only a script links to it", "box": f"a box shows it ({page.turn})", "html": "HTML links to it"}
    return ways.get(page.truth, "")


def _made(site: Site, path: str) -> str:
    """How a page that HTML does not link to is linked."""
    for each in site.scripted:
        if path in {link.path for link in each.block.links}:
            block = each.block
            at = "inline" if block.is_inline else block.file
            return f" ({each.place}: {block.way}, {block.trigger}, {block.data}, into {block.container}, {at})"
    for box in site.boxes:
        if path in box.pool:
            return f" ({box.name}: {box.shown} of {len(box.pool)} by {box.turn}, on {box.where})"
    return ""


def _alike(finding: Finding) -> str:
    return "place.box" if finding.rule == "place.changing" else finding.rule


def judge_alike(site: Site, audits: Sequence[Sequence[Finding]], report: DynamicReport) -> None:
    """What is not inconclusive in one is reported by all three; pages of slow boxes may have changed meanwhile."""
    slow = {path for path, page in site.pages.items() if page.turn in SLOW}
    # Only a later audit can see that a box changes.
    sets = [{(_alike(each), each.path) for each in audit if each.grade != "inconclusive"} for audit in audits]
    kept = [{(rule, path) for rule, path in each if path not in slow} for each in sets]
    told = [{(_alike(each), each.path) for each in audit} for audit in audits]
    differing = set[tuple[str, str]]().union(*kept) - told[0].intersection(*told[1:])
    for rule, path in sorted(differing):
        where = [number + 1 for number, each in enumerate(told) if (rule, path) in each]
        report.wrong.append(Wrong("alike", f"audits differ in {rule}", f"{path} only in {where}{_made(site, path)}"))


def judge_privacy(folder: Path, known: Known, report: DynamicReport) -> None:
    given = {"access.log", *known.words}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_dir() or name.name in given:
            continue
        text = b"\n".join(_bytes(path)).lower()
        for needle, kind in known.needles.items():
            if needle.lower().encode() in text:
                report.wrong.append(Wrong("private", f"personal data in {_sink(name)}", f"{kind}: {needle} in {name}"))


def _sink(name: Path) -> str:
    if name.parts[0] == "report":
        return f"the report ({name.suffix.removeprefix('.')})"
    return "what the command printed" if name.name.startswith("said-") else "the state"


def _bytes(path: Path) -> Iterator[bytes]:
    """All bytes of a file, those of its members and those of its rows."""
    yield path.read_bytes()
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as archive:
            yield from (archive.read(member) for member in archive.namelist())
    if path.suffix in {".db", ".sqlite", ".sqlite3"}:
        with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as state:
            yield "\n".join(state.iterdump()).encode()


def tables(reports: Sequence[DynamicReport]) -> str:
    """How many of each kind were wrong, in how many sites, and the figures."""
    things, sites, noted = Counter[str](), Counter[str](), Counter[str]()
    for report in reports:
        things.update(each.kind for each in report.wrong)
        sites.update({each.kind for each in report.wrong})
        noted += report.noted
    rows = [f"{things[kind]:6} {sites[kind]:6}  {kind}" for kind in sorted(things)]
    bad = sum(bool(report.wrong) for report in reports)
    return "\n".join([
        f"{bad} of {len(reports)} sites have something wrong",
        " times  sites  what",
        *rows,
        *(f"{noted[name]:6}         {name}" for name in sorted(noted)),
    ])  # fmt: skip
