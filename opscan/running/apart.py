"""Start a process for one plugin, wait for its answer, and say how it ended where there is none."""

from __future__ import annotations

import json
import os
import pickle
import re
import secrets
import signal
import site
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hmac import compare_digest
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Any

import opscan
from opscan.data import data_path
from opscan.running.messages import ANSWER_BYTES, PRINTED_MEBIBYTES, Job, Trouble
from opscan.workers.frames import SEAL_BYTES, read_frame, seal, write_frame

STARTING_S = 60.0
"""Starting Python and shutting it in takes a fraction of a second; nothing good takes longer than this."""
GRACE_S = 2.0
"""The process watches the time itself, and knows the line; from outside it is killed a little later."""
_BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from opscan.running.child import main; main()"
_KEPT = ("LD_LIBRARY_PATH", "SYSTEMROOT")
_FATAL = re.compile(r"Fatal Python error: (.+)")
_STACK_LINE = re.compile(r'^  File "(.*)", line (\d+) in ', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Ended:
    """What came back. `lines`: the lines of defence that held. Without an answer there is a trouble."""

    answer: dict[str, Any] | None
    lines: tuple[str, ...] = ()
    trouble: Trouble | None = None
    parts: tuple[Any, ...] = ()
    """What came back before."""
    broken: bool = False
    """The process could not be shut in, so that the plugin was not run."""


def run_apart(job: Job) -> Ended:
    """Run a job in a process of its own, and end that process whatever it does. Never raises for what it did."""
    try:
        # what the plugin left behind in its folder may resist
        with tempfile.TemporaryDirectory(prefix="opscan-", ignore_cleanup_errors=True) as base:
            ended = _run(job, os.path.realpath(base))
    except OSError as problem:
        return Ended(None, (), Trouble("plugin-run-failed", f"cannot be run: {problem.strerror or problem}"))
    if ended.broken and "namespaces" not in job.without:
        # some systems allow namespaces and then nothing in them; the other lines of defence are enough to go on
        return run_apart(replace(job, without=(*job.without, "namespaces")))
    return ended


def _run(job: Job, base: str) -> Ended:
    work = os.path.join(base, "work")
    os.mkdir(work)
    job = replace(job, work=work, visible=(*_visible(), *job.bounds.folders))
    process = subprocess.Popen(
        [sys.executable, "-s", "-B", "-c", _BOOT, json.dumps(_import_path())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=work,
        env=_environment(work),
        start_new_session=True,  # a group of its own to kill, and none that Ctrl-C reaches
    )
    key = secrets.token_bytes(32)
    conversation = _Conversation(process, key)
    try:
        with suppress(BrokenPipeError):
            assert process.stdin is not None
            write_frame(process.stdin, key)
            write_frame(process.stdin, pickle.dumps(job))
        ended = conversation.listen(job)
    finally:
        _kill(process)
    trouble = _cause(process, conversation, job, base) if ended is None else None
    return ended or Ended(None, conversation.lines, trouble, tuple(conversation.parts))


class _Conversation:
    """Threads read the two outputs, so that waiting has a limit and a full pipe blocks nothing."""

    def __init__(self, process: subprocess.Popen[bytes], key: bytes) -> None:
        self._key = key
        self.begun = False
        self.lines: tuple[str, ...] = ()
        self.late = False
        self.flooded = False
        self.printed = b""
        self.parts: list[Any] = []
        self._events: SimpleQueue[list[Any] | None] = SimpleQueue()
        assert process.stdout is not None
        assert process.stderr is not None
        Thread(target=self._read_answers, args=(process.stdout,), daemon=True).start()
        self._drain = Thread(target=self._read_prints, args=(process.stderr, process), daemon=True)
        self._drain.start()

    def listen(self, job: Job) -> Ended | None:
        """The answer, or None where the process ended without one."""
        deadline = time.monotonic() + STARTING_S
        while True:
            try:
                message = self._events.get(timeout=max(deadline - time.monotonic(), 0))
            except Empty:
                self.late = True
                return None
            if not isinstance(message, list) or not message:
                return None
            if message[0] == "ready" and not self.begun:
                self.begun = True
                self.lines = tuple(str(line) for line in message[1])
                deadline = time.monotonic() + job.bounds.seconds + GRACE_S
            elif message[0] == "part" and len(message) == 2 and len(self.parts) < job.parts:
                self.parts.append(message[1])
                deadline = time.monotonic() + job.bounds.seconds + GRACE_S
            elif message[0] == "answer" and len(message) == 2 and isinstance(message[1], dict):
                return Ended(message[1], self.lines, parts=tuple(self.parts))
            else:
                broken = message[0] == "broken" and not self.begun
                reason = f"cannot be shut in: {str(message[-1])[:200]}" if broken else "gives no sensible answer"
                return Ended(None, self.lines, Trouble("plugin-run-failed", reason), broken=broken)

    def last_printed(self) -> str:
        """The last line that was printed, for a process that died without a reason."""
        self._drain.join(1)
        lines = self.printed.decode(errors="replace").replace("\0", "").split("\n")
        return next((line.strip()[:200] for line in reversed(lines) if line.strip()), "")

    def _read_answers(self, stream: IO[bytes]) -> None:
        with suppress(OSError, EOFError, ValueError, RecursionError), stream:
            for number in count():
                sealed = read_frame(stream, ANSWER_BYTES)
                payload = sealed[SEAL_BYTES:]
                genuine = compare_digest(sealed[:SEAL_BYTES], seal(self._key, number, payload))
                self._events.put(json.loads(payload) if genuine else ["forged"])
        self._events.put(None)

    def _read_prints(self, stream: IO[bytes], process: subprocess.Popen[bytes]) -> None:
        total = 0
        with suppress(OSError, ValueError), stream:
            while chunk := stream.read1(1 << 16):  # type: ignore[attr-defined]
                total += len(chunk)
                self.printed = (self.printed + chunk)[-4096:]
                if total > PRINTED_MEBIBYTES << 20:
                    self.flooded = True
                    _kill_group(process)
                    return


def _cause(process: subprocess.Popen[bytes], talk: _Conversation, job: Job, base: str) -> Trouble:
    """Why there is no answer: from the exit status, and from the stack that the process may have left."""
    stack, line = "", 0
    report = ""
    with suppress(OSError):
        report = Path(base, "report").read_text(encoding="utf-8", errors="replace")
    folder = os.path.join(os.path.dirname(job.plugin), "")
    for found in _STACK_LINE.finditer(report):
        if found.group(1).startswith(folder):
            stack, line = found.group(1), int(found.group(2))
            break
    rule, what = "plugin-stopped", _how_it_ended(process.returncode or 0, talk, job, report)
    if not talk.begun and not talk.flooded:
        rule, what = "plugin-run-failed", f"cannot be run: its process {what} before it began"
        last = talk.last_printed()
        what += f": {last}" if last else ""
    return Trouble(rule, what, stack, line)


def _how_it_ended(code: int, talk: _Conversation, job: Job, report: str) -> str:
    if talk.flooded:
        return f"prints more than {PRINTED_MEBIBYTES} MiB"
    if talk.late or report.startswith("Timeout"):
        return f"runs longer than {job.bounds.seconds:g} s" if talk.begun else "took too long to start"
    fatal = _FATAL.match(report)
    if fatal:
        return f"crashes ({fatal.group(1)})"
    if code >= 0:
        return f"ends its process (exit code {code})"
    if code == -getattr(signal, "SIGXCPU", 0):
        return f"uses more than {job.bounds.seconds:g} s of processor time"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = str(-code)
    return f"crashes (signal {name})"


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Give it a moment to end by itself, so that its exit status is its own; then end it and all it started."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(0.5)
    _kill_group(process)
    process.wait()
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _environment(work: str) -> dict[str, str]:
    """Nothing of the user's: no home, no keys, no proxies."""
    return {
        **{name: os.environ[name] for name in _KEPT if name in os.environ},
        "HOME": work,
        "TMPDIR": work,
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONUTF8": "1",
        "PYTHONHASHSEED": "0",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def _packages() -> list[str]:
    """The folders of the standard library and of installed packages, in the order in which Python searches them."""
    folders = (sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), site.getusersitepackages())
    own = {os.path.realpath(place) for place in folders}
    return [
        place
        for place in sys.path
        if os.path.isabs(place) and any(os.path.realpath(place).startswith(folder) for folder in own if folder != "/")
    ]


def _import_path() -> list[str]:
    return [*_packages(), str(Path(opscan.__file__).parents[1])]


def _visible() -> tuple[str, ...]:
    """What the process may read besides the plugin's folder."""
    libraries = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    own: Sequence[str | Path] = (Path(opscan.__file__).parent, data_path("catalog"), data_path("rules"))
    return (sys.prefix, sys.base_prefix, *_packages(), *(str(place) for place in own), *filter(None, libraries))
