"""What travels between an audit and the processes that trace for it: frames of a length and a payload.

Questions go as pickles, for only the audit writes them. Answers come back as JSON: a process whose memory an operator
has corrupted, or that has followed foreign code, must not be able to make the audit run anything.
"""

from __future__ import annotations

from dataclasses import replace
from typing import IO

from opscan.dataclass import dataclass
from opscan.model import Case, Classification, Plugin

OUT_OF_MEMORY = "needs more memory than there is for a trace"
"""How the reason of a case ends that could not allocate what it needs."""
NEEDS_TORCH = "tracing needs PyTorch"
"""How the reason begins where nothing can be traced at all."""
_LENGTH_BYTES = 4
_LONGEST = 1 << 28
SEAL_BYTES = 16


@dataclass(frozen=True, slots=True)
class Limits:
    """What traces may use. `processes`: how many at once, 0 for as many as the work is worth.

    `seconds`: wall time of one case. `mebibytes`: data of one process beyond what PyTorch itself takes.
    """

    processes: int = 0
    seconds: float = 20.0
    mebibytes: int = 2048


@dataclass(frozen=True, slots=True)
class Question:
    """A case to classify. `golden`: the plugin whose executor holds its golden, or why that cannot be read.

    Only where no plugin is at hand (None) the name of the case decides.
    """

    case: Case
    golden: Plugin | str | None = None

    def without_tree(self) -> Question:
        """The same without the plugin's syntax tree, larger than its text and at times too deep to pickle."""
        golden = self.golden
        return replace(self, golden=replace(golden, tree=None) if isinstance(golden, Plugin) else golden)


@dataclass(frozen=True, slots=True)
class Answer:
    """`lasting`: it holds for the next run too. `missing`: PyTorch cannot be imported, and why."""

    classification: Classification
    lasting: bool = True
    missing: str = ""


def missing_torch(problem: Exception | str) -> Answer:
    """The answer where PyTorch cannot be imported."""
    reason = f"{NEEDS_TORCH} (pip install 'opscan-ascend[torch]'): {problem}"
    return Answer(Classification((), "none", reason), lasting=False, missing=reason)


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
