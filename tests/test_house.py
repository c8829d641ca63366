"""The shape of the code: imports go down, pure modules touch nothing, short functions, strict types, one style.

The floors are those of ARCHITECTURE.md, whose every file and name exists.
"""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("crawler", "sitemap")
MAP = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
# What a pure module must not touch: clocks, disks, networks, processes.
IMPURE = {
    "sqlite3",
    "anyio",
    "asyncio",
    "httpx",
    "pyreqwest",
    "os",
    "time",
    "pathlib",
    "random",
    "socket",
    "subprocess",
}
# Modules that decide, and so must be pure.
RULES = (
    "crawler.audit.orphans.classes",
    "crawler.crawl.error_budget",
    "crawler.crawl.indexability",
    "crawler.fetch.redirect",
    "crawler.fetch.retry",
    "crawler.fetch.throttle",
    "crawler.lastmod.changes",
    "crawler.lastmod.policy",
    "crawler.lastmod.variation",
    "crawler.lastmod.significance",
    "crawler.parse.html.canonical",
    "crawler.publish.completeness",
    "crawler.publish.gate",
    "crawler.parse.robots_meta",
    "crawler.robots.rules",
    "crawler.config.cron",
    "crawler.url.normalize",
    "crawler.url.scope",
)


def modules(package: str) -> Iterator[tuple[str, Path]]:
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path, *, everywhere: bool = True) -> Iterator[str]:
    tree = tree_of(path)
    at_once = [inner for node in tree.body for inner in (node.body if isinstance(node, ast.If) else [node])]
    for node in ast.walk(tree) if everywhere else at_once:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                is_module = (ROOT / inner.replace(".", "/")).with_suffix(".py").exists() or (
                    ROOT / inner.replace(".", "/")
                ).is_dir()
                yield inner if is_module else node.module


def floors() -> list[str]:
    """The packages and modules of ``crawler``, from the top floor down, as the map draws them."""
    drawing = re.search(r"```text\n(.*?)```", MAP, re.DOTALL)
    assert drawing
    return [line.split()[0] for line in drawing[1].splitlines()]


def room(name: str) -> str:
    """The package or module of ``crawler`` that a module is in: ``audit`` for crawler.audit.graph.load."""
    return name.split(".")[1] if "." in name else ""


def test_ours_imports_go_down_the_floors_of_the_map() -> None:
    names = floors()
    rooms = {room(name) for name, _ in modules("crawler")} - {"", "__main__"}
    assert set(names) == rooms
    for name, path in modules("crawler"):
        if room(name) in names:
            for target in imports(path):
                if target.startswith("crawler.") and room(target) in names:
                    assert names.index(room(target)) >= names.index(room(name)), f"{name} imports {target}"


def is_pure(path: Path) -> bool:
    return bool(re.search(r"\bPure\.", ast.get_docstring(tree_of(path)) or ""))


def test_ours_a_pure_module_touches_nothing() -> None:
    pure = {name: path for package in PACKAGES for name, path in modules(package) if is_pure(path)}
    assert set(RULES) - set(pure) == set()
    for name, path in pure.items():
        touched = {target.split(".")[0] for target in imports(path)} & IMPURE
        assert not touched, f"{name} imports {touched}"
        assert "await " not in path.read_text(encoding="utf-8"), name


def test_ours_the_map_names_what_exists() -> None:
    named = re.findall(r"`((?:crawler|sitemap)/[\w/.]*)`(?:\s+`([A-Za-z_.]+)`)?", MAP)
    assert len(named) > 50
    for path, name in named:
        assert (ROOT / path).exists(), path
        if name:
            scope: ast.AST = tree_of(ROOT / path)
            for part in name.split("."):
                found = [node for node in ast.iter_child_nodes(scope) if getattr(node, "name", "") == part]
                assert found, f"{path} has no {name}"
                scope = found[0]


