"""The packages that ours is measured beside, if they are there: ultimate-sitemap-parser, and sitemap from npm."""

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from tests.benchmarks.sitemap import ours

TESTS = Path(__file__).parent.parent.parent
sys.path += [str(TESTS), str(TESTS / "sitemap" / "interop")]
USP, NPM = "ultimate-sitemap-parser", "npm sitemap"


def commands(count: int, folder: Path, theirs: Path) -> list[tuple[str, str, list[str]]]:
    """Name, "write" or "read", and command line of each peer that is here. They read ``folder``, write ``theirs``."""
    found = []
    if find_spec("usp"):
        found.append((USP, "read", [sys.executable, "-m", __spec__.name, str(folder)]))
    if home := npm():
        node = ["node", str(Path(__file__).with_name("npm_sitemap.cjs")), str(home)]
        files = [str(path) for path in ours.shards(folder)]
        found.append((NPM, "write", [*node, "write", str(count), str(theirs)]))
        found.append((NPM, "read", [*node, "read", *files]))
    return found


def npm() -> Path | None:
    """The folder whose ``node_modules`` has the npm package, which is fetched once; None when it cannot be had."""
    if not shutil.which("node"):
        return None
    import node_sitemap
    import schemas

    try:
        return Path(node_sitemap.home())
    except schemas.Unavailable:
        return None


def main(folder: Path) -> None:
    """Read the set of a folder with ultimate-sitemap-parser."""
    import usp_reader

    pages = usp_reader.pages(folder, ours.LOCATION)
    print(len(pages), sum(1 for page in pages if page.last_modified))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
