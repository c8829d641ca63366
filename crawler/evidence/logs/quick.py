"""The quick way through lines of the combined format: many at once, by one expression. Leaves to others what is odd."""

import re

_shaped = re.compile(
    r"<address> <\?> <user> \[<when>\] \"<request>\" <status> <\?> \"<\?>\" \"<agent>\"(?P<rest><rest>)?"
).fullmatch
# Python looks up a character in a table when a set has three that stand apart: NUL makes three of two.
_LINE = (
    r"([^ \n\0]*+) [^ \n\0]*+ (?!\[)[^\[\n\0]*+(?<= )\[([^\]\n\0]*+)\] "
    r'"(?:GET|HEAD) ([^ "\\\n]++) HTTP/[0-9.]++" ([0-9]{3}) [^ \n\0]*+ "[^"\\\n]*+" "([^"\\\n]*+)"'
)
_END = r"[ \t\r]*+"


def quick(shape: str) -> re.Pattern[bytes] | None:
    """What finds a row in each line that ends with a newline, for a layout whose fields are written as ``<when>``.

    A row is as in :data:`crawler.evidence.logs.requests.Row`; one without a target has a whole line as its request,
    which takes a closer look. None for a layout that has no quick way.
    """
    found = _shaped(shape)
    if not found:
        return None
    end = rf"(?: [^\n]*+)?+{_END}" if found["rest"] else _END
    return re.compile(rf"(?:{_LINE}{end}()|([^\n]*+))\n".encode())
