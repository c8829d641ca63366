"""The SFTP target, by asyncssh. A file is written under a hidden name, synced and renamed: readers see it whole.

https://datatracker.ietf.org/doc/html/draft-ietf-secsh-filexfer-02, and OpenSSH's extensions (posix-rename, fsync):
https://github.com/openssh/openssh-portable/blob/master/PROTOCOL
"""

import contextlib
import posixpath
import shlex
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import anyio
import asyncssh
from asyncssh import SFTPAttrs, SFTPClient, SSHClientConnection

from crawler.config.secrets import reveal_secret, secret_path
from crawler.config.sections import UploadConfig
from crawler.errors import UsageError
from crawler.publish.upload.target import LocalFile, RemoteFile, SftpAddress, UploadError, error_meanings, meaning_of
from crawler.state.lock import RUN_LEASE, LeaseLost

KNOWN_HOSTS: Final = "~/.ssh/known_hosts"


class _KnownHosts(asyncssh.SSHKnownHosts):
    """Known hosts. ``has_host``: the host of the last connection is one, by its name or its address."""

    has_host = False

    def match(self, host: str, addr: str, port: int | None) -> Any:
        """The keys of a host by their kind."""
        found = super().match(host, addr, port)
        self.has_host = any(found)
        return found


def read_known_hosts(file: str, address: SftpAddress) -> _KnownHosts:
    """The trusted host keys. Raises UsageError when the file is invalid, or has no key at all.

    Whether it has one of the host is known with the connection only: it may be that of its IP address.
    """
    try:
        text = Path(file).read_text()
        known = _KnownHosts(text)
    except FileNotFoundError:
        raise UsageError(_unknown_host(file, address)) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it has an invalid line"
        raise UsageError(f"upload.sftp_known_hosts: {file} is not a file of known hosts: {reason}") from None
    if all(line.lstrip().startswith("#") for line in text.splitlines() if line.strip()):
        raise UsageError(_unknown_host(file, address))
    return known


def _unknown_host(file: str, address: SftpAddress) -> str:
    folder = Path(file).parent
    make = "" if folder.is_dir() else f"mkdir -p -m 700 {shlex.quote(str(folder))} && "
    return (
        f"the host key of {address.host} is not in {file}, so it cannot be checked. Run {make}"
        f"ssh-keyscan -p {address.port} {address.host} >> {shlex.quote(file)}, and compare the new key in the file "
        "with the key from the operator of the server. Or name another file with upload.sftp_known_hosts"
    )


def login_options(section: UploadConfig, address: SftpAddress) -> dict[str, Any]:
    """The login options of asyncssh: the password, the key, or else the keys of ~/.ssh and the agent.

    Raises UsageError for a key that cannot be read.
    """
    options: dict[str, Any] = {"username": address.user} if address.user else {}
    if section.sftp_password:
        options |= {"password": reveal_secret(section.sftp_password), "client_keys": None, "agent_path": None}
    if section.sftp_key:
        options |= {"client_keys": [_read_key(section.sftp_key)], "agent_path": None}
    return options


def _read_key(file: str) -> asyncssh.SSHKey:
    try:
        return asyncssh.read_private_key(str(secret_path(str(Path(file).expanduser()))))
    except OSError as error:
        raise UsageError(f"upload.sftp_key: {file} cannot be read: {error.strerror}") from None
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError, ValueError) as error:
        if "passphrase" in str(error).lower():
            raise UsageError(
                f"upload.sftp_key: {file} has a passphrase. Add the key to the agent (ssh-add), and leave the "
                "setting out"
            ) from None
        raise UsageError(f"upload.sftp_key: {file} is not a private key. Give the file of a private key") from None


_MEANINGS: Final = error_meanings("sftp")
"""Version 3 of the protocol says "failure" of a full disk, of a quota, and of a directory in the way."""


def sftp_upload_error(error: Exception, act: str, address: SftpAddress) -> UploadError:
    """The UploadError for an exception of the library; ``act`` names the operation: "putting sitemap.xml there"."""
    if isinstance(error, UploadError):
        return error
    kind = type(error).__name__
    values = {
        "act": act,
        "user": address.user or "the user",
        "directory": address.directory,
        "host": address.host,
        "port": address.port,
        "kind": kind,
        "why": getattr(error, "strerror", None) or kind,
    }
    return meaning_of(error, _MEANINGS).upload_error(values)


