"""The source that a public site is read from: ``--source`` and ``--resolve``, checked."""

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
from crawler.url.normalize import InvalidUrl, host_of, normalize_url, origin_of, path_of
from crawler.url.params import Mirror

_scheme = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://").match
_LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "[::1]")  # names of a development server


@dataclass(frozen=True, slots=True)
class SiteSource:
    """A server (``mirror``) or a folder that is read for ``public``, the URL of a directory."""

    public: str
    display_name: str
    mirror: Mirror | None = None
    folder: Path | None = None

    @property
    def secret_origin(self) -> str:
        """The origin that gets the secrets: that of the server. With a folder no request goes there."""
        return origin_of(Url(self.mirror.source if self.mirror else self.public))

    def transports(self, inner: Transports) -> Transports:
        """The transports that read the site from here, and all other URLs by ``inner``."""
        if self.mirror:
            return ServerTransports(inner, self.mirror)
        return FolderTransports(inner, self.folder, self.public) if self.folder else inner


def read_source(config: Config, start: Url) -> SiteSource | None:
    """The source for the public start URL, None without one. Raises UsageError.

    A folder, or a URL with a path, is read for the directory of the start URL; a URL without a path for its origin.
    """
    text = config.fetch.source
    if not text:
        return None
    public = path_of(start).rpartition("/")[0] + "/"
    scheme = _scheme(text)
    if scheme is None:
        return SiteSource(origin_of(start) + public, text, folder=_folder_source(text, proxy=bool(config.fetch.proxy)))
    server = _server_source(text, scheme[1].lower())
    path = path_of(server)
    if path in ("/", public):
        public = path = "/"
    public_url, server_url = origin_of(start) + public, origin_of(server) + path
    hosts = _own_names(server, host_header(config))
    names = [server_url, *(f"{web}://{host}{path}" for host in hosts for web in ("http", "https"))]
    names.append(origin_of(start) + path)
    canonical = dict.fromkeys(normalize_url(name) for name in names)
    mirror = Mirror(public_url, server_url, tuple(name for name in canonical if not public_url.startswith(name)))
    return SiteSource(public_url, server_url.removesuffix("/"), mirror)


def address_overrides(config: Config) -> dict[str, tuple[str, ...]]:
    """The addresses of ``--resolve`` by ``host:port``. Raises UsageError."""
    try:
        overrides = dict(map(read_override, config.fetch.resolve))
    except ValueError as error:
        raise UsageError(f"--resolve: {error}") from None
    if overrides and config.fetch.proxy:
        raise UsageError(
            "--resolve has no effect with --proxy, because the proxy resolves the host names. Use only one of them"
        )
    return overrides


def server_key(config: Config, start: Url) -> str:
    """A key of the server behind the public URLs, since validators hold for one server; "" for the public one."""
    source = read_source(config, start)
    parts = [str(source.folder.resolve()) if source.folder else source.display_name] if source else []
    if host := host_header(config):
        parts.append(f"Host {host}")
    overrides = address_overrides(config) if not (source and source.folder) else {}
    own = f"{host_of(Url(source.secret_origin + '/' if source else start))}:"
    parts += [f"{key} at {','.join(overrides[key])}" for key in sorted(overrides) if key.startswith(own)]
    return "; ".join(parts)


def host_header(config: Config) -> str:
    """The Host header that the configuration sets, or ""."""
    return next((reveal_secret(value) for name, value in config.fetch.headers.items() if name.lower() == "host"), "")


def _server_source(text: str, scheme: str) -> Url:
    if scheme not in ("http", "https"):
        hint = ". Give the path of the folder" if scheme == "file" else ""
        raise UsageError(f"--source takes an http(s) URL or a folder, but this URL begins with {scheme}:{hint}")
    try:
        url = normalize_url(text)
    except InvalidUrl as error:
        raise UsageError(f"--source cannot be used: {error}") from None
    authority, _, rest = text.partition("://")[2].partition("/")
    if "@" in authority:
        raise UsageError("--source contains a user name or a password. Give them with --basic-auth instead")
    if "?" in rest or "#" in rest:
        raise UsageError(
            f'--source "{text}" is the URL of a single page. Give the URL of the whole site, {origin_of(url)}'
        )
    return url if url.endswith("/") else Url(f"{url}/")


def _folder_source(text: str, *, proxy: bool) -> Path:
    folder, shown = Path(text), mask_password(text)
    try:
        is_there, is_folder = folder.exists(), folder.is_dir()
    except (OSError, ValueError) as error:
        raise UsageError(f"--source: the folder {shown!r} cannot be read: {_error_text(error)}") from None
    if not is_there:
        like_a_host = "." in folder.parts[0].strip(".") or ":" in text if folder.parts else False
        hint = f". Did you mean http://{shown}?" if like_a_host and text.isprintable() else ""
        raise UsageError(f"--source: the folder {shown!r} does not exist{hint}")
    if not is_folder:
        raise UsageError(f"--source: {shown!r} is not a folder. Give a folder or a URL")
    if proxy:
        raise UsageError(
            "--proxy cannot be used with a folder as --source, because Siteatlas reads the folder without HTTP. "
            "Leave --proxy out"
        )
    return folder


def _error_text(error: OSError | ValueError) -> str:
    return (isinstance(error, OSError) and error.strerror) or "the name is not valid"


def _own_names(server: Url, host: str) -> Iterator[str]:
    """The hosts with ports that a server may use for itself in URLs. ``host`` is the Host header for it, or ""."""
    port = origin_of(server).partition("://")[2].removeprefix(host_of(server))
    yield host_of(server) + port
    if _is_loopback(host_of(server)):
        yield from (name + port for name in _LOOPBACK_HOSTS)
    if host:
        try:
            bare = host_of(normalize_url(f"http://{host}/"))
        except InvalidUrl:
            raise UsageError("-H 'Host: …' must name a host, such as www.example.com or www.example.com:8080") from None
        # Some add their port to any name, as nginx does when it redirects to a directory with a slash.
        yield from (host, bare + port)


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
