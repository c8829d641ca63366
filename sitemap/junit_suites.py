"""Owns JUnit's XML, which build servers show as tests: suites of cases that passed, failed or were skipped. Pure.

https://github.com/testmoapp/junitxml
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sitemap.xml_text import DECLARATION, escape


class JUnitOutcome(StrEnum):
    """How a case went."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class JUnitCase:
    """One case. ``message`` is a sentence on why it failed or was skipped, ``kind`` the kind of failure, ``text`` all
    there is to say; ``place`` is what it is about: a file, a class. ``file`` and ``line`` are where it went wrong.
    """

    name: str
    place: str
    outcome: JUnitOutcome = JUnitOutcome.PASSED
    message: str = ""
    kind: str = ""
    text: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class JUnitSuite:
    """Cases under a name."""

    name: str
    cases: Sequence[JUnitCase]


def junit_xml(name: str, suites: Sequence[JUnitSuite]) -> str:
    """The whole document. What XML cannot hold is left out."""
    lines = [f'<testsuites name="{escape(name)}" {_sum([case for suite in suites for case in suite.cases])}>']
    for suite in suites:
        lines.append(f'  <testsuite name="{escape(suite.name)}" {_sum(suite.cases)}>')
        lines += map(_case_element, suite.cases)
        lines.append("  </testsuite>")
    return DECLARATION + "\n".join([*lines, "</testsuites>", ""])


def _sum(cases: Sequence[JUnitCase]) -> str:
    failed = sum(case.outcome is JUnitOutcome.FAILED for case in cases)
    skipped = sum(case.outcome is JUnitOutcome.SKIPPED for case in cases)
    return f'tests="{len(cases)}" failures="{failed}" errors="0" skipped="{skipped}" time="0"'


def _case_element(case: JUnitCase) -> str:
    file = f' file="{escape(case.file)}"' if case.file else ""
    line = f' line="{case.line}"' if case.line else ""
    head = f'    <testcase name="{escape(case.name)}" classname="{escape(case.place)}"{file} time="0"{line}'
    text, message = escape(case.text), escape(case.message)
    if case.outcome is JUnitOutcome.FAILED:
        said = f'<failure message="{message}" type="{escape(case.kind)}">{text}</failure>'
    else:
        said = f"<system-out>{text}</system-out>" if text else ""
        if case.outcome is JUnitOutcome.SKIPPED:  # which comes first, in all schemas that have an order
            said = f'<skipped message="{message}"/>{said}'
    return f"{head}>\n      {said}\n    </testcase>" if said else f"{head}/>"
