"""Which page a site generator makes of a source file: Hugo, Jekyll, Eleventy, MkDocs, Sphinx, Nikola and others. Pure.

The rules are those of a generator's default settings, with the address that a front matter states. A file may have
several candidates, the likeliest first, because settings choose between them; the crawl knows which of them exist.

| Hugo | https://gohugo.io/content-management/organization/ and …/content-management/urls/ |
| Jekyll | https://jekyllrb.com/docs/permalinks/ and …/docs/collections/ |
| Eleventy | https://www.11ty.dev/docs/permalinks/ and …/docs/data-eleventy-supplied/#filepathstem |
| MkDocs | https://www.mkdocs.org/user-guide/writing-your-docs/#file-layout |
| Sphinx | https://www.sphinx-doc.org/en/master/usage/builders/index.html (``html`` and ``dirhtml``) |
| Nikola | https://getnikola.com/handbook.html#configuration (``POSTS``, ``PAGES``, ``FILES_FOLDERS``) |
| Astro | https://docs.astro.build/en/basics/astro-pages/ and …/en/guides/content-collections/ |
| Docusaurus | https://docusaurus.io/docs/create-doc, …/docs/blog, …/docs/versioning and …/docs/i18n/introduction |
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final, Literal, get_args
from urllib.parse import unquote

from msgspec import Struct

GeneratorName = Literal["hugo", "docusaurus", "astro", "eleventy", "mkdocs", "jekyll", "sphinx", "nikola"]
Candidates = Callable[[str], Iterator[str]]
ANY: Final = "*/"
"""Any directories, at the start of a key."""

MIN_MOVED_PAGES: Final = 3
"""Files of a folder that have a page in another folder, from which on the folder is moved there."""
MAX_ALIKE: Final = 100  # pages with one name that are compared

_SCRIPTS: Final = ("js", "ts", "mjs", "cjs", "mts", "cts")
_DATA: Final = ("toml", "yaml", "yml", "json")
_OLD_HUGO: Final = tuple(f"config.{end}" for end in _DATA)  # its settings until 2022; others have such a file, too
_JEKYLL: Final = tuple(f"_config.{end}" for end in ("yml", "yaml", "toml"))
_LANGUAGE: Final = r"[a-z]{2}(?:-[A-Za-z]{2,4})?"
_front_matter = re.compile(r"\ufeff?(?:---|\+\+\+)[ \t]*\r?\n((?:(?!---|\+\+\+).*\n?)*)").match
_field = re.compile(r"^[\"']?(permalink|url|slug)[\"']?[ \t]*[:=][ \t]*[\"']?([^\s\"'#]+)", re.MULTILINE).findall
_dated = re.compile(r"(.*/)?(\d{4})-(\d{2})-(\d{2})-([^/]+)").fullmatch
_hugo_language = re.compile(rf"(.*)\.({_LANGUAGE})").fullmatch
_docusaurus_order = re.compile(r"(?:(?<=/)|^)\d+\s*[-_.]+\s*(?=[^\d\s/])").sub  # of files and folders in a menu
_docusaurus_version = re.compile(r"versioned_docs/version-([^/]+)/(.*)").fullmatch
_docusaurus_language = re.compile(
    rf"i18n/({_LANGUAGE})/docusaurus-plugin-content-(docs/current|blog|pages)/(.*)"
).fullmatch
_docusaurus_part = re.compile(r"(docs|blog|src/pages)/(.*)").fullmatch
_jekyll_collection = re.compile(r"(?:(.*)/)?_(posts|drafts|[a-z][a-z0-9_-]*)/(.*)").fullmatch


def _hugo(stem: str) -> Iterator[str]:
    if not stem.startswith("content/"):
        return
    path = re.sub(r"(^|/)_index(?=\.|$)", r"\1index", stem.removeprefix("content/"))
    if translated := _hugo_language(path):
        yield f"{translated[2]}/{translated[1]}"
        yield translated[1]  # the language of the site has no directory
    else:
        yield path


def _jekyll(stem: str) -> Iterator[str]:
    collection = _jekyll_collection(stem)
    if collection is None:
        yield stem
    elif collection[2] == "posts":
        folder, dated = collection[1] or "", _dated(collection[3])
        if dated:
            _, year, month, day, name = dated.groups()
            yield f"{folder}/{year}/{month}/{day}/{name}"
            yield f"{ANY}{name}"
    elif collection[2] not in ("drafts", "layouts", "includes", "data", "sass", "site"):
        yield f"{collection[2]}/{collection[3]}"
        yield collection[3]


def _eleventy(stem: str) -> Iterator[str]:
    dated = _dated(stem)
    path = f"{dated[1] or ''}{dated[5]}" if dated else stem
    path = _folder_page(path)
    if not any(part.startswith("_") for part in path.split("/")):
        yield path
        yield re.sub(r"^(?:src|content|site|docs|pages|views)/(?:content/|pages/)?", "", path)


def _folder_page(path: str, *names: str) -> str:
    """The path, as the index of its folder if it has the name of the folder or one of the ``names``."""
    folder, _, name = path.rpartition("/")
    is_index = name.casefold() in (*names, folder.rpartition("/")[2].casefold() or ANY)
    return f"{folder}/index" if is_index else path


def _mkdocs(stem: str) -> Iterator[str]:
    if stem.startswith("docs/"):
        yield stem.removeprefix("docs/")
        yield re.sub(r"(^|/)readme$", r"\1index", stem.removeprefix("docs/"), flags=re.IGNORECASE)


def _same_path(stem: str) -> Iterator[str]:
    if not any(part.startswith("_") for part in stem.split("/")):
        yield stem


def _astro(stem: str) -> Iterator[str]:
    path = stem.removeprefix("src/pages/")
    if path != stem and "[" not in path and not any(part.startswith("_") for part in path.split("/")):
        yield path
    path = stem.removeprefix("src/content/").removeprefix("src/data/")
    if path != stem:
        yield path
        yield path.partition("/")[2]  # of a collection whose name is not in the address, such as docs of Starlight


def _docusaurus(stem: str) -> Iterator[str]:
    if version := _docusaurus_version(stem):
        yield f"docs/{version[1]}/{_docusaurus_name(version[2])}"
        yield f"docs/{_docusaurus_name(version[2])}"  # the last version has no directory
        return
    language, part, path = "", "", ""
    if translated := _docusaurus_language(stem):
        language, part, path = f"{translated[1]}/", translated[2].partition("/")[0], translated[3]
    elif own := _docusaurus_part(stem):
        part, path = own[1].removeprefix("src/"), own[2]
    dated = _dated(path.removesuffix("/index"))
    if part == "pages":
        yield f"{language}{path}"
    elif part == "blog" and dated:
        yield f"{language}blog/{dated[1] or ''}{dated[2]}/{dated[3]}/{dated[4]}/{dated[5]}"
    elif part:
        yield f"{language}{part}/{_docusaurus_name(path)}"
        yield f"{language}{_docusaurus_name(path)}"  # with routeBasePath: "/"
        if part == "docs":
            yield f"{language}docs/next/{_docusaurus_name(path)}"


def _docusaurus_name(path: str) -> str:
    """The path without the numbers that order a menu; a file with the name of its folder is its index."""
    return _folder_page(_docusaurus_order("", path), "readme")


class GeneratorRules(Struct, frozen=True):
    """``markers`` are files that tell a generator, by their names in the directory of the site. ``types`` are the
    endings of its pages. ``setting`` is the one that names another directory than ``directory`` for them. A build
    copies the files in ``static`` to the root of the site, or those that ``static_setting`` says; "" where only that
    says which. That root is in ``output``, or where ``output_setting`` says. ``says`` is a setting that tells it from
    another generator with such a marker.
    """

    markers: tuple[str, ...]
    types: tuple[str, ...]
    candidates: Candidates
    directory: str = ""
    setting: str = ""
    static: str = ""
    output: str = ""
    output_setting: str = ""
    static_setting: str = ""
    says: str = ""


GENERATORS: Final[dict[GeneratorName, GeneratorRules]] = {
    "hugo": GeneratorRules(
        tuple(f"{path}.{end}" for path in ("hugo", "config/_default/hugo", "config/_default/config") for end in _DATA)
        + _OLD_HUGO,
        ("md", "markdown", "html", "adoc", "org", "rst"),
        _hugo,
        "content/",
        "contentDir",
        "static/",
        "public",
        "publishDir",
    ),
    "docusaurus": GeneratorRules(
        tuple(f"docusaurus.config.{end}" for end in _SCRIPTS),
        ("md", "mdx", "js", "jsx", "ts", "tsx"),
        _docusaurus,
        static="static/",
        output="build",
    ),
    "astro": GeneratorRules(
        tuple(f"astro.config.{end}" for end in _SCRIPTS),
        ("astro", "md", "mdx", "mdoc", "html"),
        _astro,
        static="public/",
        output="dist",
        output_setting="outDir",
    ),
    "eleventy": GeneratorRules(
        (".eleventy.js", *(f"eleventy.config.{end}" for end in _SCRIPTS)),
        ("md", "html", "njk", "liquid", "11ty.js", "hbs", "ejs", "webc", "pug", "haml", "mustache"),
        _eleventy,
        "",
        "input",
        "",
        "_site",
        "output",
        "addPassthroughCopy",
    ),
    "mkdocs": GeneratorRules(
        ("mkdocs.yml", "mkdocs.yaml"), ("md", "markdown"), _mkdocs, "docs/", "docs_dir", "docs/", "site", "site_dir"
    ),
    "jekyll": GeneratorRules(_JEKYLL, ("md", "markdown", "html"), _jekyll, "", "", "./", "_site", "destination"),
    "sphinx": GeneratorRules(("conf.py",), ("rst", "md", "ipynb", "txt"), _same_path, output="_build/html"),
    "nikola": GeneratorRules(
        ("conf.py",),
        ("rst", "md", "ipynb", "txt", "html"),
        _same_path,
        static="files/",
        output="output",
        output_setting="OUTPUT_FOLDER",
        static_setting="FILES_FOLDERS",
        says="BLOG_TITLE",
    ),
}
assert GENERATORS.keys() == set(get_args(GeneratorName))  # noqa: S101 - the table is whole


class SiteGenerator(Struct, frozen=True):
    """The generator of a site. ``root`` is the directory of its ``marker`` in the repository, "" or ending with "/".

    ``directory`` is where its pages are, below ``root``, and ``output`` where it builds the site. A build copies the
    files in ``static``, also below ``root``, to the root of the site; "" if that is not known.
    """

    name: GeneratorName
    root: str
    marker: str
    directory: str
    output: str = ""
    static: str = ""

    def with_settings(self, text: str) -> "SiteGenerator":
        """The one that its settings tell, with the directories they name; ``text`` is the content of the marker."""
        told = (
            kind
            for kind, rules in GENERATORS.items()
            if rules.says and self.marker.endswith(rules.markers) and re.search(rf"^{rules.says}\b", text, re.MULTILINE)
        )
        name = next(told, self.name)
        rules = GENERATORS[name]
        stated = (_stated(rules.setting, text) or self.directory).removeprefix("./").strip("/")
        directory, output = f"{stated}/" if stated not in ("", ".") else "", _stated(rules.output_setting, text)
        static = directory if rules.static and rules.static == rules.directory else rules.static
        to_root = rf"\b{rules.static_setting}[\s=({{]*[\"'](?:\./)?([\w./-]+?)/?[\"']\s*:\s*[\"']/?[\"']"
        if rules.static_setting and (copied := re.search(to_root, text)):
            static = copied[1]
        return SiteGenerator(name, self.root, self.marker, directory, output or rules.output, static)

    def is_page(self, file: str) -> bool:
        """Whether a file of the repository has the place and the ending of a page."""
        types = GENERATORS[self.name].types
        return file.startswith(self.root + self.directory) and file.endswith(tuple(f".{end}" for end in types))

    def keys(self, file: str, head: str) -> list[str]:
        """The keys (:func:`path_key`) of the pages that a file may be, the likeliest first.

        ``head`` are its first lines: the address that a front matter states is the only candidate.
        """
        rules = GENERATORS[self.name]
        ending = next(f".{end}" for end in rules.types if file.endswith(f".{end}"))
        stem = rules.directory + file.removeprefix(self.root).removeprefix(self.directory).removesuffix(ending)
        matter = _front_matter(head)
        stated = dict(reversed(_field(matter[1]))) if matter else {}
        address = stated.get("permalink") or stated.get("url") or ""
        if address:
            return [] if any(mark in address for mark in "{:") or address == "false" else [path_key(address)]
        keys = [path_key(path) for path in rules.candidates(stem)]
        if slug := stated.get("slug", ""):
            keys = [path_key(f"{key.rpartition('/')[0]}/{slug.strip('/')}") for key in keys]
            keys += [path_key(slug)] if slug.startswith("/") else []
        return list(dict.fromkeys(keys))


def _stated(setting: str, text: str) -> str:
    """The path that a setting has in the text of a configuration, or ""."""
    text = re.sub(r"(?m)^[ \t]*(?:#|//).*", "", text)
    stated = setting and re.search(rf"\b{setting}\b[\"']?[ \t]*[:=][ \t]*[\"']?([\w./-]+)", text)
    return stated[1] if stated else ""


def find_generator(files: Collection[str], name: GeneratorName | None = None) -> SiteGenerator | None:
    """The generator of the site nearest to the top of a repository, or the one of this name; None for none."""
    with_content = {root for root, folder, _ in (file.rpartition("content/") for file in files) if folder}
    found = []
    for file in files:
        for order, (kind, rules) in enumerate(GENERATORS.items()):
            for marker in rules.markers if name in (None, kind) else ():
                root = file.removesuffix(marker)
                is_marker = f"/{file}".endswith(f"/{marker}") and (marker not in _OLD_HUGO or root in with_content)
                if is_marker:
                    found.append((root.count("/"), order, root, kind, file))
    if not found:
        return None
    _, _, root, kind, file = min(found)
    return SiteGenerator(kind, root, file, GENERATORS[kind].directory)


def path_key(path: str) -> str:
    """A path as pages are matched by it: without case, escapes, ``index``, ``.html`` and "/" at its ends."""
    text = re.sub(r"\.html?$", "", unquote(path).strip("/").casefold()).replace(" ", "-")
    return "" if text == "index" else text.removesuffix("/index")


def match_pages(generator: SiteGenerator, heads: Iterable[tuple[str, str]], pages: Collection[str]) -> dict[str, str]:
    """The files by the keys of their ``pages``; ``heads`` are files with their first lines.

    The likeliest candidates choose first, then :func:`_mounts`. A page that two files claim with equal right is
    nobody's.
    """
    named: dict[str, list[str]] = {}
    for key in pages:
        named.setdefault(f"{ANY}{key.rpartition('/')[2]}", []).append(key)
    claims: list[tuple[int, str, str]] = []
    first: dict[str, str] = {}
    for file, head in heads:
        candidates = generator.keys(file, head)
        if candidates and not candidates[0].startswith(ANY):
            first[file] = candidates[0]
        for level, key in enumerate(candidates):
            keys = named.get(key, ()) if key.startswith(ANY) else (key,)
            if len(keys) == 1 and keys[0] in pages:
                claims.append((level, keys[0], file))
    found: dict[str, str] = {}
    for level in range(1 + max((level for level, *_ in claims), default=-1)):
        placed = set(found.values())
        here = [
            (key, file) for claimed, key, file in claims if claimed == level and file not in placed and key not in found
        ]
        rivals = Counter(key for key, _ in here)
        found |= {key: file if rivals[key] == 1 else "" for key, file in here}
    placed = set(found.values())
    left = {file: key for file, key in first.items() if file not in placed}
    moved = _moved_pages(left, set(pages) - found.keys())
    rivals = Counter(page for page, _ in moved)
    rivals.update(file for _, file in moved)
    found |= {page: file for page, file in moved if rivals[page] == rivals[file] == 1}
    return {key: file for key, file in found.items() if file}


def _moved_pages(files: Mapping[str, str], pages: Collection[str]) -> set[tuple[str, str]]:
    """The pages that the settings of a site make in another folder than that of their files, with these.

    ``files`` are files without a page, with their keys; ``pages`` are pages without a file. A mount of Hugo, the
    permalinks of a collection or another input directory move all files of a folder. So a folder is moved if at least
    :data:`MIN_MOVED_PAGES` and half of its files have a page at the same path below another folder.
    """
    named: dict[str, list[str]] = {}
    for page in sorted(pages):
        named.setdefault(page.rpartition("/")[2], []).append(page)
    inside: Counter[str] = Counter()
    votes: Counter[tuple[str, str]] = Counter()
    for key in files.values():
        inside.update(_folders(key))
        alike = named.get(key.rpartition("/")[2], ())
        votes.update(_different_folders(key, page) for page in alike[:MAX_ALIKE])
    moved = set()
    for (folder, other), count in votes.items():
        if count >= max(MIN_MOVED_PAGES, inside[folder] / 2):
            for file, key in files.items():
                if f"{key}/".startswith(folder):
                    page = f"{other}{key[len(folder) :]}".strip("/")
                    moved |= {(page, file)} if page in pages else set()
    return moved


def _folders(key: str) -> list[str]:
    """The folders of a key from the outermost one, "", each with a "/" at its end."""
    parts = key.split("/")
    return ["".join(f"{part}/" for part in parts[:count]) for count in range(len(parts))]


def _different_folders(key: str, page: str) -> tuple[str, str]:
    """The beginnings in which the two differ, whole folders."""
    mine, its = _folders(key), _folders(page)
    while len(mine) > 1 and len(its) > 1 and key[len(mine[-2]) :] == page[len(its[-2]) :]:
        mine.pop()
        its.pop()
    return mine[-1], its[-1]
