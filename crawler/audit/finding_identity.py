"""The identity of a finding: what of it is stable from audit to audit. Pure."""

import re
from hashlib import blake2b
from typing import Final

from crawler.audit.finding import AuditFinding
from crawler.audit.orphans.duplicates import normalize_spelling
from crawler.audit.sources.cross_submit import ONE_PER_FILE_RULES
from crawler.model import Url
from crawler.url.normalize import origin_of
from sitemap import RULES as LINT

_NUMBERS: Final = re.compile(r"\d[\d.,:TZ+-]*")
OUTSIDE_RULE: Final = "entry.outside"


def finding_identity(finding: AuditFinding) -> bytes:
    """The hash of what is stable from audit to audit: no numbers, no dates, no line of a file.

    URL, file and order distinguish findings with the same identity: spellings of one URL share it, and an entry may
    move to another file of its set.
    """
    if finding.rule in ONE_PER_FILE_RULES or finding.times > 1:
        subject = finding.file + (origin_of(Url(finding.url)) if finding.rule == OUTSIDE_RULE else "")
    elif finding.url == finding.file or "://" not in finding.url:
        text = _NUMBERS.sub("#", finding.sentence) if finding.rule in LINT else ""
        subject = f"{finding.url or finding.file}\0{text}"
    else:
        subject = normalize_spelling(Url(finding.url))
    text = f"{finding.rule}\0{subject}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
