"""What a person asks for: to tell again, to look again."""

from contextlib import closing

from msgspec import Struct

from crawler.config.plan import Plan
from crawler.errors import UsageError
from crawler.state.database import is_kept
from crawler.state.migrations import STATE
from crawler.state.runs import Runs


class Again(Struct, frozen=True, kw_only=True):
    """``since``: everything after the end of this run, 0: of the first; ``refused``: what was refused and set aside.

    ``look``: read what Google says of the sitemap, however lately that was done. ``only`` is how the keys of those
    begin that are told anything at all, "" for everyone.
    """

    since: int | None = None
    refused: bool = False
    look: bool = False
    only: str = ""

    def check(self, plan: Plan) -> None:
        """Raises UsageError for a run that a site does not have yet; StorageError for a state that cannot be used."""
        if not self.since or not is_kept(plan.state / STATE.file):
            return
        with closing(STATE.look(plan.state / STATE.file)) as db:
            last = max((run.number for run in Runs(db).last(1)), default=0)
        if self.since > last:
            raise UsageError(f"--since {self.since}: there is no such run, the last one is run {last}")
