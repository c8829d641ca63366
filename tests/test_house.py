"""The shape of the house: layers that only look down, no circles, small rooms, strict types, one style."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("crawler", "sitemap")

# From the top to the ground. A module may import from its own layer and from those below.
LAYERS: dict[str, dict[str, tuple[str, ...]]] = {
    "crawler": {
        "face": ("crawler",),
        "interface": (
            "crawler.cli",
            "crawler.__main__",
            "crawler.reports",
            "crawler.web",
            "crawler.style",
            "crawler.kits",
        ),
        "pipeline": (
            "crawler.conclude",
            "crawler.embedding",
            "crawler.ended",
            "crawler.regenerate",
            "crawler.crawl",
            "crawler.engine",
            "crawler.journey",
            "crawler.observe",
            "crawler.placing",
            "crawler.publish",
            "crawler.recent",
            "crawler.rulebook",
            "crawler.lanes",
            "crawler.plan",
            "crawler.fetching",
            "crawler.places",
            "crawler.remote",
            "crawler.report",
            "crawler.rollback",
            "crawler.source",
            "crawler.store",
            "crawler.visiting",
            "crawler.audit",
            "crawler.scheduling",
            "crawler.announcing",
            "crawler.uploading",
            "crawler.declared",
        ),
        "adapters": (
            "crawler.database",
            "crawler.fetch",
            "crawler.frontier",
            "crawler.parsing",
            "crawler.secret",
            "crawler.state",
            "crawler.lock",
            "crawler.memory",
            "crawler.evidence",
            "crawler.history",
            "crawler.ledger",
            "crawler.notify",
            "crawler.elsewhere",
        ),
        "policy": (
            "crawler.config",
            "crawler.agenda",
            "crawler.standing",
            "crawler.timetable",
            "crawler.trouble",
            "crawler.notice",
            "crawler.entries",
            "crawler.audit_news",
            "crawler.audit_rules",
            "crawler.reports.lint_titles",
            "crawler.reports.rules_told",
            "crawler.reports.verdict",
            "crawler.graph",
            "crawler.health",
            "crawler.orphans",
            "crawler.revisit",
            "crawler.config_audit",
            "crawler.config_notify",
            "crawler.config_schedule",
            "crawler.config_section",
            "crawler.config_tables",
            "crawler.change",
            "crawler.comparison",
            "crawler.completeness",
            "crawler.doors",
            "crawler.gate",
            "crawler.sites",
            "crawler.why",
            "crawler.url",
            "crawler.params",
            "crawler.masking",
            "crawler.mirror",
            "crawler.quantities",
            "crawler.scope",
            "crawler.traps",
            "crawler.patterns",
            "crawler.robots",
            "crawler.content",
            "crawler.html",
            "crawler.directives",
            "crawler.indexability",
            "crawler.lastmod",
            "crawler.media_type",
            "crawler.file_types",
            "crawler.query_encoding",
            "crawler.retry_after",
            "crawler.http_date",
            "crawler.politeness",
        ),
        "model": (
            "crawler.model",
            "crawler.attempt",
            "crawler.board",
            "crawler.claim",
            "crawler.finding",
            "crawler.errors",
            "crawler.version",
        ),
    },
    "sitemap": {
        "face": ("sitemap",),
        "interface": ("sitemap.linting",),
        "adapters": ("sitemap.reading", "sitemap.writing"),
        "policy": (
            "sitemap.acceptance",
            "sitemap.cross_submit",
            "sitemap.location",
            "sitemap.planning",
            "sitemap.robots_lines",
            "sitemap.w3c",
            "sitemap.gz",
            "sitemap.junit_suites",
            "sitemap.xml_text",
            "sitemap.finding",
            "sitemap.retired",
            "sitemap.languages",
        ),
        "model": (
            "sitemap.errors",
            "sitemap.format",
            "sitemap.limits",
            "sitemap.model",
            "sitemap.namespaces",
            "sitemap.quoting",
            "sitemap.rules",
        ),
    },
}
# What policy must not touch: clocks, chance, disks, networks.
IMPURE = {
    "time",
    "random",
    "secrets",
    "os",
    "socket",
    "subprocess",
    "anyio",
    "asyncio",
    "httpx",
    "pyreqwest",
    "sqlite3",
}


def modules(package: str) -> Iterator[tuple[str, Path]]:
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(path: Path, *, everywhere: bool = True) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree) if everywhere else tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                is_module = (ROOT / inner.replace(".", "/")).with_suffix(".py").exists() or (
                    ROOT / inner.replace(".", "/")
                ).is_dir()
                yield inner if is_module else node.module


def layer(name: str) -> int:
    best, where = -1, -1
    for number, members in enumerate(LAYERS[name.split(".", maxsplit=1)[0]].values()):
        for member in members:
            if (name == member or name.startswith(f"{member}.")) and len(member) > best:
                best, where = len(member), number
    return where


@pytest.mark.parametrize(("name", "path"), [module for package in PACKAGES for module in modules(package)])
def test_ours_layers_only_look_down(name: str, path: Path) -> None:
    package = name.split(".", maxsplit=1)[0]
    own = layer(name)
    assert own >= 0, f"{name} is in no layer: add it to LAYERS"
    for target in imports(path):
        if target.split(".")[0] == package:
            assert layer(target) >= own, f"{name} looks up to {target}"


@pytest.mark.parametrize(("name", "path"), [module for package in PACKAGES for module in modules(package)])
def test_ours_policy_touches_nothing(name: str, path: Path) -> None:
    if list(LAYERS[name.split(".", maxsplit=1)[0]])[layer(name)] == "policy":
        touched = {target.split(".")[0] for target in imports(path)} & IMPURE
        assert not touched, f"{name} imports {touched}"
        assert "await " not in path.read_text(encoding="utf-8")


def test_ours_sitemap_never_knows_crawler_and_crawler_uses_its_public_face() -> None:
    for name, path in modules("sitemap"):
        assert not [target for target in imports(path) if target.split(".")[0] == "crawler"], name
    for name, path in modules("crawler"):
        inner = [target for target in imports(path) if target.startswith("sitemap.")]
        assert not inner, f"{name} reaches past the public face: {inner}"


def test_ours_no_import_circles() -> None:
    graph: dict[str, set[str]] = {}
    for package in PACKAGES:
        for name, path in modules(package):
            graph[name] = {target for target in imports(path, everywhere=False) if target != name}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, f"a circle of imports: {' -> '.join((*trail[trail.index(name) :], name))}"
        if name not in done:
            for target in graph.get(name, ()):
                if target in graph and not name.startswith(f"{target}."):
                    visit(target, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("package", PACKAGES)
def test_ours_rooms_are_small(package: str) -> None:
    for name, path in modules(package):
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source)
        assert ast.get_docstring(tree), f"{name} has no door plate"
        assert len(source.splitlines()) <= 300, f"{name} has {len(source.splitlines())} lines"
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (
                    (node.end_lineno or 0) - node.lineno - len((ast.get_docstring(node) or "").splitlines())
                )
                assert length <= 60, f"{name}.{node.name} has {length} lines"
    names = {name.rpartition(".")[2] for name, _ in modules(package)}
    assert not names & {"utils", "util", "helpers", "core", "manager", "common", "misc"}


def test_ours_the_code_is_linted_and_formatted() -> None:
    for command in (["check", "--output-format", "concise"], ["format", "--check"]):
        run = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "."],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stdout + run.stderr


def test_ours_the_code_is_typed_strictly() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("sitemap", ["httpx", "selectolax", "anyio", "pydantic", "crawler", "typer", "rich", "numpy"]),
        (
            "crawler.parsing.worker",
            ["httpx", "anyio", "pydantic", "pyreqwest", "sqlite3", "typer", "rich", "numpy"],
        ),
        ("crawler.crawl, crawler.journey, crawler.publish, crawler.memory.story, sitemap.linting", ["numpy"]),
        ("crawler.cli", ["httpx", "anyio", "selectolax", "pyreqwest", "pydantic", "typer", "numpy"]),
    ],
)
def test_ours_importing_loads_nothing_heavy(module: str, forbidden: list[str]) -> None:
    code = f"import sys, {module}; print([name for name in {forbidden} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
