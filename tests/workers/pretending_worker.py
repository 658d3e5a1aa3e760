"""A worker that does what the name of a case says, without PyTorch: the double of `opscan.numerics.worker`."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from opscan.model import Classification
from opscan.numerics.messages import Question
from opscan.numerics.store import dump
from opscan.workers.serving import serve

KEPT: list[bytearray] = []


def pretend(question: Question) -> list[Any]:
    """`VERB ARGUMENT`: what happens before the answer, which is the verb, the id of the case and this process."""
    verb, _, argument = (question.case.name or "").partition(" ")
    if verb == "sleep":
        time.sleep(float(argument))
    elif verb == "signal":
        print("the last words", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.Signals[argument])
    elif verb == "abort":
        os.abort()
    elif verb == "exit":
        os._exit(int(argument))
    elif verb == "allocate":
        KEPT.append(bytearray(int(argument)))
    elif verb == "raise":
        raise ValueError(argument)
    elif verb == "import":
        raise ImportError(argument)
    elif verb == "print":
        os.write(1, b"\0\0\0\1x" * 100)
        print(argument, flush=True)
    elif verb == "read":
        assert sys.stdin.read() == ""
    elif verb == "first" and not Path(argument).exists():
        Path(argument).touch()  # only the first of two tries fails
        os.abort()
    elif verb == "linger":
        Path(argument).write_text(str(os.getpid()))
        time.sleep(60)
    return dump(Classification((), f"{os.getpid()}", f"{verb} {question.case.id}"))


if __name__ == "__main__":
    serve(pretend, *sys.argv[1:])
