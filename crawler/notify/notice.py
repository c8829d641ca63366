"""What there is to tell of a site: what changed in its sitemap, that it is in trouble, that it is well again."""

from enum import StrEnum

from msgspec import Struct

from crawler.audit.summary import AuditSummary
from crawler.model import Url
from crawler.publish.changes import Change, ChangeCounts


class Occasion(StrEnum):
    """Why something is told."""

    CHANGES = "changes"
    TROUBLE = "trouble"  # runs fail; told once, until it is over
    RECOVERY = "recovery"  # the first run that did not, after trouble that was told
    FINDINGS = "findings"  # an audit found what the one before it did not have, or had it mended
    TEST = "test"  # nothing happened: a person tries whether messages arrive


class Notice(Struct, frozen=True, kw_only=True):
    """What is told, once, to one of those who want to know.

    ``changes`` are those from the end of run ``after`` to the end of run ``until``, the first of each kind only;
    ``counts`` are of all of them; of a site that is told for the first time (``after`` is 0) there are counts alone,
    for a whole set is no news. Of trouble and recovery ``until`` is the run (0: it came to none), ``exit_code`` that
    of ``siteatlas run`` and ``told`` its sentence. Of findings ``audit`` is the audit, and ``report`` the directory of
    its report, "" for none. ``feed_url`` is the feed of recent changes, "" when there is none. ``at`` is a W3C datetime
    in UTC.
    """

    site: str
    url: Url
    sitemap_url: Url
    feed_url: str = ""
    occasion: Occasion
    after: int = 0
    until: int = 0
    at: str
    pages: int = 0
    counts: ChangeCounts
    changes: tuple[Change, ...] = ()
    exit_code: int = 0
    message: str = ""
    audit: AuditSummary | None = None
    report: str = ""


class SendStatus(StrEnum):
    """What became of a message."""

    ACCEPTED = "accepted"
    DEFERRED = "later"  # the other side is in trouble or busy: the same again another time
    REFUSED = "refused"  # the same again would be refused again; a person must look
    WOULD_SEND = "would send"  # it was not sent: this was a dry run


class SendResult(Struct, frozen=True, kw_only=True):
    """What the other side said. ``said`` is one sentence without secrets; ``wait`` the seconds it asks for, if any."""

    reception: SendStatus
    message: str
    wait: float = 0.0
