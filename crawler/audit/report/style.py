"""The style that HTML reports and status pages share, and hashes for Content-Security-Policy."""

import hashlib
from base64 import b64encode
from importlib.resources import files


def read_style(package: str, name: str) -> str:
    """The common style, followed by a file of a package's templates."""
    common = files("crawler.audit.report") / "templates" / "base.css"
    own = files(package) / "templates" / name
    return common.read_text(encoding="utf-8") + own.read_text(encoding="utf-8")


def csp_source(text: str) -> str:
    """The hash source of an inline style or script: https://www.w3.org/TR/CSP3/#grammardef-hash-source."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
