"""The tasks of a developer, run in the environment in which nox itself is installed: ``nox -l`` lists them.

nox -s one -- tests/crawler/url       one test file or folder, in this process, without the startup of workers
nox -s check                          all guards: lint, types, words, help, registries, example file, manual
"""

import sys
from pathlib import Path

import nox

nox.options.default_venv_backend = "none"
nox.options.sessions = ["check"]
GUARDS = (
    "tests/test_house.py", "tests/test_layout.py", "tests/test_plain_words.py", "tests/test_long_sentences.py",
    "tests/test_help.py", "tests/test_config.py", "tests/test_readme.py", "tests/test_manual_formats.py",
    "tests/test_manual_tables.py", "tests/sitemap/test_lint_rules.py",
    "tests/crawler/notify/test_channel_registry.py", "tests/crawler/audit/test_audit_rules.py",
)  # fmt: skip


@nox.session
def test(session: nox.Session) -> None:
    """The tests for every change; with "thorough" or "slow", those."""
    marks = {(): (), ("thorough",): ("-m", "thorough and not slow")}
    session.run(sys.executable, "-m", "pytest", *marks.get(tuple(session.posargs), ("-m", *session.posargs)))


@nox.session
def one(session: nox.Session) -> None:
    """One test file, or one test of it, without workers."""
    session.run(sys.executable, "-m", "pytest", "-n", "0", *session.posargs)


@nox.session
def check(session: nox.Session) -> None:
    """Everything that guards the house, in half a minute. All of it runs, whatever fails."""
    failed = []
    for words in (("mypy",), ("pytest", "-n", "2", *GUARDS)):
        try:
            session.run(sys.executable, "-m", *words)
        except nox.command.CommandFailed:
            failed.append(" ".join(words[:2]))
    if failed:
        session.error(f"failed: {', '.join(failed)}")


@nox.session
def docs(session: nox.Session) -> None:
    """The manual as HTML, in build/html/."""
    session.run(sys.executable, "-m", "sphinx", "-q", "-W", "-n", "-c", "docs", "-b", "html", ".", "build/html")


@nox.session
def bench(session: nox.Session) -> None:
    """One benchmark: the name of its module in tests/benchmarks/, and its arguments."""
    name, *words = session.posargs or ("crawl", "--help")
    session.run(sys.executable, "-m", f"tests.benchmarks.{name}", *words)


@nox.session
def release(session: nox.Session) -> None:
    """Make the release of a version: checks, changelog, tag and files in dist/. Publishes nothing."""
    session.run(sys.executable, str(Path(".github") / "release.py"), *session.posargs)
