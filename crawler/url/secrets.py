"""Secrets and personal data in URLs: the values that are masked in states, reports and logs. Pure."""

import re
from hashlib import blake2b
from typing import Final
from urllib.parse import unquote

from crawler.url.actions import ACTIONS, is_random, words_of

MASK: Final = "***"
"""What a masked value begins with. A short digest of the value follows, so that two values stay apart."""
_SECRETIVE: Final = """
    token key apikey sig signature hmac password passwd passphrase pass pwd session sessionid sid auth authorization
    authenticity oauth code secret otp jwt ticket credential credentials assertion nonce csrf xsrf
"""
_SECRET_WORDS: Final = frozenset(_SECRETIVE.split())
_SECRET_ENDS: Final = ("token", "secret", "password", "signature", "apikey", "session", "sessionid")
_words = re.compile(r"[A-Z]?[a-z]+|[A-Z]+").findall
_pair = re.compile(r"(?<=[?&;])([^=&;?#\s\"']{1,100})=([^&;#\s\"']+)")
_PERSONAL: Final = """
    mail email phone tel telephone telefon telefono mobile msisdn fax firstname lastname surname vorname nachname birth
    birthday birthdate dob ssn iban card
"""
_PERSONAL_WORDS: Final = frozenset(_PERSONAL.split())
# Names of files such as logo@2x.png and react@18.min.js are no addresses.
_address = re.compile(
    r"[\w.+%-]{1,80}?(?:@|%40)(?:[\w-]{1,63}\.){1,9}(?!(?:png|jpe?g|gif|svg|webp|avif|ico|m?js|css|map|html?|php)\b)[A-Za-z]{2,24}\b"
)
# Behind these, or behind an action, a random segment of a path is a token.
_TOKEN_WORDS: Final = _SECRET_WORDS | frozenset(["once", "login", "private", "share", "magic", "invitation"])
_token = re.compile(r"(/(?:[^/?#\s\"']{1,80}/)?(?:[a-z]+[-_])?)([\w-]{16,}+)(?=[/?#\s\"']|\Z)")
_hexadecimal = re.compile(r"(?=[a-z-]*\d)(?=\d*[a-z])[\da-f]{16,}", re.IGNORECASE).fullmatch
_number = re.compile(r"(?<=[/=:])(?:\+|%2[Bb])\(?\d(?:[\d().-]|%20|%2[89]){6,}")


def mask_secrets(text: str) -> str:
    """A URL, or a line of a log, with ``***`` and a digest for the values of parameters that look like secrets.

    These are parameters whose names have a word such as token, key, password, session or code, and long values that
    look random; and all parameters if one of them has a word for personal data, such as email or phone. The URL stays
    recognizable.
    """
    if "=" not in text or ("?" not in text and "&" not in text):
        return text
    names = (name for name, _ in _pair.findall(text))
    if any(not _PERSONAL_WORDS.isdisjoint(_name_words(name)) for name in names):  # a form that somebody filled in
        return _pair.sub(lambda match: f"{match[1]}={_masked(match[2])}", text)
    return _pair.sub(_masked_pair, text)


def mask_private(text: str) -> str:
    """The same, also with personal data and tokens of the path masked.

    These are e-mail addresses, telephone numbers (RFC 3966 section 5.1.4), and segments that look random behind a word
    such as confirm, login or once. Other random segments are the names of pages.
    """
    text = _token.sub(_masked_token, mask_secrets(text))
    if "@" in text or "%40" in text:
        text = _address.sub(lambda match: _masked(match[0]), text)
    return _number.sub(lambda match: _masked(match[0]), text) if "+" in text or "%2" in text else text


def _masked_token(match: re.Match[str]) -> str:
    prefix, value = match.groups()
    is_token = is_random(value) or _hexadecimal(value)
    words = words_of(match[0])
    is_behind = not (_TOKEN_WORDS.isdisjoint(words) and ACTIONS.isdisjoint(words))
    return prefix + _masked(value) if is_token and is_behind else match[0]


def _masked_pair(pair: re.Match[str]) -> str:
    name, value = pair.groups()
    return f"{name}={_masked(value)}" if _is_secret(name, value) else pair[0]


def _masked(value: str) -> str:
    # three bytes keep values apart, and are too few to find the value among all that are possible
    return value if value.startswith(MASK) else MASK + blake2b(value.encode(), digest_size=3).hexdigest()


def _is_secret(name: str, value: str) -> bool:
    has_word = not _SECRET_WORDS.isdisjoint(_name_words(name))
    return has_word or unquote(name).lower().endswith(_SECRET_ENDS) or is_random(value)


def _name_words(name: str) -> set[str]:
    return {word.lower() for word in _words(unquote(name))}
