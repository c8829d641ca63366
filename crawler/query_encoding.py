"""A query as a browser sends it from a page that is not UTF-8. Knows nothing else of URLs."""

import re

import webencodings

_beyond_ascii = re.compile(r"[^\x00-\x7f]+")


def encode_query(href: str, encoding: str) -> str:
    """``href`` with the characters beyond ASCII of its query percent-encoded in a document's encoding.

    ``encoding`` is a WHATWG name. Characters that it cannot write become ``%26%23`` number ``%3B``. A page in UTF-16,
    or in an encoding that is not known, sends UTF-8, which is left to the URL parser
    (https://url.spec.whatwg.org/#query-state, https://encoding.spec.whatwg.org/#get-an-output-encoding).
    """
    known = webencodings.lookup(encoding)
    before, mark, query = href.partition("#")[0].partition("?")
    if not query or known is None or known.name.startswith(("utf-", "x-user", "replacement")):
        return href
    encode = known.codec_info.encode

    def escaped(found: re.Match[str]) -> str:
        out = []
        for character in found[0]:
            try:
                out.append("".join(f"%{byte:02X}" for byte in encode(character)[0]))
            except UnicodeError:
                out.append(f"%26%23{ord(character)}%3B")
        return "".join(out)

    return f"{before}{mark}{_beyond_ascii.sub(escaped, query)}"
