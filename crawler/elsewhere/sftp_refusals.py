"""What it means when an SFTP server does not do what it was asked: one sentence with the remedy, and no secrets."""

import socket
from typing import Final

import asyncssh

from crawler.elsewhere.addresses import SftpAddress
from crawler.elsewhere.place import NotTaken

_Kinds = type[Exception] | tuple[type[Exception], ...]

# The first that fits says what it means, and whether another try may help. The library speaks version 3 of the
# protocol, which says "failure" of a full disk, of a quota, and of a directory in the way.
_MEANINGS: Final[tuple[tuple[_Kinds, str, bool], ...]] = (
    (TimeoutError, "it did not answer in time when asked for {act} (upload.upload_timeout)", True),
    (
        asyncssh.PermissionDenied,
        (
            "it does not let {user} in: correct the user in upload.to, upload.sftp_key or upload.sftp_password, or let "
            "the server know the key (~/.ssh/authorized_keys there)"
        ),
        False,
    ),
    (
        (asyncssh.KeyExchangeFailed, asyncssh.ProtocolNotSupported),
        (
            "there is no cipher, version of SSH or kind of host key that both sides know and trust: update it, and add "
            "all its host keys to the file of known hosts"
        ),
        False,
    ),
    (asyncssh.ChannelOpenError, "it opens no SFTP session: turn the sftp subsystem on there", False),
    (
        asyncssh.SFTPPermissionDenied,
        "it does not allow {act}: give the user the right to write in {directory}",
        False,
    ),
    (
        asyncssh.SFTPNoSuchFile,
        "{directory} is no directory there, which {act} needs: correct upload.to",
        False,
    ),
    (
        (asyncssh.SFTPConnectionLost, asyncssh.SFTPNoConnection, asyncssh.ConnectionLost),
        "the connection was cut in the middle of {act}",
        True,
    ),
    (
        asyncssh.SFTPFailure,
        "{act} failed there without a reason: is its disk full, or a directory in the way?",
        True,
    ),
    (asyncssh.SFTPError, "{act} failed there ({kind})", True),
    (socket.gaierror, "the name {host} cannot be resolved", True),
    (asyncssh.Error, "the connection was cut in the middle of {act} ({kind})", True),
    (OSError, "it cannot be reached on port {port}: {why}", True),
    (Exception, "its answer to {act} is none of an SFTP server ({kind})", True),
)


def explained(error: Exception, act: str, address: SftpAddress) -> NotTaken:
    """The refusal that an exception of the library means; ``act`` is what was asked: "putting sitemap.xml there"."""
    if isinstance(error, NotTaken):
        return error
    kind = type(error).__name__
    about = {
        "act": act,
        "user": address.user or "the user",
        "directory": address.directory,
        "host": address.host,
        "port": address.port,
        "kind": kind,
        "why": getattr(error, "strerror", None) or kind,
    }
    _, sentence, again = next(meaning for meaning in _MEANINGS if isinstance(error, meaning[0]))
    return NotTaken(sentence.format_map(about), again=again)


def unknown_host(address: SftpAddress, file: str, *, known: bool) -> NotTaken:
    """Its key is not one of those that are trusted; ``known`` says that there are others of this host."""
    if known:
        named = address.host if address.port == 22 else f"[{address.host}]:{address.port}"
        return NotTaken(
            f"its host key is not the one in {file}: somebody may stand between, or it was set up anew; ask who "
            f"runs it, then: ssh-keygen -R '{named}' -f {file}, and add the new key"
        )
    return NotTaken(
        f"its host key is not known: ssh-keyscan -p {address.port} {address.host} >> {file}, after you compared the "
        "key with what who runs it says"
    )
