"""The commented configuration file: every key at its default, written from the configuration itself."""

import json
import textwrap
from typing import Any

from crawler.cli.flags import FLAGS
from crawler.config.config import Config

_EXAMPLE_HEAD = """\
# Every setting of siteatlas, at its default. Use it with: siteatlas run --config site.toml
# A flag on the command line wins over the environment (SITEATLAS_ and the flag's name), which wins over this file.
# Lengths of time are seconds, or 90s, 15m, 2h, 1d; sizes are bytes, or 512K, 20M, 1G.
"""


_SITES = """\
# [sites]
# Several sites, for: siteatlas run --config sites.toml. Each has a name of letters, digits, ".", "_" and "-", and
# sections of its own, whose keys win over those above, which all of them share. Lists and tables are not added up.
# Paths, here as above, are relative to the directory that this file is in.
#
# [sites.shop.site]
# url = "https://shop.example.com/"
# [sites.shop.output]
# directory = "/srv/www/shop"
#
# [sites.blog]
# site = {url = "https://blog.example.com/"}
# output = {directory = "/srv/www/blog", gzip = true}
"""


def example() -> str:
    """The text of ``config.example.toml``."""
    flags = {flag.key: flag.long for flag in FLAGS}
    out = [_EXAMPLE_HEAD]
    for name, field in Config.model_fields.items():
        section = field.default
        out.append(f"[{name}]")
        out.append(f"# {section.__doc__}")
        for key, each in type(section).model_fields.items():
            flag = flags.get(f"{name}.{key}")
            told = f"{each.description} ({flag})" if flag else str(each.description)
            out += textwrap.wrap(
                told, 112, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
            )
            value = getattr(section, key)
            out.append(f"# {key} =" if value is None else f"{key} = {_toml(value)}")
        out.append("")
    out.append(_SITES)
    return "\n".join(out)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple):
        listed = f"[{', '.join(map(_toml, value))}]"
        if len(listed) < 100:
            return listed
        filled = textwrap.fill(f"{listed[1:-1]},", 112, initial_indent="    ", subsequent_indent="    ")
        return f"[\n{filled}\n]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(key)} = {_toml(each)}' for key, each in value.items())}}}"
    return repr(value)


if __name__ == "__main__":
    print(example(), end="")  # noqa: T201 - python -m crawler.cli.example > config.example.toml
