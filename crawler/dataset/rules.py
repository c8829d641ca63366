"""Rules of one's own (``[audit.rules.NAME]``): checks them before an audit, and judges its tables by them.

A rule is one SELECT over the tables, or a plug-in that reads them. Each row names a URL; its other columns are evidence.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from crawler.audit.audit import JudgeOwn, OwnJudgement
from crawler.audit.finding import AuditFinding
from crawler.audit.rules import OWN, register_own_rules
from crawler.config.config import Config
from crawler.config.sections import AuditRuleConfig
from crawler.dataset.build import open_dataset
from crawler.dataset.query import ask
from crawler.dataset.schema import DATASET
from crawler.errors import SiteatlasError, UsageError
from crawler.plugins import Plugin, PluginError, PluginKind, load_plugin
from sitemap import Rule, Severity

MAX_ROWS: Final = 100_000
"""Rows of one rule: more would fill the memory, as two tables without a condition do."""
MAX_EVIDENCE: Final = 10
"""Rows that a finding shows: a page may be the source of thousands of links."""
_SECONDS: Final = 30.0
_SLOW: Final = "Narrow the query"
_PAGE: Final = "SELECT title, state, status, lastmod, depth, inlinks FROM pages WHERE url = ?"

_Row = Mapping[str, object]


def own_rules(config: Config) -> JudgeOwn | None:
    """What judges by the rules of a configuration, None without any. It makes them known to reports.

    Raises UsageError that names the rule.
    """
    rules = config.audit.rules
    with closing(DATASET.empty()) as tables:
        for name, rule in rules.items():
            _check(tables, f"audit.rules.{name}", rule)
    plugins = {
        rule.plugin: load_plugin(config, PluginKind.RULE, rule.plugin, f"audit.rules.{name}.plugin")
        for name, rule in rules.items()
        if rule.plugin
    }
    register_own_rules(_described(name, rule) for name, rule in rules.items())
    return partial(_judge, rules, plugins) if rules else None


def _check(tables: sqlite3.Connection, key: str, rule: AuditRuleConfig) -> None:
    if rule.plugin and not rule.sql:
        return
    if not rule.sql or rule.plugin:
        raise UsageError(f"{key} needs either sql or plugin. Write one SELECT that returns a column url as {key}.sql")
    try:
        columns = ask(tables, rule.sql, limit=1, seconds=_SECONDS, slow=_SLOW).columns
    except UsageError as error:
        raise UsageError(f"{key}.sql: {error}") from None
    if "url" not in columns:
        raise UsageError(f"{key}.sql: the query returns no column url, only {', '.join(columns)}. Add AS url to one")


def _described(name: str, rule: AuditRuleConfig) -> Rule:
    title = name.replace("-", " ").replace("_", " ")
    text = rule.text or f"The query of audit.rules.{name} returns the URL."
    remedy = f"The key audit.rules.{name} of the configuration has this rule."
    return Rule(f"{OWN}.{name}", Severity(rule.severity), f"{title[:1].upper()}{title[1:]}", text, remedy)


def _judge(rules: Mapping[str, AuditRuleConfig], plugins: Mapping[str, Plugin], directory: Path) -> OwnJudgement:
    judged = OwnJudgement([], {})
    try:
        opened = open_dataset(directory.parent)
    except SiteatlasError as error:
        return OwnJudgement([], {OWN: f"the rules of audit.rules were not checked: {error}"})
    with closing(opened) as tables:
        for name, rule in rules.items():
            try:
                rows = _plugin_rows(tables, plugins[rule.plugin]) if rule.plugin else _rows(tables, rule)
                judged.findings.extend(_findings(tables, _described(name, rule), rows))
            except (SiteatlasError, PluginError) as error:
                judged.unchecked[f"{OWN}.{name}"] = f"audit.rules.{name} was not checked: {error}"
    return judged


def _rows(tables: sqlite3.Connection, rule: AuditRuleConfig) -> Iterator[_Row]:
    answer = ask(tables, rule.sql, limit=MAX_ROWS, seconds=_SECONDS, slow=_SLOW)
    if answer.is_cut:
        raise UsageError(f"it returns more than {MAX_ROWS:,} rows. Narrow it")
    return (dict(zip(answer.columns, row, strict=True)) for row in answer.rows)


def _plugin_rows(tables: sqlite3.Connection, plugin: Plugin) -> list[_Row]:
    """The rows that a plug-in finds. Raises PluginError."""
    with plugin.guarded() as found:
        rows: list[_Row] = [dict(row) for row in islice(found.rows(tables), MAX_ROWS)]
        if bad := next((row for row in rows if "url" not in row), None):
            raise KeyError(f"a row has no url: {bad}")
        return rows


def _findings(tables: sqlite3.Connection, rule: Rule, rows: Iterable[_Row]) -> Iterator[AuditFinding]:
    """One finding for each URL. Rows without a URL are none."""
    evidence: dict[str, list[str]] = {}
    for row in rows:
        if url := row["url"]:
            named = (f"{name}: {value}" for name, value in row.items() if name != "url" and value is not None)
            evidence.setdefault(str(url), []).append(", ".join(named))
    for url, told in evidence.items():
        found = tables.execute(_PAGE, (url,)).fetchone() or ("", "", None, "", None, 0)
        title, state, status, lastmod, depth, inlinks = found
        shown = [line for line in told[:MAX_EVIDENCE] if line]
        more = [f"and {len(told) - MAX_EVIDENCE:,} more rows"] if len(told) > MAX_EVIDENCE else []
        yield AuditFinding(
            rule=rule.id,
            sentence=rule.sentence,
            url=url,
            title=title or "",
            state=state,
            status=status,
            lastmod=lastmod or "",
            depth=depth,
            inlinks=inlinks,
            evidence=[*shown, *more],
            own_severity=rule.severity.value,
        )
