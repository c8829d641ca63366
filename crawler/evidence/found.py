"""Keeps the findings of an audit on disk, and hands them out rule by rule, the most important first."""

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

import msgspec
from msgspec.structs import replace

from crawler.comparison import identity
from crawler.finding import Count, Finding, Mended
from crawler.state.database import change, storage

BATCH: Final = 5_000  # findings in one transaction
_encode = msgspec.msgpack.Encoder().encode
_PUT_FINDING: Final = """INSERT INTO finding (rule, rank, certain, url, value, file, state, times, others, key)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_GET: Final = "SELECT value, since, new FROM finding WHERE rule = ? AND {which} ORDER BY rank DESC, url, id"
_decode = msgspec.msgpack.Decoder(Finding).decode


class Found:
    """The findings of an audit. Every method raises StorageError when the disk refuses."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def put(self, findings: Iterable[tuple[float, Finding]]) -> None:
        """Keep findings, each with its rank: the greater, the more important."""
        rows = iter(findings)
        while batch := list(islice(rows, BATCH)):
            with change(self._db):
                self._db.executemany(_PUT_FINDING, (_finding_row(rank, each) for rank, each in batch))

    def __call__(self, rule: str) -> Iterator[Finding]:
        """Those of a rule, as :class:`crawler.finding.Findings` says."""
        with storage():
            for which in ("new", "NOT new"):  # in the order of the index, without sorting
                for packed, since, is_new in self._db.execute(_GET.format(which=which), (rule,)):
                    found = _decode(packed)
                    yield replace(found, since=since, is_new=bool(is_new)) if since else found

    def mended(self, rule: str) -> Iterator[Mended]:
        """Those of a rule that are no more, as :class:`crawler.finding.Findings` says."""
        with storage():
            rows = self._db.execute(
                "SELECT rule, url, since, now, file, became FROM mended WHERE rule = ?"
                " ORDER BY became, since, url, id",
                (rule,),
            )
            yield from (Mended(*row) for row in rows)

    def counts(self) -> list[Count]:
        """How many there are of each rule that has any."""
        with storage():
            rows = self._db.execute("SELECT rule, sum(certain), sum(NOT certain) FROM finding GROUP BY rule")
            return [Count(*row) for row in rows]


def _finding_row(rank: float, each: Finding) -> tuple[object, ...]:
    others = "[]"
    if each.referrers and each.rule.startswith("cluster."):
        others = msgspec.json.encode([by.url for by in each.referrers]).decode()
    told = (each.rule, rank, each.times * each.is_certain, each.url, _encode(each))
    return (*told, each.file, each.state, each.times, others, identity(each))
