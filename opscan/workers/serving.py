"""The other side: a process that reads questions from its standard input and writes one answer for each.

What it does may crash it, hang it or fill its memory: the run then starts another.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO

from opscan.workers.frames import read_frame, write_frame

_GRACE_S = 2
"""Beyond the time limit of a run: only a process whose run is gone lives long enough to end itself."""


def serve(work: Callable[[Any], Any], seconds: str, mebibytes: str, folder: str) -> None:
    """Answer questions with what `work` returns, as JSON, until there are no more. Does not return.

    Paths are relative to `folder`; `mebibytes`: 0 for no bound. Work that runs out of memory raises MemoryError.
    """
    os.chdir(folder)
    questions, answers = _own_streams()
    _limit_memory(int(mebibytes))
    with suppress(EOFError, BrokenPipeError):
        _put(answers, "ready")
        while True:
            for question in pickle.loads(read_frame(questions)):
                _forget_errors()
                _alarm(float(seconds) + _GRACE_S)
                answer = _answer(work, question)
                _alarm(0)
                _put(answers, *answer)
                if answer[0] == "memory":
                    raise EOFError  # what is left of the memory is too little for the others
    os._exit(0)  # PyTorch's own way out takes long, and can crash after an operator has corrupted memory


def _put(answers: BinaryIO, *words: Any) -> None:
    write_frame(answers, json.dumps(words, separators=(",", ":")).encode())


def _answer(work: Callable[[Any], Any], question: Any) -> tuple[Any, ...]:
    try:
        return "known", work(question)
    except ImportError as problem:
        return "missing", str(problem)
    except MemoryError:
        return ("memory",)
    except Exception as problem:
        text = str(problem).strip() or "no message"
        return "raised", f"{type(problem).__name__}: {text.splitlines()[0][:300]}"


def _own_streams() -> tuple[BinaryIO, BinaryIO]:
    """The pipes to the run, under descriptors of their own: what an operator prints must not look like an answer."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return questions, answers


def _forget_errors() -> None:
    """Keep of the error output, which is a file, only what belongs to the case at hand."""
    with suppress(OSError):
        os.ftruncate(2, 0)
        os.lseek(2, 0, os.SEEK_SET)


def _alarm(seconds: float) -> None:
    """End this process after so long even if the operator never returns to Python; 0 calls it off."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _limit_memory(mebibytes: int) -> None:
    """Bound the private data from here on. The address space would be no measure: libraries alone take most of it."""
    if not mebibytes:
        return
    with suppress(ImportError, OSError, ValueError, StopIteration):
        import resource

        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            now = next(int(line.split()[1]) for line in status if line.startswith("VmData:"))
        wanted = (now << 10) + (mebibytes << 20)
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
