"""Secrets in the configuration, by name: ``env:NAME`` and ``file:PATH``. Masks passwords in messages."""

import os
import re
from pathlib import Path

from crawler.errors import UsageError


def reveal_secret(text: str) -> str:
    """The secret that a setting names, or the setting itself. Raises UsageError for a missing one.

    In a service of systemd a credential replaces the file, which may be readable for root only.
    """
    kind, _, name = text.partition(":")
    if kind == "env" and name:
        value = os.environ.get(name)
        if value is None:
            raise UsageError(
                f"the environment variable {name} is not set, but the configuration refers to it (env:{name})"
            )
        return value
    if kind == "file" and name:
        try:
            return _secret_path(name).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise UsageError(f"cannot read the secret file:{name}: {reason}") from None
    return text


def credential_name(path: str) -> str:
    """The name of the credential for a file: https://systemd.io/CREDENTIALS/"""
    return path.strip("/").replace("/", "-")


def _secret_path(path: str) -> Path:
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    credential = Path(folder, credential_name(path)) if folder else None
    return credential if credential and credential.is_file() else Path(path)


_words = re.compile(r"""[^\s'",]++""").sub
_scheme = re.compile(r"(?:\w[\w+.-]*+:)?//").match


def mask_password(text: str) -> str:
    """A text with ``***@`` in place of the ``user:password@`` of a URL, even of a bad one."""
    return _words(_without_login, text) if "@" in text else text


def _without_login(word: re.Match[str]) -> str:
    login, at, rest = word[0].rpartition("@")
    scheme = _scheme(login)
    start = scheme[0] if scheme and ":" in login[scheme.end() :] else ""
    return f"{start}***@{rest}" if at and ":" in login else word[0]
