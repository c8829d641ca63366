"""SFTP, with a real OpenSSH server and with one that has trouble: what is there, how it got there, who was let in."""

import os
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import asyncssh
import pytest
from doubles_sftp import PASSWORD, USER, Host, sftp_double
from sshd import Sshd, sshd
from uploads import LEAD, Site

from crawler.errors import StorageError, UsageError
from crawler.publish.upload.target import SftpAddress, parse_target_address
from crawler.publish.upload.upload import check_upload

FIRST = ("", "a", "b", "c", "d")
SECOND = ("", "a", "b", "c", "d", "e", "f")


@pytest.fixture(scope="module")
def openssh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with sshd(tmp_path_factory.mktemp("sshd")) as server:
        yield server


@pytest.fixture
def site(tmp_path: Path, openssh: Sshd) -> Site:
    return Site(
        tmp_path,
        {
            "to": f"sftp://{openssh.user}@127.0.0.1:{openssh.port}{tmp_path}/a%20server/maps",
            "sftp_key": str(openssh.key),
            "sftp_known_hosts": str(openssh.known_hosts),
            "grace_period": 100.0,
            "timeout": 20.0,
        },
    )


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    (tmp_path / "root").mkdir()
    with sftp_double(tmp_path / "root") as double:
        (tmp_path / "known").write_text(double.known_hosts)
        yield double


