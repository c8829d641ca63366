"""Who signs in to an SFTP server, with what, and which host keys are trusted: read from the settings and checked."""

from pathlib import Path
from typing import Any, Final

import asyncssh

from crawler.config.notify import Upload
from crawler.config.secrets import reveal
from crawler.elsewhere.addresses import SftpAddress
from crawler.errors import UsageError

KNOWN_HOSTS: Final = "~/.ssh/known_hosts"


def known_hosts(file: str, address: SftpAddress) -> asyncssh.SSHKnownHosts:
    """The host keys that are trusted. Raises UsageError when there is no such file, or it is none."""
    path = Path(file).expanduser()
    try:
        return asyncssh.read_known_hosts(str(path))
    except FileNotFoundError:
        raise UsageError(
            f"there is no file of known hosts {file}, without which nobody can tell {address.host} from others: "
            f"ssh-keyscan -p {address.port} {address.host} >> {file}, and compare the key with what who runs it says"
        ) from None
    except (OSError, UnicodeDecodeError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it has a line that is none"
        raise UsageError(f"upload.sftp_known_hosts: {file} is no file of known hosts: {why}") from None


def login(section: Upload, address: SftpAddress) -> dict[str, Any]:
    """What the library signs in with: the password, the key, or else the keys of ~/.ssh and the agent.

    Raises UsageError for a key that cannot be read.
    """
    chosen: dict[str, Any] = {"username": address.user} if address.user else {}
    if section.sftp_password:
        chosen |= {"password": reveal(section.sftp_password), "client_keys": None, "agent_path": None}
    if section.sftp_key:
        chosen |= {"client_keys": [_key(section.sftp_key)], "agent_path": None}
    return chosen


def _key(file: str) -> asyncssh.SSHKey:
    try:
        return asyncssh.read_private_key(str(Path(file).expanduser()))
    except OSError as error:
        raise UsageError(f"upload.sftp_key: {file} cannot be read: {error.strerror}") from None
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError, ValueError) as error:
        if "passphrase" in str(error).lower():
            raise UsageError(
                f"upload.sftp_key: {file} has a passphrase: add it to the agent (ssh-add) and leave the setting out"
            ) from None
        raise UsageError(f"upload.sftp_key: {file} is no private key") from None
