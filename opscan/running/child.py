"""The process that runs one plugin: shuts itself in, imports the plugin with the stand-in for ATK, and answers.

Started by `opscan.running.apart`. The answer goes out on its standard output, which the plugin does not get: what it
prints goes to the standard error. Where it never returns, the stack is left in the file `report` beside the folder.
"""

from __future__ import annotations

import faulthandler
import json
import os
import pickle
import sys
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from opscan.numerics.messages import read_frame, write_frame
from opscan.running.isolation import Isolated, isolate
from opscan.running.messages import Request

STANDIN = str(Path(__file__).parent / "standin")


def main() -> NoReturn:
    answers = os.fdopen(os.dup(1), "wb")
    request = pickle.loads(read_frame(sys.stdin.buffer))
    _own_streams()
    report = open(os.path.join(os.path.dirname(request.work), "report"), "wb")  # noqa: SIM115  # open to the end
    try:
        # what is imported here need not be found inside
        from opscan.running import generators

        isolated = _shut_in(request)
    except OSError as problem:
        _put(answers, "broken", f"{problem.strerror or problem}")
        os._exit(1)
    _put(answers, "ready", list(isolated.lines))
    _watch_time(request, report)
    sys.path.insert(0, STANDIN)
    answer = generators.run(request, isolated.watch)
    faulthandler.cancel_dump_traceback_later()
    _put(answers, "answer", answer)
    _LEAVE(0)


_LEAVE = os._exit


def _shut_in(request: Request) -> Isolated:
    return isolate(
        os.path.dirname(request.plugin),
        request.work,
        request.visible,
        request.bounds.seconds,
        request.bounds.mebibytes,
        without=request.without,
    )


def _own_streams() -> None:
    """Nothing to read for the plugin, and its two outputs are one."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)


def _watch_time(request: Request, report: BinaryIO) -> None:
    """Leave the stack in the report where the plugin crashes, ends the process or takes too long, and end then."""
    faulthandler.enable(report)
    faulthandler.dump_traceback_later(request.bounds.seconds, exit=True, file=report)

    def leave(status: int = 0) -> NoReturn:
        faulthandler.dump_traceback(report)
        _LEAVE(status)

    os._exit = leave
    sys.modules[os.name]._exit = leave  # type: ignore[attr-defined]


def _put(answers: BinaryIO, *words: Any) -> None:
    write_frame(answers, json.dumps(words, separators=(",", ":")).encode())
