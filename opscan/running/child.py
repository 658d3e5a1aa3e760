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
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from opscan.running.isolation import Isolated, Watch, isolate
from opscan.running.messages import Generation, Job, Tracing
from opscan.workers.frames import read_frame, seal, write_frame

STANDIN = str(Path(__file__).parent / "standin")


def main() -> NoReturn:
    put = _Sealed(os.fdopen(os.dup(1), "wb"), read_frame(sys.stdin.buffer)).put
    job: Job = pickle.loads(read_frame(sys.stdin.buffer))
    _own_streams()
    report = open(os.path.join(os.path.dirname(job.work), "report"), "wb")  # noqa: SIM115  # open to the end
    try:
        # what is imported here need not be found inside, nor be paid from the plugin's time and memory
        run = _task_of(job)
        isolated = _shut_in(job)
    except (ImportError, OSError) as problem:
        put("broken", str(getattr(problem, "strerror", None) or problem))
        os._exit(1)
    put("ready", list(isolated.lines))
    _watch_ends(report)
    watch_time = partial(faulthandler.dump_traceback_later, job.bounds.seconds, exit=True, file=report)
    watch_time()
    sys.path.insert(0, STANDIN)

    def part(*words: Any) -> None:
        put("part", list(words))
        watch_time()

    answer = run(isolated.watch, part)
    faulthandler.cancel_dump_traceback_later()
    put("answer", answer)
    _LEAVE(0)


_LEAVE = os._exit


def _task_of(job: Job) -> Callable[[Watch, Callable[..., None]], dict[str, Any]]:
    if isinstance(job, Generation):
        from opscan.running import generators

        return partial(generators.run, job)
    if not isinstance(job, Tracing):
        raise ImportError(f"nothing to do for a {type(job).__name__}")
    from opscan.running import goldens

    return partial(goldens.run, job)


def _shut_in(job: Job) -> Isolated:
    return isolate(
        os.path.dirname(job.plugin),
        job.work,
        job.visible,
        job.bounds.seconds,
        job.bounds.mebibytes,
        without=job.without,
    )


def _own_streams() -> None:
    """Nothing to read for the plugin, and its two outputs are one."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)


def _watch_ends(report: BinaryIO) -> None:
    """Leave the stack in the report where the plugin crashes or ends the process by itself."""
    faulthandler.enable(report)

    def leave(status: int = 0) -> NoReturn:
        faulthandler.dump_traceback(report)
        _LEAVE(status)

    os._exit = leave
    sys.modules[os.name]._exit = leave  # type: ignore[attr-defined]


class _Sealed:
    """Sends messages, each sealed with a key, so that what a plugin writes on the same stream is not taken for one."""

    def __init__(self, stream: BinaryIO, key: bytes) -> None:
        number = count()

        def put(*words: Any) -> None:
            payload = json.dumps(words, separators=(",", ":")).encode()
            write_frame(stream, seal(key, next(number), payload) + payload)

        self.put = put
