"""What travels between a run and its processes: frames of a length and a payload.

Questions go as pickles, for only the run writes them. Answers come back as JSON: a process whose memory an operator has
corrupted, or that has followed foreign code, must not be able to make the run execute anything.
"""

from __future__ import annotations

from typing import IO

_LENGTH_BYTES = 4
_LONGEST = 1 << 28
SEAL_BYTES = 16


def write_frame(stream: IO[bytes], payload: bytes) -> None:
    """Write one frame and flush it. Raises OSError where nobody reads."""
    stream.write(len(payload).to_bytes(_LENGTH_BYTES, "big") + payload)
    stream.flush()


def seal(key: bytes, number: int, payload: bytes) -> bytes:
    """What shows that the `number`-th message of a process comes from whoever holds the key."""
    from hashlib import blake2b

    return blake2b(payload, key=key, digest_size=SEAL_BYTES, salt=number.to_bytes(16, "big")).digest()


def read_frame(stream: IO[bytes], longest: int = _LONGEST) -> bytes:
    """The payload of the next frame. Raises EOFError at the end, within a frame, and for one that is too long."""
    head = stream.read(_LENGTH_BYTES)
    length = int.from_bytes(head, "big")
    if len(head) < _LENGTH_BYTES or length > longest:
        raise EOFError
    payload = stream.read(length)
    if len(payload) < length:
        raise EOFError
    return payload