T = TypeVar("T")

_CHUNK_SIZE: Final = 256 * 1024  # bytes per write, each of which must end in time

_MAX_CONCURRENT: Final = 32  # requests at the same time

_DIRECTORY_ATTRS: Final = SFTPAttrs(permissions=0o755)

_SECOND: Final = 1_000_000_000  # nanoseconds


class SftpTarget:
    """A directory of a server. Its host key must be known. Raises UsageError for invalid settings.

    ``mode`` are the permissions of files. ``say`` gets one message when the server cannot replace files atomically. The
    configuration files of OpenSSH are not read.
    """

    def __init__(self, section: UploadConfig, address: SftpAddress, mode: int, say: Callable[[str], None]) -> None:
        self.display_name = address.display_name
        self._address, self._mode, self._say = address, mode, say
        self._timeout = section.timeout
        self._hosts_file = str(Path(section.sftp_known_hosts or KNOWN_HOSTS).expanduser().absolute())
        self._known = read_known_hosts(self._hosts_file, address)
        self._login = login_options(section, address)
        self._connecting = anyio.Lock()
        self._connection: SSHClientConnection | None = None
        self._client: SFTPClient | None = None
        self._has_directory = self._has_warned = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._connection is not None:
            self._connection.close()
            with anyio.move_on_after(self._timeout, shield=True):
                await self._connection.wait_closed()

    def mark(self, local: LocalFile) -> str:
        """The modification time, which is set to that of the local file."""
        return str(local.mtime // _SECOND)

    def metadata(self, local: LocalFile) -> str:  # noqa: ARG002 - the same for all files
        """The permissions."""
        return f"{self._mode:04o}"

    async def list_files(self, names: Collection[str]) -> dict[str, RemoteFile]:
        """One small request per name, many of them at the same time."""
        files: dict[str, RemoteFile] = {}
        limit = anyio.CapacityLimiter(_MAX_CONCURRENT)

        async def look_up(connection: _Connection, name: str) -> None:
            async with limit:
                with contextlib.suppress(asyncssh.SFTPNoSuchFile):
                    files[name] = _remote_file(await connection.client.lstat(self._path(name)))
                connection.moved()

        async def look_up_all(connection: _Connection) -> None:
            async with anyio.create_task_group() as group:
                for name in names:
                    group.start_soon(look_up, connection, name)

        await self._do("looking at its files", look_up_all)
        return files

    async def find_same(self, local: LocalFile) -> RemoteFile | None:
        """Compare size and time, as the protocol has no digests."""
        remote = (await self.list_files([local.name])).get(local.name)
        return remote if remote == RemoteFile(local.size, self.mark(local)) else None

    async def put(self, local: LocalFile) -> RemoteFile:
        """Write, set mode and time, sync, rename. Creates missing directories."""
        return await self._do(f"putting {local.name} there", lambda connection: self._put(connection, local))

    async def remove(self, name: str) -> None:
        """Remove one file, and what a killed process may have left of it."""
        await self._do(f"removing {name}", lambda connection: _remove(connection.client, self._path(name)))
        await self.remove_leftovers([name])

    async def remove_leftovers(self, names: Sequence[str]) -> None:
        """Remove hidden drafts."""

        async def remove_all(connection: _Connection) -> None:
            for name in names:
                await _remove(connection.client, self._draft(name))
                connection.moved()

        await self._do("removing drafts", remove_all)

    async def _put(self, connection: "_Connection", local: LocalFile) -> RemoteFile:
        client, draft = connection.client, self._draft(local.name)
        if not self._has_directory:
            await client.makedirs(self._address.directory, _DIRECTORY_ATTRS, exist_ok=True)
            self._has_directory = True
        await _remove(client, draft)
        with local.open() as source:
            async with await client.open(draft, "xb", SFTPAttrs(permissions=0o600), encoding=None) as file:
                while part := source.read(_CHUNK_SIZE):
                    await file.write(part)
                    connection.moved()
                second = local.mtime // _SECOND
                with contextlib.suppress(asyncssh.SFTPOpUnsupported):
                    await file.setstat(SFTPAttrs(permissions=self._mode, atime=second, mtime=second))
                with contextlib.suppress(asyncssh.SFTPOpUnsupported):
                    await file.fsync()
        remote = _remote_file(await client.lstat(draft))
        if remote.size != local.size:
            raise UploadError(
                f"the server received {remote.size:,} bytes of {local.name} instead of {local.size:,}", again=True
            )
        RUN_LEASE.check()  # it may have been suspended since the first byte
        await self._rename(client, draft, self._path(local.name))
        return remote

    async def _rename(self, client: SFTPClient, draft: str, target: str) -> None:
        with contextlib.suppress(asyncssh.SFTPOpUnsupported):
            await client.posix_rename(draft, target)
            return
        with contextlib.suppress(asyncssh.SFTPFailure):
            await client.rename(draft, target)  # enough when the target does not exist
            return
        if not self._has_warned:
            self._has_warned = True
            self._say(
                f"{self.display_name} cannot replace a file at once (posix-rename@openssh.com): each file that "
                "changes is missing there for a moment"
            )
        await _remove(client, target)
        await client.rename(draft, target)

    def _path(self, name: str) -> str:
        return posixpath.join(self._address.directory, name)

    def _draft(self, name: str) -> str:
        return self._path(f".{name}.siteatlas")

    async def _do(self, act: str, operation: "Callable[[_Connection], Awaitable[T]]") -> T:
        """Run an operation, over a new connection when there is none or the last one broke."""
        connection = None
        try:
            with anyio.fail_after(self._timeout) as scope:
                connection = _Connection(await self._connected(), scope, self._timeout)
                connection.moved()
                return await operation(connection)
        except asyncssh.HostKeyNotVerifiable:
            host, port, file = self._address.host, self._address.port, self._hosts_file
            if not self._known.has_host:
                raise UploadError(_unknown_host(file, self._address)) from None
            name = host if port == 22 else f"[{host}]:{port}"
            raise UploadError(
                f"its host key is not the one in {file}. Somebody may intercept the connection, or the server was "
                "reinstalled. Ask its operator. If the new key is right, run "
                f"ssh-keygen -R '{name}' -f {shlex.quote(file)}, and add the key"
            ) from None
        except LeaseLost:
            raise
        except Exception as error:  # noqa: BLE001 - the library fails in many ways on garbage; no error may show a secret
            failure = sftp_upload_error(_first_exception(error), act, self._address)
            if failure.may_retry and connection is not None and self._client is connection.client:
                self._drop()
            raise failure from None

    async def _connected(self) -> SFTPClient:
        async with self._connecting:
            if self._client is None:
                self._connection = await asyncssh.connect(
                    self._address.host,
                    self._address.port,
                    config=None,
                    known_hosts=self._known,
                    keepalive_interval=self._timeout,
                    **self._login,
                )
                self._client = await self._connection.start_sftp_client()
            return self._client

    def _drop(self) -> None:
        connection, self._connection, self._client = self._connection, None, None
        if connection is not None:
            connection.abort()


@dataclass(frozen=True, slots=True)
class _Connection:
    """A connection in use; its deadline moves with each step."""

    client: SFTPClient
    scope: anyio.CancelScope
    timeout: float

    def moved(self) -> None:
        self.scope.deadline = anyio.current_time() + self.timeout


async def _remove(client: SFTPClient, path: str) -> None:
    with contextlib.suppress(asyncssh.SFTPNoSuchFile):
        await client.remove(path)


def _remote_file(attrs: SFTPAttrs) -> RemoteFile:
    """The remote file; one that is no regular file never matches ours."""
    if attrs.type != asyncssh.FILEXFER_TYPE_REGULAR:
        return RemoteFile(-1, "")
    return RemoteFile(-1 if attrs.size is None else attrs.size, str(attrs.mtime))


def _first_exception(error: Exception) -> Exception:
    """The first exception, when a task group has wrapped it."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
