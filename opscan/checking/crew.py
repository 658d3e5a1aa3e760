"""Have calls examined by several processes at once. One that dies costs the call it was at."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

COMMAND = (sys.executable, "-m", "opscan.checking.worker")
_DEATHS = 3
"""So many calls of one task may end the process before the rest of it is given up."""


@dataclass(frozen=True)
class Task:
    """Calls `start` to `stop` of one entry. `share`: of them, how many the oracles look at."""

    base: str
    start: int
    stop: int
    seed: int
    share: float
    seconds: float


class NotStarted(Exception):
    """No process can examine calls here; the message says what to try."""


Result = tuple[Task, int, dict[str, Any]]
"""The task, the number of the call, what came of it: see `Examined`; outcome `died` where the process did."""
_Results = queue.SimpleQueue["Result | Exception | None"]


def examine_all(tasks: Sequence[Task], jobs: int) -> Iterator[Result]:
    """What came of every call, in the order in which that is known. Raises NotStarted."""
    waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
    results: _Results = queue.SimpleQueue()
    for task in tasks:
        waiting.put(task)
    threads = [threading.Thread(target=_serve, args=(waiting, results), daemon=True) for _ in range(max(jobs, 1))]
    for thread in threads:
        thread.start()
    ended = 0
    while ended < len(threads):
        result = results.get()
        if result is None:
            ended += 1
        elif isinstance(result, Exception):
            raise result
        else:
            yield result


def _serve(waiting: queue.SimpleQueue[Task], results: _Results) -> None:
    process: subprocess.Popen[str] | None = None
    deaths = 0
    try:
        while True:
            try:
                task: Task | None = waiting.get_nowait()
            except queue.Empty:
                break
            deaths = 0
            while task is not None:
                process = process or _started()
                reached = _asked(process, task, results)
                if reached is None:
                    break
                _ended(process)
                process = None
                deaths += 1
                results.put((task, reached, {"outcome": "died", "remarks": []}))
                task = replace(task, start=reached + 1) if deaths < _DEATHS and reached + 1 < task.stop else None
    except NotStarted as problem:
        results.put(problem)
    finally:
        if process is not None:
            _ended(process)
        results.put(None)


def _started() -> subprocess.Popen[str]:
    process = subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8"
    )
    assert process.stdout is not None
    if not process.stdout.readline():
        process.wait()
        raise NotStarted(f"`{' '.join(COMMAND)}` does not start: are PyTorch and expecttest there?")
    return process


def _ended(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def _asked(process: subprocess.Popen[str], task: Task, results: _Results) -> int | None:
    """None once the task is done; the number of the call at which the process died."""
    assert process.stdin is not None
    assert process.stdout is not None
    number = task.start
    try:
        process.stdin.write(json.dumps(vars(task)) + "\n")
        process.stdin.flush()
    except BrokenPipeError:
        return number
    for line in process.stdout:
        text = line.strip()
        if not text:
            return None
        if text.startswith("{"):
            results.put((task, number, json.loads(text)))
        else:
            number = int(text)
    return number
