"""Creates the key of signed requests, and prints the key directory that the signature agent publishes."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from crawler.config.config import Config, FetchConfig
from crawler.config.fetcher import request_signer
from crawler.errors import StorageError, UsageError
from sitemap import create_file

DIRECTORY_AGE: Final = timedelta(days=365)
"""The signature of the directory is valid for so long."""


def key_directory(path: Path | None, agent: str, say: Callable[[str], object]) -> str:
    """The response of the signature agent: header fields, an empty line, and the key directory.

    Creates the key in ``path`` if it does not exist, readable for its owner only. ``say`` gets what a person does next.
    Raises UsageError, StorageError.
    """
    if path is None or not agent:
        raise UsageError("--signing-key FILE and --signature-agent https://HOST need each other: give both")
    config = Config(fetch=FetchConfig(signing_key=str(path), signature_agent=agent))
    is_new = not path.exists()
    if is_new:
        _create(path, agent)
    signer = request_signer(config)
    if signer is None:
        raise AssertionError(path)  # both settings are set
    from crawler.fetch.signature import DIRECTORY_PATH  # noqa: PLC0415 - an extra

    lines = [f"{name}: {value}" for name, value in signer.directory_headers(DIRECTORY_AGE)]
    if is_new:
        say(f"created {path}, which must stay secret")
    until = datetime.fromtimestamp(time.time(), UTC) + DIRECTORY_AGE
    say(f"serve this as {signer.agent}{DIRECTORY_PATH}, and print it again before {until:%Y-%m-%d}")
    return "\n".join([*lines, "", signer.directory()])


def _create(path: Path, agent: str) -> None:
    try:
        from crawler.fetch.signature import RequestSigner, new_key  # noqa: PLC0415 - an extra

        pem = new_key()
        RequestSigner(pem, agent.rstrip("/"), time.time)  # no key is left behind if the agent cannot be
    except ModuleNotFoundError:
        return  # request_signer says what is missing
    except ValueError as error:
        raise UsageError(f"--signature-agent: {error}") from None
    try:
        with create_file(path, 0o600) as file:
            file.write(pem.encode())
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}") from None
