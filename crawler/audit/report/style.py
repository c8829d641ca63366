"""Owns the style that reports and pages have in common, and how a policy lets a style or a script in by its hash."""

import hashlib
from base64 import b64encode
from importlib.resources import files


def read_style(package: str, name: str) -> str:
    """The common style, and after it that of a file in the templates of a package."""
    common = files("crawler.audit.report") / "templates" / "base.css"
    own = files(package) / "templates" / name
    return common.read_text(encoding="utf-8") + own.read_text(encoding="utf-8")


def csp_source(text: str) -> str:
    """The text of an element as a source of a policy: https://www.w3.org/TR/CSP3/#grammardef-hash-source."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