def test_ours_the_recipes_name_what_exists() -> None:
    recipes = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:crawler|sitemap|tests|docs)/[\w/.-]*)`", recipes)
    named += [name.replace(".", "/") + ".py" for name in re.findall(r"python -m ((?:crawler|tests)[\w.]+)", recipes)]
    assert len(named) > 40
    assert [path for path in named if "NAME" not in path and not list(ROOT.glob(path.removesuffix(".py") + "*"))] == []
    tasks = set(re.findall(r"(?m)^def (\w+)\(session", (ROOT / "noxfile.py").read_text(encoding="utf-8")))
    assert {*re.findall(r"nox -s (\w+)", recipes)} == tasks
    for sections, files in re.findall(r"(?m)^ +\| (`\[.+) \| (`.+) \|$", recipes):
        for section in re.findall(r"\[(\w+)\]", sections):
            for file in re.findall(r"`(crawler/[\w/]+\.py)`", files.partition(";")[0]):
                assert f".{section}" in (ROOT / file).read_text(encoding="utf-8"), f"{file} reads no [{section}]"


@cache
def packages() -> set[str]:
    return {".".join(path.parent.relative_to(ROOT).parts) for package in PACKAGES for _, path in modules(package)}


def package_used(package: str, module: str) -> str:
    """The package that is used by importing a module, no lower than where the two part; "" for values above both."""
    parts = module.split(".") if module in packages() else module.split(".")[:-1]
    own = package.split(".")
    shared = next((depth for depth, part in enumerate(own) if parts[depth : depth + 1] != [part]), len(own))
    return "" if shared in (len(parts), len(own)) else ".".join(parts[: shared + 1]).removeprefix("crawler.")


def test_ours_a_package_says_what_is_in_it_its_front_door_and_what_it_imports() -> None:
    names = {package.removeprefix("crawler.") for package in packages()}
    for package in sorted(packages() - set(PACKAGES)):
        folder = ROOT / package.replace(".", "/")
        text = ast.get_docstring(tree_of(folder / "__init__.py")) or ""
        for file in re.findall(r"``([a-z_]+\.py)``", text):
            assert list(folder.rglob(file)), f"{package} names {file}"
        assert "Front door" in text, package
        stated = re.search(r"May\s+import\s+(.+?)(?:\.$|\.\s)", text, re.DOTALL)
        assert stated, package
        if not stated[1].startswith("everything below"):
            inner = [path for name, path in modules(package.split(".")[0]) if f"{name}.".startswith(f"{package}.")]
            used = {package_used(package, target) for path in inner for target in imports(path)}
            assert used & names - {"sitemap"} == {name for name in re.split(r"[,\s]+", stated[1]) if name in names}, (
                package
            )


def test_ours_sitemap_never_knows_crawler_and_crawler_uses_its_public_face() -> None:
    writers, crawlers = list(modules("sitemap")), list(modules("crawler"))
    assert min(len(writers), len(crawlers)) > 40
    for name, path in writers:
        assert not [target for target in imports(path) if target.split(".")[0] == "crawler"], name
    for name, path in crawlers:
        inner = [target for target in imports(path) if target.startswith("sitemap.")]
        assert not inner, f"{name} reaches past the public face: {inner}"


def test_ours_one_module_opens_sqlite_files() -> None:
    opening = [name for name, path in modules("crawler") if "sqlite3.connect(" in path.read_text(encoding="utf-8")]
    assert opening == ["crawler.state.database"]


def test_ours_no_query_has_numbered_places() -> None:
    """Python 3.12.0 to 3.12.3 warn of them: https://github.com/python/cpython/issues/117995"""
    sources = ((name, path.read_text(encoding="utf-8")) for name, path in modules("crawler"))
    assert [name for name, source in sources if re.search(r"[=(, ]\?\d", source)] == []


# Modules that write without the helpers of sitemap/writer/files.py, and why they may.
WRITES_ITSELF = {
    "crawler.audit.collect": "a directory that it has just made",
    "crawler.cli.help": "the help",
    "crawler.cli.init.files": "a file that exists and keeps its owner",
    "crawler.publish.upload.sftp": "another machine",
    "sitemap.writer.swap": "a directory that it has just made",
}


def test_ours_files_are_written_by_helpers_that_follow_no_link() -> None:
    writes = re.compile(r"open\([^()]*\"[wxa]b?\"|\.write_(?:text|bytes)\(")
    texts = {name: path.read_text(encoding="utf-8") for package in PACKAGES for name, path in modules(package)}
    found = {name for name, text in texts.items() if writes.search(text)}
    assert found - {"sitemap.writer.files"} == WRITES_ITSELF.keys()


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
                length = (node.end_lineno or 0) - node.lineno - len((ast.get_docstring(node) or "").splitlines())
                assert length <= 60, f"{name}.{node.name} has {length} lines"
    names = {name.rpartition(".")[2] for name, _ in modules(package)}
    assert not names & {"utils", "util", "helpers", "core", "manager", "common", "misc"}


def test_ours_the_code_is_linted_and_formatted() -> None:
    for command in (["check", "--output-format", "concise"], ["format", "--check"]):
        run = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "."], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.thorough  # nox -s check does it before each commit
def test_ours_the_code_is_typed_strictly() -> None:
    run = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("sitemap", ["httpx", "selectolax", "anyio", "pydantic", "crawler", "typer", "rich"]),
        ("crawler.parse.worker", ["httpx", "anyio", "pydantic", "pyreqwest", "sqlite3", "typer", "rich"]),
        (
            "crawler.run.crawl, crawler.crawl.worker, crawler.publish.write, crawler.cli.why.story, sitemap.linter",
            ["requests", "tldextract"],
        ),
        ("crawler.audit.audit", ["numpy"]),  # only the tests have it
        ("crawler.notify.notify", ["aiosmtplib", "google.auth", "jinja2"]),
        ("crawler.cli", ["httpx", "anyio", "selectolax", "pyreqwest", "pydantic", "typer"]),
    ],
)
def test_ours_importing_loads_nothing_heavy(module: str, forbidden: list[str]) -> None:
    code = f"import sys, {module}; print([name for name in {forbidden} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_ours_the_lock_file_has_a_fit_version_of_every_dependency() -> None:
    from packaging.requirements import Requirement

    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in lock  # of no registry
    locked = dict(re.findall(r"^([a-z0-9-]+)==([^ ]+)", lock, re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [Requirement(line) for line in project["dependencies"]]
    assert wanted
    assert [each.name for each in wanted if not each.specifier.contains(locked.get(each.name, "0"))] == []
