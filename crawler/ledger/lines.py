"""The values of the ledger: how far a channel was told, what was refused, what it knows and says, what was sent."""

from msgspec import Struct

from crawler.notice import Occasion, Reception


class Line(Struct, frozen=True, kw_only=True):
    """How far a channel was told: everything up to the end of run ``told``.

    ``host`` is "" for all hosts that have no line of their own. A delivery of which something may have been sent goes
    to the end of run ``until`` (None: there is none), and all of its URLs up to ``position`` in byte order were taken.
    ``tries`` says how often in a row it was put off, ``said`` why, and ``due`` (Unix time) until when the other side
    asked to wait.
    """

    id: int
    channel: str
    host: str = ""
    told: int
    until: int | None = None
    position: str = ""
    tries: int = 0
    due: float = 0.0
    said: str = ""


def of_audits(channel: str) -> str:
    """The name of the line that counts the audits which a channel was told of, as that of its key counts runs."""
    return f"{channel} (audits)"


class Refused(Struct, frozen=True, kw_only=True):
    """What was set aside: the ``urls`` URLs of a host behind ``position`` and up to ``upto``, or a message (None).

    ``after`` and ``until`` are the runs of its delivery, ``at`` is Unix time.
    """

    id: int
    channel: str
    host: str
    after: int
    until: int
    position: str
    upto: str | None
    urls: int
    said: str
    at: float


class Mood(Struct, frozen=True, kw_only=True):
    """Whether a channel ``knows`` of trouble, and what of it is still to be told (``pending``): that there is, or was.

    ``run``, ``exit_code`` and ``told`` are of the run which that is about, ``at`` (Unix time) is when it ended.
    """

    channel: str
    knows: bool = False
    pending: Occasion | None = None
    run: int = 0
    exit_code: int = 0
    told: str = ""
    at: float = 0.0
    due: float = 0.0
    said: str = ""


class Reading(Struct, frozen=True, kw_only=True):
    """What Google said of the sitemap when it was asked last, ``at`` this Unix time; ``sentence`` is for people.

    ``submitted`` and ``downloaded`` are RFC 3339, "" for never; ``errors`` and ``warnings`` are those of the last time
    that Google read it, and ``pending`` says that it is to read it again.
    """

    channel: str
    at: float
    submitted: str = ""
    downloaded: str = ""
    pending: bool = False
    errors: int = 0
    warnings: int = 0
    sentence: str


class Sent(Struct, frozen=True, kw_only=True):
    """One message and what became of it. ``at`` is Unix time, ``urls`` how many URLs it told of."""

    at: float
    channel: str
    occasion: Occasion
    host: str = ""
    after: int = 0
    until: int = 0
    urls: int = 0
    reception: Reception
    said: str
