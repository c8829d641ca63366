"""Where a public site is really read: the words of ``--source`` and ``--resolve``, checked and made values."""

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from crawler.config.config import Config
from crawler.config.secrets import mask_password, reveal_secret
from crawler.errors import UsageError
from crawler.fetch.dns import read_override
from crawler.fetch.transports import FolderTransports, ServerTransports, Transports
from crawler.model import Url
from crawler.url.mirror import Mirror
from crawler.url.normalize import InvalidUrl, host_of, normalize_url, origin_of, path_of

_scheme = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://").match
_LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "[::1]")  # what a development server may call itself


@dataclass(frozen=True, slots=True)
class SiteSource:
    """A server (``mirror``) or a folder that stands for ``public``, a directory's URL. ``shown`` is for people."""

    public: str
    display_name: str
    mirror: Mirror | None = None
    folder: Path | None = None

    @property
    def secret_origin(self) -> str:
        """The origin that gets the secrets: that of the server; with a folder nobody is asked for the public one."""
        return origin_of(Url(self.mirror.source if self.mirror else self.public))

    def transports(self, inner: Transports) -> Transports:
        """The transports of a crawl that reads the site here, and all else by ``inner``."""
        if self.mirror:
            return ServerTransports(inner, self.mirror)
        return FolderTransports(inner, self.folder, self.public) if self.folder else inner


def read_source(config: Config, start: Url) -> SiteSource | None:
    """What stands for the public start URL, None when that is asked itself. Raises UsageError.

    A folder, and a URL with a path, stand for the directory of the start URL; a URL without a path for its origin.
    """
    given = config.fetch.source
    if not given:
        return None
    public = path_of(start).rpartition("/")[0] + "/"
    named = _scheme(given)
    if named is None:
        return SiteSource(
            origin_of(start) + public, given, folder=_folder_source(given, proxy=bool(config.fetch.proxy))
        )
    where = _server_source(given, named[1].lower())
    inside = path_of(where)
    if inside in ("/", public):
        public = inside = "/"
    here, there = origin_of(start) + public, origin_of(where) + inside
    hosts = _own_names(where, host_header(config))
    names = [there, *(f"{scheme}://{each}{inside}" for each in hosts for scheme in ("http", "https"))]
    names.append(origin_of(start) + inside)
    canonical = dict.fromkeys(normalize_url(name) for name in names)
    mirror = Mirror(here, there, tuple(name for name in canonical if not here.startswith(name)))
    return SiteSource(here, there.removesuffix("/"), mirror)


def address_overrides(config: Config) -> dict[str, tuple[str, ...]]:
    """The addresses that ``--resolve`` gives, by ``host:port``. Raises UsageError."""
    try:
        found = dict(map(read_override, config.fetch.resolve))
    except ValueError as error:
        raise UsageError(f"--resolve: {error}") from None
    if found and config.fetch.proxy:
        raise UsageError("--resolve and --proxy exclude each other: it is the proxy that resolves names")
    return found


def server_key(config: Config, start: Url) -> str:
    """Names the server behind the public URLs: what one said (an ETag, say) means nothing to another. "" for the
    public one, found as everybody finds it."""
    found = read_source(config, start)
    parts = [str(found.folder.resolve()) if found.folder else found.display_name] if found else []
    if called := host_header(config):
        parts.append(f"Host {called}")
    doors = address_overrides(config) if not (found and found.folder) else {}
    ours = f"{host_of(Url(found.secret_origin + '/' if found else start))}:"
    parts += [f"{door} at {','.join(doors[door])}" for door in sorted(doors) if door.startswith(ours)]
    return "; ".join(parts)


def host_header(config: Config) -> str:
    """The Host that is sent to the source in the place of the usual one, or ""."""
    return next(
        (reveal_secret(value) for name, value in config.fetch.headers.items() if name.lower() == "host"), ""
    )


def _server_source(given: str, scheme: str) -> Url:
    if scheme not in ("http", "https"):
        hint = "; name the folder itself" if scheme == "file" else ""
        raise UsageError(f"--source wants an http(s) URL or a folder, not {scheme}:{hint}")
    try:
        where = normalize_url(given)
    except InvalidUrl as error:
        raise UsageError(f"--source cannot be used: {error}") from None
    authority, _, rest = given.partition("://")[2].partition("/")
    if "@" in authority:
        raise UsageError(
            "--source carries a user name or password, which is not used: give them with --basic-auth"
        )
    if "?" in rest or "#" in rest:
        raise UsageError(
            f'--source "{given}" is one page: it wants where the whole site is, {origin_of(where)}'
        )
    return where if where.endswith("/") else Url(f"{where}/")


def _folder_source(given: str, *, proxy: bool) -> Path:
    folder, said = Path(given), mask_password(given)
    try:
        is_there, is_folder = folder.exists(), folder.is_dir()
    except (OSError, ValueError) as error:
        raise UsageError(f"--source: the folder {said!r} cannot be read: {_error_text(error)}") from None
    if not is_there:
        like_a_host = "." in folder.parts[0].strip(".") or ":" in given if folder.parts else False
        hint = f"; did you mean http://{said}?" if like_a_host and given.isprintable() else ""
        raise UsageError(f"--source: there is no folder {said!r}{hint}")
    if not is_folder:
        raise UsageError(f"--source: {said!r} is no folder")
    if proxy:
        raise UsageError(
            "--source with a folder and --proxy exclude each other: nothing is asked for by HTTP"
        )
    return folder


def _error_text(error: OSError | ValueError) -> str:
    return (isinstance(error, OSError) and error.strerror) or "it is no name of one"


def _own_names(where: Url, called: str) -> Iterator[str]:
    """What a server at ``where`` may take for its own host and port, as URLs write them."""
    port = origin_of(where).partition("://")[2].removeprefix(host_of(where))
    yield host_of(where) + port
    if _is_loopback(host_of(where)):
        yield from (name + port for name in _LOOPBACK_HOSTS)
    if called:
        try:
            bare = host_of(normalize_url(f"http://{called}/"))
        except InvalidUrl:
            raise UsageError(
                "-H 'Host: …' names no host, like www.example.com or www.example.com:8080"
            ) from None
        # Some put their own port behind any name, as nginx does when it adds a slash to the name of a directory.
        yield from (called, bare + port)


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
