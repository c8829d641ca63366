"""The shape of the code: no import circles, short functions, strict types, one style."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("crawler", "sitemap")


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


def test_ours_sitemap_never_knows_crawler_and_crawler_uses_its_public_face() -> None:
    for name, path in modules("sitemap"):
        assert not [target for target in imports(path) if target.split(".")[0] == "crawler"], name
    for name, path in modules("crawler"):
        inner = [target for target in imports(path) if target.startswith("sitemap.")]
        assert not inner, f"{name} reaches past the public face: {inner}"


def test_ours_one_module_opens_sqlite_files() -> None:
    opening = [
        name for name, path in modules("crawler") if "sqlite3.connect(" in path.read_text(encoding="utf-8")
    ]
    assert opening == ["crawler.state.database"]


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
def test_ours_functions_are_short(package: str) -> None:
    for name, path in modules(package):
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source)
        assert ast.get_docstring(tree), f"{name} has no door plate"
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
            "crawler.parse.worker",
            ["httpx", "anyio", "pydantic", "pyreqwest", "sqlite3", "typer", "rich", "numpy"],
        ),
        (
            "crawler.run.crawl, crawler.crawl.worker, crawler.publish.write, crawler.cli.why.queries, sitemap.linter",
            ["numpy"],
        ),
        ("crawler.notify.notify", ["aiosmtplib", "google.auth", "jinja2"]),
        ("crawler.cli", ["httpx", "anyio", "selectolax", "pyreqwest", "pydantic", "typer", "numpy"]),
    ],
)
def test_ours_importing_loads_nothing_heavy(module: str, forbidden: list[str]) -> None:
    code = f"import sys, {module}; print([name for name in {forbidden} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
