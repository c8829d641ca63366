"""A byte order mark at the start of a file that a person wrote is no part of it: Windows editors write one."""

from pathlib import Path

import pytest

from crawler.audit.accepted import read_acceptances
from crawler.config.google import ServiceAccount
from crawler.config.load import read_toml
from crawler.config.secrets import reveal_secret

MARK = b"\xef\xbb\xbf"


@pytest.mark.parametrize("mark", [b"", MARK])
def test_ours_a_mark_is_no_part_of_a_secret_or_a_configuration(tmp_path: Path, mark: bytes) -> None:
    secret, config, accepted = tmp_path / "token", tmp_path / "site.toml", tmp_path / "accepted.toml"
    secret.write_bytes(mark + b"s3cret\r\n")
    config.write_bytes(mark + b'[crawl]\nurl = "https://www.example.com/"\n')
    accepted.write_bytes(mark + b'[[accepted]]\nurl = "/a"\nrule = "gone"\nreason = "so"\nuntil = 2027-01-31\n')
    assert reveal_secret(f"file:{secret}") == "s3cret"
    assert read_toml(config, "the configuration") == {"crawl": {"url": "https://www.example.com/"}}
    assert len(read_acceptances(str(accepted)).entries) == 1


def test_ours_a_mark_is_no_part_of_a_key_file(tmp_path: Path) -> None:
    key = tmp_path / "key.json"
    key.write_bytes(MARK + b'{"client_email": "a@example.com", "private_key": "k"}')
    assert ServiceAccount.read(str(key)).client_email == "a@example.com"
