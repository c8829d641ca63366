"""A double of an SFTP server on the loopback address that has every kind of trouble on demand, and takes passwords."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncssh

USER, PASSWORD = "shop", "a very secret password"


class Host:
    """What it was asked, and what is done instead: ``fault`` may raise, or answer seconds to wait."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log: list[tuple[str, bytes]] = []
        self.fault: Callable[[str, bytes], float | None] = lambda act, path: None
        self.replaces = True
        self.sessions = 0
        self.files: list[Any] = []
        self.port = 0
        self.key = asyncssh.generate_private_key("ssh-ed25519")
        self.connections: list[asyncssh.SSHServerConnection] = []

    @property
    def known_hosts(self) -> str:
        return f"[127.0.0.1]:{self.port} {self.key.export_public_key().decode()}"

    def fails(self, act: str, *errors: Exception) -> None:
        """The next times that something is done, these are raised."""
        waiting = list(errors)

        def fault(asked: str, _: bytes) -> None:
            if asked == act and waiting:
                raise waiting.pop(0)

        self.fault = fault

    def cut(self) -> None:
        """Cut all connections."""
        for connection in self.connections:
            connection.abort()

    async def do(self, act: str, path: bytes) -> None:
        self.log.append((act, path))
        if seconds := self.fault(act, path):
            await asyncio.sleep(seconds)


def _server(host: Host) -> type[asyncssh.SSHServer]:
    class Server(asyncssh.SSHServer):
        def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
            host.sessions += 1
            host.connections.append(conn)

        def password_auth_supported(self) -> bool:
            return True

        def validate_password(self, username: str, password: str) -> bool:
            return (username, password) == (USER, PASSWORD)

    return Server


class _Files(asyncssh.SFTPServer):
    host: Host

    def __init__(self, chan: "asyncssh.SSHServerChannel[bytes]") -> None:
        super().__init__(chan, chroot=str(self.host.root).encode())

    async def open(self, path: bytes, pflags: int, attrs: asyncssh.SFTPAttrs) -> object:
        await self.host.do("open", path)
        file = super().open(path, pflags, attrs)
        self.host.files.append(file)
        return file

    async def write(self, file_obj: object, offset: int, data: bytes) -> int:
        await self.host.do("write", b"")
        return super().write(file_obj, offset, data)  # type: ignore[return-value]

    async def lstat(self, path: bytes) -> Any:
        await self.host.do("lstat", path)
        return super().lstat(path)

    async def mkdir(self, path: bytes, attrs: asyncssh.SFTPAttrs) -> None:
        await self.host.do("mkdir", path)
        super().mkdir(path, attrs)

    async def remove(self, path: bytes) -> None:
        await self.host.do("remove", path)
        super().remove(path)

    async def rename(self, oldpath: bytes, newpath: bytes) -> None:
        await self.host.do("rename", newpath)
        if (self.host.root / newpath.decode().lstrip("/")).exists():
            raise asyncssh.SFTPFailure("it exists")
        super().rename(oldpath, newpath)

    async def posix_rename(self, oldpath: bytes, newpath: bytes) -> None:
        await self.host.do("posix_rename", newpath)
        if not self.host.replaces:
            raise asyncssh.SFTPOpUnsupported("what is that")
        super().posix_rename(oldpath, newpath)


@contextmanager
def sftp_double(root: Path) -> Iterator[Host]:
    """Serve a folder as the root of its file system."""
    host = Host(root)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def call(work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(10)

    async def listen() -> asyncssh.SSHAcceptor:
        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_factory=_server(host),
            server_host_keys=[host.key],
            sftp_factory=type("Files", (_Files,), {"host": host}),
            config=None,
        )

    async def close(acceptor: asyncssh.SSHAcceptor) -> None:
        acceptor.close()
        host.cut()
        await acceptor.wait_closed()
        for connection in host.connections:
            await connection.wait_closed()
        for file in host.files:  # of connections that were cut
            file.close()

    acceptor = call(listen())
    host.port = acceptor.get_port()
    try:
        yield host
    finally:
        call(close(acceptor))
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
