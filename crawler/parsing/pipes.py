"""Length-prefixed MessagePack on the pipes between us and processes of our own; no pickle anywhere."""

import struct
from typing import IO

import msgspec

LENGTH = struct.Struct("<I")

_encoder = msgspec.msgpack.Encoder()


def encode(message: msgspec.Struct) -> bytearray:
    """A message with its length before it, made without a second copy: pages may have megabytes."""
    made = bytearray(LENGTH.size)
    _encoder.encode_into(message, made, LENGTH.size)
    LENGTH.pack_into(made, 0, len(made) - LENGTH.size)
    return made


def frame(source: IO[bytes]) -> bytes | None:
    """What comes next, without its length; None when there is nothing any more."""
    head = source.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    return source.read(length)
