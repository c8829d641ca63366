"""Lays declarative shadow roots open, so that what a browser shows of them is read as any markup. Pure.

A ``template`` with ``shadowrootmode`` shows its content, unlike any other
(https://html.spec.whatwg.org/#attr-template-shadowrootmode). Search engines flatten it into the page.
"""

import re
from typing import Final

MARK: Final = b"shadowrootmode"
_template = re.compile(rb"<(/?)template(?=[\s/>])([^>]*+)", re.IGNORECASE).sub
_is_shadow = re.compile(rb"\sshadowrootmode\s*+=\s*+[\"']?(?:open|closed)(?![a-z])", re.IGNORECASE).search


def lay_open(body: bytes) -> bytes:
    """A body whose declarative shadow roots are plain elements. Takes linear time."""
    opened: list[bool] = []  # of each template around: whether it is shown

    def rewrite(tag: re.Match[bytes]) -> bytes:
        is_end, attributes = tag.groups()
        if not is_end:
            opened.append(bool(_is_shadow(attributes)))
        is_shown = opened.pop() if is_end and opened else bool(opened) and opened[-1]
        return b"<" + is_end + b"siteatlas-shadow" + attributes if is_shown else tag[0]

    return _template(rewrite, body)