@pytest.fixture
def guest(tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A site that is uploaded to the double, with a password."""
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    return Site(
        tmp_path,
        {
            "to": f"sftp://{USER}@127.0.0.1:{host.port}/srv/maps",
            "sftp_password": "env:SHOP_PASSWORD",
            "sftp_known_hosts": str(tmp_path / "known"),
            "timeout": 10.0,
            "retries": 2,
        },
    )


def there(site: Site) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (site.folder / "a server" / "maps").iterdir()}


def served(host: Host) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (host.root / "srv" / "maps").iterdir()}


@pytest.mark.needs_sshd
def test_ours_openssh_has_the_set_with_modes_and_times_and_an_idle_night_changes_nothing(site: Site) -> None:
    site.publish(*FIRST)
    done = site.send()
    assert there(site) == site.local()
    assert (done.sent, done.unchanged) == (4, 0)
    assert done.destination == site.upload["to"].replace("%20", " ")  # type: ignore[attr-defined]
    folder = site.folder / "a server" / "maps"
    for path in folder.iterdir():
        local = (site.folder / "public" / path.name).stat()
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
        assert path.stat().st_mtime == int(local.st_mtime)
    assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IMODE(folder.parent.stat().st_mode) == 0o755
    before = {path: path.stat() for path in folder.iterdir()}
    assert site.send().sent == 0
    assert {path: path.stat() for path in folder.iterdir()} == before


@pytest.mark.thorough
@pytest.mark.needs_sshd
def test_ours_openssh_gets_what_changed_or_was_altered_and_loses_only_what_is_ours(site: Site) -> None:
    site.publish(*SECOND)
    for path in (site.folder / "public").iterdir():  # as times are told to the second there
        os.utime(path, (1_700_000_000, 1_700_000_000))
    site.send()
    folder = site.folder / "a server" / "maps"
    (folder / "theirs.xml").write_bytes(b"theirs")
    (folder / "sitemap-1.xml").unlink()
    (folder / "sitemap-2.xml").write_bytes(b"x" * (folder / "sitemap-2.xml").stat().st_size)
    assert site.send().sent == 2
    (record,) = site.folder.glob("state/*/upload/record.json")
    record.unlink()
    assert site.send().sent == 0  # by size and time
    site.publish(*FIRST)
    assert (site.send().waiting, "sitemap-4.xml" in there(site)) == (1, True)
    site.now += 101
    assert site.send().removed == 1
    assert there(site) == {**site.local(), "theirs.xml": b"theirs"}


@pytest.mark.needs_sshd
def test_systemd_hands_over_a_key_that_the_account_may_not_read(
    site: Site, openssh: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "nonexistent-id").write_bytes(openssh.key.read_bytes())
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path / "given"))
    site.publish(*FIRST)
    assert site.send(sftp_key="/nonexistent/id").sent == 4


@pytest.mark.thorough
@pytest.mark.needs_sshd
def test_ours_openssh_refuses_in_sentences(site: Site, openssh: Sshd, tmp_path: Path) -> None:
    site.publish(*FIRST)
    base = f"sftp://{openssh.user}@127.0.0.1:{openssh.port}"
    with pytest.raises(StorageError, match=r"/dev/null is not a directory there|failed there without a reason"):
        site.send(to=f"{base}/dev/null", retries=0)
    stranger = asyncssh.generate_private_key("ssh-ed25519")
    stranger.write_private_key(str(tmp_path / "stranger"))
    with pytest.raises(StorageError, match=f"it does not accept the login of {openssh.user}: correct the user"):
        site.send(to=f"{base}{tmp_path}/x", sftp_key=str(tmp_path / "stranger"))
    assert site.slept == []


def test_ours_passwords_and_paths_below_the_home(guest: Site, host: Host) -> None:
    guest.publish(*FIRST)
    done = guest.send(to=f"sftp://{USER}@127.0.0.1:{host.port}/~/maps")
    assert done.destination == f"sftp://{USER}@127.0.0.1:{host.port}/~/maps"
    assert ("posix_rename", b"maps/" + LEAD.encode()) in host.log
    assert {path.name for path in (host.root / "maps").iterdir()} == set(guest.local())


@pytest.mark.thorough
def test_ours_files_go_before_the_index_and_what_left_after_it(guest: Site, host: Host) -> None:
    guest.publish(*SECOND)
    guest.send()
    renamed = [path.rpartition(b"/")[2].decode() for act, path in host.log if act == "posix_rename"]
    assert sorted(renamed) == sorted(guest.local())
    assert renamed[-1] == LEAD
    host.log.clear()
    guest.publish(*FIRST)
    guest.send(grace_period=0.0)
    acts = [(act, path.decode()) for act, path in host.log]
    assert acts.index(("posix_rename", f"/srv/maps/{LEAD}")) < acts.index(("remove", "/srv/maps/sitemap-4.xml"))
    assert served(host) == guest.local()


def test_ours_a_server_that_cannot_replace_files_is_told_of_once(guest: Site, host: Host) -> None:
    host.replaces = False
    guest.publish(*FIRST, lastmod="2026-01-01")
    guest.send()
    assert guest.said == []
    guest.publish(*FIRST, lastmod="2026-01-02")
    guest.send()
    assert served(host) == guest.local()
    assert len(guest.said) == 1
    assert "cannot replace a file at once" in guest.said[0]


def test_ours_a_draft_of_what_is_not_wanted_any_more_is_removed(guest: Site, host: Host) -> None:
    guest.publish(*FIRST)
    guest.send()
    guest.publish(*SECOND)
    host.fails("posix_rename", *[asyncssh.SFTPPermissionDenied("no")] * 9)
    with pytest.raises(StorageError):
        guest.send()
    assert any(name.endswith(".siteatlas") for name in served(host))
    host.fails("posix_rename")
    guest.publish(*FIRST)
    guest.send(grace_period=0.0)
    assert served(host) == guest.local()


def test_ours_a_connection_that_is_cut_is_made_anew(guest: Site, host: Host) -> None:
    cuts = iter([True, False, True])

    def fault(act: str, path: bytes) -> None:
        if act == "write" and next(cuts, False):
            host.cut()

    host.fault = fault
    guest.publish(*FIRST)
    guest.send()
    assert served(host) == guest.local()
    assert host.sessions >= 2


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("act", "error", "told", "again"),
    [
        ("open", asyncssh.SFTPPermissionDenied("no"), "does not allow putting .* there: give the user", False),
        ("mkdir", asyncssh.SFTPPermissionDenied("no"), "give the user the right to write in /srv/maps", False),
        ("write", asyncssh.SFTPFailure("full"), "failed there without a reason", True),
        ("lstat", asyncssh.SFTPBadMessage(PASSWORD), r"looking at its files failed there \(SFTPBadMessage\)", True),
        ("posix_rename", asyncssh.SFTPConnectionLost("gone"), "cut in the middle of putting", True),
    ],
)
def test_ours_every_refusal_is_a_sentence(
    guest: Site, host: Host, act: str, error: Exception, told: str, again: bool
) -> None:
    host.fails(act, *[error] * 100)
    guest.publish(*FIRST)
    with pytest.raises(StorageError, match=told) as caught:
        guest.send()
    assert bool(guest.slept) is again
    assert PASSWORD not in str(caught.value)
    host.fails(act)
    guest.send()
    assert served(host) == guest.local()  # no drafts either


@pytest.mark.thorough
def test_ours_who_does_not_answer_in_time_is_not_waited_for(guest: Site, host: Host) -> None:
    guest.publish(*FIRST)
    host.fault = lambda act, path: 0.6 if act == "write" else None
    with pytest.raises(StorageError, match="did not respond to putting"):
        guest.send(timeout=0.3, retries=0)


@pytest.mark.parametrize("said", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", b"SSH-1.5-old\r\n", b"\0" * 400])
def test_ours_what_is_no_ssh_server_is_told(guest: Site, host: Host, tmp_path: Path, said: bytes) -> None:
    guest.publish(*FIRST)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (tmp_path / "known").write_text(host.known_hosts.replace(str(host.port), str(port)))

        def answer() -> None:
            peer, _ = server.accept()
            with peer:
                peer.sendall(said)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(StorageError, match="could not be uploaded to sftp://") as caught:
            guest.send(to=f"sftp://{USER}@127.0.0.1:{port}/x", retries=0, timeout=2.0)
        thread.join()
    assert str(caught.value).isprintable()


def test_ours_who_is_not_there_is_told_with_the_port(guest: Site, host: Host, tmp_path: Path) -> None:
    guest.publish(*FIRST)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        (tmp_path / "known").write_text(host.known_hosts.replace(str(host.port), str(port)))
        with pytest.raises(StorageError, match=f"cannot be reached on port {port}"):
            guest.send(to=f"sftp://{USER}@127.0.0.1:{port}/x")
    assert guest.slept == [1.0, 2.0]


def test_ours_a_host_that_is_not_known_is_never_told_the_password(guest: Site, host: Host, tmp_path: Path) -> None:
    guest.publish(*FIRST)
    (tmp_path / "known").write_text("")
    with pytest.raises(UsageError, match=f"Run ssh-keyscan -p {host.port} 127.0.0.1 >> {tmp_path}/known"):
        guest.send()
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()
    (tmp_path / "known").write_text(f"other.example {other}")
    with pytest.raises(StorageError, match=f"Run ssh-keyscan -p {host.port} 127.0.0.1 >> {tmp_path}/known"):
        guest.send()
    (tmp_path / "known").write_text(f"[127.0.0.1]:{host.port} {other}")
    with pytest.raises(StorageError, match="Somebody may intercept") as caught:
        guest.send()
    assert f"ssh-keygen -R '[127.0.0.1]:{host.port}'" in str(caught.value)
    assert host.log == []
    assert guest.slept == []


@pytest.mark.parametrize("pattern", ["[127.0.0.1]:{}", "127.0.0.*", "[127.0.0.*]:*"])
def test_openssh_a_host_is_known_by_its_address_too(guest: Site, host: Host, tmp_path: Path, pattern: str) -> None:
    (tmp_path / "known").write_text(f"{pattern.format(host.port)} {host.known_hosts.partition(' ')[2]}")
    guest.publish(*FIRST)
    guest.send(to=f"sftp://{USER}@localhost:{host.port}/srv/maps")
    assert served(host) == guest.local()
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()
    (tmp_path / "known").write_text(f"{pattern.format(host.port)} {other}")
    guest.publish(*SECOND)
    with pytest.raises(StorageError, match="Somebody may intercept"):
        guest.send(to=f"sftp://{USER}@localhost:{host.port}/srv/maps")


def test_ours_the_remedy_for_an_unknown_host_names_the_file_that_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "my home"))
    folder = tmp_path / "my home" / ".ssh"
    told = f"ssh-keyscan -p 22 host >> '{folder}/known_hosts', and .* upload.sftp_known_hosts"
    with pytest.raises(UsageError, match=f"Run mkdir -p -m 700 '{folder}' && {told}"):
        check_upload(Site(tmp_path, {"to": "sftp://shop@host/maps"}).plan)
    folder.mkdir(parents=True)
    (folder / "known_hosts").write_text("")
    with pytest.raises(UsageError, match=f"Run {told}"):
        check_upload(Site(tmp_path, {"to": "sftp://shop@host/maps"}).plan)


def test_ours_a_wrong_password_is_told_without_it(
    guest: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2")
    guest.publish(*FIRST)
    with pytest.raises(StorageError, match=f"it does not accept the login of {USER}") as caught:
        guest.send()
    assert "hunter2" not in str(caught.value) + caplog.text


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"to": "sftp://shop:hunter2@host/maps"}, "Use upload.sftp_password"),
        ({"to": "sftp://host"}, "names no directory"),
        ({"to": "sftp://host/a/../b"}, "must not contain '..'"),
        ({"to": "sftp:///maps"}, "has no host"),
        ({"to": "sftp://host:99999/maps"}, "has an invalid host or port"),
        ({"to": "sftp://host/maps?x"}, "as %3F and '#' as %23"),
        ({"sftp_password": "env:NOT_SET"}, "NOT_SET is not set"),
        ({"sftp_key": "/nonexistent/key"}, "/nonexistent/key cannot be read: No such file"),
        ({"sftp_key": "{tmp}/known"}, "is not a private key"),
        ({"sftp_key": "{tmp}/locked"}, "has a passphrase. Add the key to the agent"),
        ({"sftp_known_hosts": "/nonexistent/known"}, "ssh-keyscan -p .* >> /nonexistent/known"),
        ({"sftp_known_hosts": "{tmp}/bad"}, "is not a file of known hosts"),
        ({"sftp_known_hosts": "{tmp}"}, "is not a file of known hosts: Is a directory"),
    ],
)
def test_ours_settings_that_cannot_be_used_are_told_before_the_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, str], told: str
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    key = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()
    (tmp_path / "known").write_text(f"host {key}")
    (tmp_path / "bad").write_text("oneword\n")
    if change.get("sftp_key", "").endswith("locked"):
        locked = asyncssh.generate_private_key("ssh-ed25519")
        locked.write_private_key(str(tmp_path / "locked"), "pkcs8-pem", passphrase="x" * 8)
    good = {"to": "sftp://shop@host/maps", "sftp_known_hosts": f"{tmp_path}/known"}
    wrong = {key: value.format(tmp=tmp_path) for key, value in change.items()}
    with pytest.raises(UsageError, match=told) as caught:
        check_upload(Site(tmp_path, {**good, **wrong}).plan)
    assert "hunter2" not in str(caught.value)
    check_upload(Site(tmp_path, good).plan)


@pytest.mark.parametrize(
    ("url", "user", "host", "port", "directory"),
    [
        ("sftp://host/a", "", "host", 22, "/a"),
        ("sftp://me@host:2222/a/b/", "me", "host", 2222, "/a/b"),
        ("SFTP://me%40corp@[2001:db8::1]:2222/a%20b", "me@corp", "2001:db8::1", 2222, "/a b"),
        ("sftp://host/~", "", "host", 22, "."),
        ("sftp://host/~/a/b", "", "host", 22, "a/b"),
        ("sftp://host/~other/a", "", "host", 22, "/~other/a"),
    ],
)
def test_ours_an_address_has_a_user_a_host_a_port_and_a_directory(
    url: str, user: str, host: str, port: int, directory: str
) -> None:
    found = parse_target_address(url)
    assert found == SftpAddress(user, host, port, directory)


def test_ours_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in [name for name in sys.modules if name.startswith("crawler.publish.upload.sftp")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "asyncssh", None)
    with pytest.raises(UsageError, match=r"-m pip install 'asyncssh>="):
        check_upload(Site(tmp_path, {"to": "sftp://host/maps"}).plan)
