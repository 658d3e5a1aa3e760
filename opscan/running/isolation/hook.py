"""Last line, everywhere: Python's own audit events. It refuses what the lines before it refuse, and knows who asked.

Code that calls the C library past Python gets by it; on Linux the kernel's lines hold there. Whatever is refused is
remembered with the plugin's file and line, also where the plugin swallows the exception.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

_HARMLESS = frozenset({"socket.gethostname"})
_PROCESSES = frozenset(
    {
        *("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn"),
        *("pty.spawn", "os.kill", "os.killpg", "os.startfile", "_winapi.CreateProcess"),
    }
)
_CHANGES = {
    **dict.fromkeys(("os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.truncate", "os.utime"), 1),
    **dict.fromkeys(("os.rename", "os.link", "os.symlink"), 2),
    **dict.fromkeys(("os.setxattr", "os.removexattr"), 1),
}
"""Events that change files, with how many of their first arguments are paths."""
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_MOST = 8


@dataclass(frozen=True, slots=True)
class Denial:
    """Something that was refused: what the plugin tried, and the line of its code that did."""

    tried: str
    file: str
    line: int


class Watch:
    """The hook; `denials` grows while the plugin runs. `folder`: where the plugin lies, `work`: where it may write."""

    def __init__(self, folder: str, work: str) -> None:
        self.denials: list[Denial] = []
        self._folder = os.path.join(folder, "")
        self._work = os.path.join(os.path.realpath(work), "")
        self._busy = False

    def start(self) -> None:
        """From now on; a hook cannot be taken off."""
        with suppress(ImportError):
            import _posixsubprocess  # multiprocessing starts processes by it, which is no event

            vars(_posixsubprocess)["fork_exec"] = lambda *_: self._deny("start or signal a process")
        sys.addaudithook(self._on_event)

    def _on_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._busy:
            return
        self._busy = True
        try:
            tried = self._forbidden(event, arguments)
        finally:
            self._busy = False
        if tried:
            self._deny(tried)

    def _forbidden(self, event: str, arguments: tuple[Any, ...]) -> str:
        if event == "open":
            return self._opening(*arguments[:3])
        if event in _PROCESSES:
            what = f" ({str(arguments[0])[:80]})" if arguments and event in ("subprocess.Popen", "os.system") else ""
            return f"start or signal a process{what}"
        if event.startswith(("socket.", "http.client.", "urllib.", "ftplib.", "smtplib.")) and event not in _HARMLESS:
            return f"use the network ({event})"
        for place in arguments[: _CHANGES.get(event, 0)]:
            if self._is_outside(place):
                return f"change {os.fsdecode(place) if isinstance(place, (str, bytes)) else place}"
        return ""

    def _opening(self, place: Any, mode: Any, flags: Any) -> str:
        writes = any(c in mode for c in "wax+") if isinstance(mode, str) else False
        writes = writes or (isinstance(flags, int) and flags & _WRITING != 0)
        return f"write {os.fsdecode(place)}" if writes and self._is_outside(place) else ""

    def _is_outside(self, place: Any) -> bool:
        if not isinstance(place, (str, bytes, os.PathLike)):
            return False
        resolved = os.path.realpath(os.fsdecode(place))
        return resolved != os.devnull and not os.path.join(resolved, "").startswith(self._work)

    def _deny(self, tried: str) -> None:
        file, line = self.place(sys._getframe(1))
        if len(self.denials) < _MOST:
            self.denials.append(Denial(tried, file, line))
        raise PermissionError(f"opscan runs plugins apart: this one may not {tried}")

    def place(self, frame: Any) -> tuple[str, int]:
        """The innermost line of the plugin's folder among the callers of `frame`; line 0 where there is none."""
        while frame is not None:
            if self.owns(frame.f_code.co_filename):
                return frame.f_code.co_filename, frame.f_lineno
            frame = frame.f_back
        return "", 0

    def owns(self, file: str) -> bool:
        """Whether a file lies in the plugin's folder."""
        return file.startswith(self._folder)
