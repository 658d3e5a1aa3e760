"""One process that works, seen from the run: it is asked, it answers, it is killed, it says why it ended."""

from __future__ import annotations

import json
import math
import os
import pickle
import signal
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

import opscan
from opscan.workers.frames import read_frame, write_frame
from opscan.workers.limits import Limits

STARTING_S = 120.0
"""Importing PyTorch from a cold network drive takes long; nothing good takes longer than this."""

Event = tuple["Process", "list[Any] | None"]
"""A process and its message, or None once it has ended."""


class Process:
    """A thread hands the questions over and puts what comes back into `events`, so that waiting can have a limit.

    `asked`: places of the questions that are not answered. `fresh`: it has been asked nothing yet.
    Raises OSError where no process can be started.
    """

    def __init__(self, command: Sequence[str], limits: Limits, events: SimpleQueue[Event]) -> None:
        self.asked: deque[int] = deque()
        self.ready = False
        self.fresh = True
        self.deadline = time.monotonic() + STARTING_S
        self._limits = limits
        self._cause = ""
        self._inbox: SimpleQueue[tuple[bytes, int] | None] = SimpleQueue()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed in `end`
        self._popen = subprocess.Popen(
            [*command, str(limits.seconds), str(limits.mebibytes), os.getcwd()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=Path(opscan.__file__).parents[1],  # `-m` looks there first, and beside a spec may lie anything
            env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
            start_new_session=True,  # a group of its own to kill, and none that Ctrl-C reaches
        )
        Thread(target=self._converse, args=(events,), daemon=True).start()

    @property
    def idle(self) -> bool:
        return self.ready and not self.asked

    def ask(self, places: Sequence[int], questions: Sequence[object]) -> None:
        """Hand over questions; the answers come as events, in the same order."""
        self.asked.extend(places)
        self.fresh = False
        self.deadline = time.monotonic() + self._limits.seconds
        self._inbox.put((pickle.dumps(list(questions)), len(places)))

    def rest(self) -> None:
        """Nothing is expected of it until it is asked again."""
        self.deadline = math.inf

    def kill(self, cause: str) -> None:
        """End it now; the first cause given is the one that is told."""
        self._cause = self._cause or cause
        self.rest()
        self._inbox.put(None)
        if self._popen.returncode is not None:
            return
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._popen.pid, signal.SIGKILL)
            else:
                self._popen.kill()

    def end(self) -> str:
        """Make sure that it is gone, and say what ended it."""
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(0 if self._cause else 1)
        code = self._popen.returncode
        if code is None:
            self.kill("stopped answering")
            code = self._popen.wait()
        last = self._last_error()
        self._errors.close()
        return self._cause or self._describe(code) + (f": {last}" if last else "")

    def _describe(self, code: int) -> str:
        if code == -getattr(signal, "SIGALRM", 0):
            return f"ran longer than {self._limits.seconds:g} s"
        if code >= 0:
            return f"ended its process (exit code {code})"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = str(-code)
        return f"crashed (signal {name})"

    def _last_error(self) -> str:
        with suppress(OSError, ValueError):
            self._errors.seek(0)
            lines = self._errors.read().decode(errors="replace").replace("\0", "").split("\n")
            return next((line.strip()[:200] for line in reversed(lines) if line.strip()), "")
        return ""

    def _converse(self, events: SimpleQueue[Event]) -> None:
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        with suppress(OSError, EOFError, ValueError), self._popen.stdout as answers, self._popen.stdin as questions:
            events.put((self, json.loads(read_frame(answers))))
            while (asked := self._inbox.get()) is not None:
                write_frame(questions, asked[0])
                for _ in range(asked[1]):
                    message = json.loads(read_frame(answers))
                    self.deadline = time.monotonic() + self._limits.seconds
                    events.put((self, message))
        events.put((self, None))
