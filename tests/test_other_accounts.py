"""Files of other accounts: what they put in the way is neither used nor read, and what they own for good reasons is."""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from run import FAST, command, siteatlas
from scripted import Answer, Site, links, scripted

from crawler.errors import StorageError
from crawler.state.lock import hold_lock
from sitemap import check_path

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of other accounts")
THEM, OTHERS = 54_321, 54_322
SECRET = "root:SECRETHASH:19000:0:99999:7:::"


@pytest.fixture
def site() -> Iterator[Site]:
    with scripted({"/": links("/a"), "/a": "<p>a"}) as running:
        yield running


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody may enter."""
    made = Path(tempfile.mkdtemp(prefix="accounts-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def _give(path: Path, owner: int, mode: int = 0o755) -> Path:
    os.chown(path, owner, owner, follow_symlinks=False)
    if not path.is_symlink():
        path.chmod(mode)
    return path


def _directory(path: Path, owner: int = 0, mode: int = 0o755) -> Path:
    path.mkdir()
    return _give(path, owner, mode)


def _link(path: Path, target: Path, owner: int) -> Path:
    path.symlink_to(target)
    return _give(path, owner)


def _in_tmp(root: Path) -> Path:
    """Below a folder that another account made in a directory like /tmp."""
    _directory(_directory(root / "shared", 0, 0o1777) / "theirs", THEM)
    return root / "shared" / "theirs" / "below"


def _by_link(root: Path) -> Path:
    """Behind a link in the tree of another account that leads out of the tree."""
    _directory(root / "ours")
    _link(_directory(root / "tree", THEM) / "link", root / "ours", THEM)
    return root / "tree" / "link" / "below"


def _through_our_link(root: Path) -> Path:
    """Our link leads to what another account planted."""
    place = _in_tmp(root)
    return _link(root / "mine", place.parent, 0) / "below"


@pytest.mark.parametrize("place", [_in_tmp, _by_link, _through_our_link])
def test_ours_a_folder_behind_what_another_account_planted_is_not_used(
    folder: Path, site: Site, place: Callable[[Path], Path]
) -> None:
    planted = place(folder)
    _directory(folder / "good")
    words = {
        "the state": (["crawl", site.url, "-o", str(folder / "good"), "--state", str(planted)], 7, "--state"),
        "output": (["crawl", site.url, "-o", str(planted), "--state", str(folder / "good")], 7, "another directory"),
        "report": (["audit", site.url, "-o", str(planted), "--state", str(folder / "good")], 7, "-o"),
    }
    for what, (given, code, remedy) in words.items():
        ran = siteatlas(folder, *given, *FAST)
        assert ran.code == code, (what, ran)
        assert "the account 54321" in ran.err, (what, ran.err)
        assert remedy in ran.err, (what, ran.err)
        assert not planted.exists(), what


def _tree_of_the_web_server(root: Path) -> Path:
    return _directory(_directory(root / "www", THEM) / "shop", THEM)


def _link_inside_the_tree(root: Path) -> Path:
    tree = _directory(root / "deploy", THEM)
    _directory(tree / "release-7", THEM)
    return _link(tree / "current", tree / "release-7", THEM)


def _link_of_root_to_a_tree(root: Path) -> Path:
    return _link(root / "link", _tree_of_the_web_server(root), 0)


def _volume_for_everybody(root: Path) -> Path:
    return _directory(_directory(root / "volume", THEM, 0o777) / "made-by-its-owner", THEM)


def _home_with_a_private_group(root: Path) -> Path:
    return _directory(_directory(root / "home", 0, 0o775) / "site", 0, 0o2775)


def _own_in_tmp(root: Path) -> Path:
    return _directory(_directory(root / "tmp", 0, 0o1777) / "ours")


@pytest.mark.parametrize(
    "place",
    [
        _tree_of_the_web_server,
        _link_inside_the_tree,
        _link_of_root_to_a_tree,
        _volume_for_everybody,
        _home_with_a_private_group,
        _own_in_tmp,
    ],
)
def test_ours_usual_places_are_used(folder: Path, place: Callable[[Path], Path]) -> None:
    check_path(place(folder))


@pytest.mark.parametrize("option", ["--search", "--list", "--crawl", "--sitemap", "--log"])
def test_ours_no_source_is_a_link_of_an_account_to_what_is_not_its_own(folder: Path, site: Site, option: str) -> None:
    (folder / "secret").write_text(f"{SECRET}\n")
    exports = _directory(folder / "exports", THEM)
    _link(exports / "link", folder / "secret", THEM)
    ran = siteatlas(folder, "audit", site.url, option, "exports/link", *FAST)
    assert ran.code == 2
    assert "exports/link is a link of the account 54321, and leads to what belongs to root" in ran.err
    assert "SECRETHASH" not in ran.err + ran.out


def test_ours_a_table_that_is_a_link_shows_no_line_of_its_target(folder: Path, site: Site) -> None:
    (folder / "secret").write_text(f"{SECRET}\n")
    _directory(folder / "exports")
    _link(folder / "exports" / "ours.csv", folder / "secret", 0)
    for name in ("exports/ours.csv", "exports"):
        ran = siteatlas(folder, "audit", site.url, "--search", name, *FAST)
        assert ran.code == 2
        assert "SECRETHASH" not in ran.err + ran.out
        assert "not shown of a link" in ran.err
    (folder / "table.csv").write_text("url,clicks\n")
    (folder / "table.csv").write_text(f"URL,Clicks\n{site.url}a,7\n")
    _link(folder / "newest.csv", folder / "table.csv", 0)
    assert siteatlas(folder, "audit", site.url, "--search", "newest.csv", *FAST).code == 0


def test_ours_what_root_writes_into_directories_of_an_account_belongs_to_it(folder: Path, site: Site) -> None:
    for name in ("state", "out", "report"):
        _directory(folder / name, THEM)
    (folder / "site.toml").write_text(
        f'[site]\nurl = "{site.url}"\n[state]\ndirectory = "state"\n[output]\ndirectory = "out"\nswap_delay = 0\n'
        'html_sitemap = true\n[audit]\nevery = 1\nreport = "report/new"\n[hook]\ncommand = ["true"]\n'
    )
    config = ("--config", "site.toml")
    gone = folder / "gone.txt"
    gone.write_text(f"{site.url}gone\n")
    commands = [
        ("crawl", *config, *FAST),
        ("run", *config, *FAST),
        ("crawl", "--state", "state", site.url.replace("127.0.0.1", "localhost"), "-o", "out/more", *FAST),
        ("audit", *config, *FAST),
        ("query", *config, "SELECT count(*) FROM pages"),
        ("urls", "import", *config, "gone.txt"),
        ("urls", "accept", *config, f"{site.url}gone", "--reason", "sold"),
        ("notify", *config),
        ("rollback", *config),
    ]
    for number, words in enumerate(commands):
        site.routes["/"] = links("/a", *(f"/{n}" for n in range(number)))
        site.routes[f"/{number}"] = f"<p>{number}"
        ran = siteatlas(folder, *words)
        assert ran.code in (0, 3, 4), (words, ran.err)
        ours = [path for name in ("state", "out", "report") for path in (folder / name).rglob("*")]
        assert len(ours) > 5
        assert [path for path in ours if path.lstat().st_uid != THEM] == [], words


def test_ours_what_root_writes_before_it_is_killed_belongs_to_the_account(folder: Path, site: Site) -> None:
    _directory(folder / "state", THEM)
    site.routes["/a"] = Answer("<p>a", delay=60)
    words = ("crawl", site.url, "--state", "state", "-o", "out", *FAST)
    with subprocess.Popen(command(*words), cwd=folder, stderr=subprocess.DEVNULL) as process:
        while "/a" not in site.paths:
            time.sleep(0.05)
        process.kill()
    ours = list((folder / "state").rglob("*"))
    assert "state.db-wal" in {path.name for path in ours}
    assert {path.lstat().st_uid for path in ours} == {THEM}


def test_ours_an_account_that_may_not_create_its_state_is_told_who_can(folder: Path) -> None:
    closed = _directory(folder / "closed", 0, 0o700)
    os.seteuid(65_534)
    try:
        with pytest.raises(StorageError) as missing:
            hold_lock(folder / "state" / "shop")
        with pytest.raises(StorageError) as unknown:
            hold_lock(closed / "state")
    finally:
        os.seteuid(0)
    name = pwd.getpwuid(65_534).pw_name
    state = folder / "state"
    assert f"Restore {state} from its backup, or create it as root: install -d -o {name} {state}" in str(missing.value)
    assert "Choose another directory with state.directory (--state)" in str(unknown.value)
