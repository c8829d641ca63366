"""``siteatlas config``: the reference of the keys, from which ``config.example.toml`` is made."""

import json
import re
import sys
from collections.abc import Iterator
from typing import Annotated, Any, Final

import typer

from crawler.audit.report.layout import fitted_file, output_width, wrap
from crawler.cli.errors import CommandErrors
from crawler.cli.help import EXIT_CODES, RAW
from crawler.errors import UsageError

EPILOG: Final = f"""{RAW}Examples:
  siteatlas config            all keys
  siteatlas config fetch      those of the section [fetch]
  siteatlas config time-out   those about time-outs

{EXIT_CODES}"""
_HEAD: Final = """\
# Every key of the configuration of Siteatlas, with its default. To use the file: siteatlas run --config site.toml
# The command line can set each key: --set pace.rate=5, or --set sites.shop.pace.rate=5 for one site. Some keys have an
# option of their own, which stands in parentheses. The environment can set each key too: SITEATLAS_PACE_RATE=5.
# The command line overrides the environment, and the environment overrides this file.
# Times are numbers of seconds, or 90s, 15m, 2h, 1d. Sizes are numbers of bytes, or 512K, 20M, 1G.
"""
_SITES: Final = """\
# [sites]
# Several sites in one file. Each site has a name and its own sections. The name consists of letters, digits, ".",
# "_" and "-". A key in a section of a site overrides the same key in the shared section above. If its value is a
# list or a table, it replaces the whole shared value. Paths are relative to the directory of this file.
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
_WIDTH: Final = 112  # columns of comments and lists


def config(
    word: Annotated[
        str,
        typer.Argument(
            metavar="WORD",
            help="Print only the section with this name, or the keys with this word in their name or meaning.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """Print every key of the configuration with its default and its meaning.

    The output is a configuration file. siteatlas init writes a shorter one for your site.
    """
    with CommandErrors(verbose=False):
        text = reference(output_width(sys.stdout), word)
        if not text:
            raise UsageError(f"no key has {word!r} in its name or its meaning. siteatlas config prints all keys")
        sys.stdout.write(fitted_file(text))


def reference(width: int = 0, word: str = "") -> str:
    """The text of ``config.example.toml``, with its comments in at most ``width`` columns; "" if no key matches."""
    width = min(width or _WIDTH, _WIDTH)
    sections = "\n".join(_section_lines(width, word))
    if word:
        return sections
    return f"{_HEAD}\n{sections}\n{_SITES}"


def _section_lines(width: int, word: str) -> Iterator[str]:
    from crawler.cli.options import FLAGS  # noqa: PLC0415 - with the sections, not needed to show help
    from crawler.config.config import Config  # noqa: PLC0415

    flags = {flag.key: flag.long for flag in FLAGS}
    named = word if word in Config.model_fields else ""
    for name, field in Config.model_fields.items():
        section = field.default
        keys = {
            key: setting
            for key, setting in type(section).model_fields.items()
            if name == named or (not named and _letters(word) in _letters(f"{key} {setting.description}"))
        }
        has_free_keys = not type(section).model_fields and (not word or name == named)
        if not (keys or has_free_keys):
            continue
        yield f"[{name}]"
        yield from (*wrap(" ".join(str(section.__doc__).split()), width, "# ", "# "), "")
        for key, setting in keys.items():
            flag = flags.get(f"{name}.{key}")
            text = f"{setting.description} ({flag})" if flag else str(setting.description)
            yield from wrap(" ".join(text.split()), width, "# ", "# ")
            value = getattr(section, key)
            yield f"# {key} =" if value is None else f"{key} = {toml_value(value, width)}"
        yield ""


def _letters(text: str) -> str:
    """A text without what spellings of a word differ in, such as time-out and timeout."""
    return re.sub("[-_ ]", "", text.lower())


def toml_value(value: Any, width: int = _WIDTH) -> str:
    """A value as TOML, a long list on lines of at most ``width`` characters."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple):
        listed = f"[{', '.join(map(toml_value, value))}]"
        if len(listed) < 100:
            return listed
        filled = "\n".join(wrap(f"{listed[1:-1]},", width, "    ", "    "))
        return f"[\n{filled}\n]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(key)} = {toml_value(item)}' for key, item in value.items())}}}"
    return repr(value)


if __name__ == "__main__":
    print(reference(), end="")  # noqa: T201 - python -m crawler.cli.config > config.example.toml
