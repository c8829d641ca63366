"""Passwords in what a person wrote as an address, put out of sight before the text is repeated. Pure."""

import re

_login = re.compile(r"""((?:\w[\w+.-]*:)?//)?[^\s'",]*:[^\s'",]*@""")


def masked(text: str) -> str:
    """A text in which ``user:password@`` of an address reads ``***@``, be the address right or wrong."""
    return _login.sub(r"\1***@", text)
