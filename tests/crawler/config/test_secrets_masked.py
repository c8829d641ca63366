"""Passwords in addresses that a person wrote."""

import pytest

from crawler.config.secrets import mask_password


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("https://me:hush@host/x", "https://***@host/x"),
        ("sftp://me:hu/sh@host", "sftp://***@host"),
        ("s3:AKID:hush@shop", "***@shop"),
        ("me:hush@127.0.0.1/x", "***@127.0.0.1/x"),
        ("['ftp://me:hush@a', 'b']", "['ftp://***@a', 'b']"),
        ("https://hush@host/", "***@host/"),
        ("me@example.com", "me@example.com"),
        ("https://host:80/a", "https://host:80/a"),
        ("", ""),
    ],
)
def test_ours_a_password_is_put_out_of_sight(written: str, shown: str) -> None:
    assert mask_password(written) == shown
