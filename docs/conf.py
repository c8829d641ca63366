"""Sphinx: the manual as HTML and as man pages, from the Markdown of this repository and from the help of the commands.

Start it at the top of the repository, so that links lead to the same files as on GitHub:
``sphinx-build -W -n -c docs -b html . build/html``.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from typer.core import TyperCommand
from typer.main import get_command
from typer.testing import CliRunner

from crawler.cli.app import app as siteatlas
from crawler.version import __version__

COMMANDS = Path(__file__).parent / "commands"


def commands_of(command: TyperCommand, name: str) -> Iterator[tuple[str, TyperCommand]]:
    """The command and the commands below it, each with its whole name."""
    yield name, command
    for word, inner in vars(command).get("commands", {}).items():
        yield from commands_of(inner, f"{name} {word}")


def write_commands() -> Iterator[tuple[str, str, str, str, int]]:
    """Write a page with the help of each command; yields its man page, as ``man_pages`` takes it."""
    COMMANDS.mkdir(exist_ok=True)
    for stale in COMMANDS.glob("*.md"):
        stale.unlink()
    for name, command in commands_of(get_command(siteatlas), "siteatlas"):
        shown = CliRunner(env={"COLUMNS": "80"}).invoke(siteatlas, [*name.split()[1:], "--help"], prog_name="siteatlas")
        if shown.exit_code:
            raise RuntimeError(f"{name} --help: {shown.output}")
        page = name.replace(" ", "-")
        (COMMANDS / f"{page}.md").write_text(f"# {name}\n\n```text\n{shown.output}```\n", encoding="utf-8")
        if command.name != "siteatlas":
            yield f"docs/commands/{page}", page, command.get_short_help_str(200).rstrip("."), "", 1


def add_contents(app: Sphinx, page: str, source: list[str]) -> None:
    """Make the tables of the contents page the navigation of the HTML, and the order of the pages in the manual."""
    is_man = app.builder.name == "man"  # there, each command has a page of its own
    if page == root_doc:
        source[0] = re.sub(r"^## (.*)\n(?:(?!## ).*\n)*", with_toctree, source[0], flags=re.MULTILINE)
        if not is_man:
            source[0] += toctree(
                "Options of the commands", sorted(f"commands/{file.stem}" for file in COMMANDS.iterdir())
            )
            source[0] += toctree("The project", [f"../{name}" for name in PROJECT])
    elif is_man and (page in PROJECT or page.startswith("docs/commands/")):
        source[0] = f"---\norphan: true\n---\n{source[0]}"


def with_toctree(section: re.Match[str]) -> str:
    """The section of the contents page, with the pages that its table links to below it."""
    pages = re.findall(r"^\|.*\]\(([\w/-]+)\.md\)", section[0], re.MULTILINE)
    return section[0] + toctree(section[1], pages) if pages else section[0]


def toctree(caption: str, pages: list[str]) -> str:
    """A table of contents that only the navigation shows."""
    return "\n".join(("\n```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""))


def unlink_pages(app: Sphinx, tree: nodes.document, _page: str) -> None:
    """Leave only the text of a link between pages: a man page has nothing to follow, and would show it as ``<>``."""
    if app.builder.name == "man":
        for link in tree.findall(nodes.reference):
            if "://" not in link.get("refuri", "://"):
                del link["refuri"]


def add_index(app: Sphinx, error: Exception | None) -> None:
    """Let the directory of the HTML lead to the contents page."""
    if error is None and app.builder.name == "html":
        page = f'<!doctype html><title>Siteatlas</title><meta http-equiv="refresh" content="0; url={root_doc}.html">\n'
        (Path(app.outdir) / "index.html").write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect the functions above to the steps of a build."""
    app.connect("source-read", add_contents)
    app.connect("doctree-resolved", unlink_pages)
    app.connect("build-finished", add_index)


PROJECT = (
    "README",
    "CHANGELOG",
    "CONTRIBUTING",
    "PERFORMANCE",
    "SECURITY",
    "ARCHITECTURE",
    "tests/faults",
    "tests/trials/nights/README",
)
project = "Siteatlas"
version = release = __version__
extensions = ["myst_parser"]
root_doc = "docs/README"
include_patterns = ["docs/**.md", *(f"{page}.md" for page in PROJECT)]
myst_heading_anchors = 6  # the anchors of GitHub
html_theme = "furo"
html_title = f"Siteatlas {version}"
html_copy_source = False
html_static_path = ["manual.css"]
html_css_files = ["manual.css"]
man_pages = [
    (root_doc, "siteatlas", "crawl a website, write its sitemaps, keep them up to date, and find orphan pages", "", 1),
    *write_commands(),
]
