"""First line on Linux: namespaces of its own, without a network, without other processes, with a read-only file system.

What can be seen is an allow-list: the parts of the system that Python needs, its packages, and the plugin's folder, all
read-only, under their usual paths; and one empty folder to write in, which lives in memory and has a size.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from opscan.running.isolation.libc import call, path

_NEWNS, _NEWUTS, _NEWIPC = 0x00020000, 0x04000000, 0x08000000
_NEWUSER, _NEWPID, _NEWNET = 0x10000000, 0x20000000, 0x40000000
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND, _REC, _PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
_FLAGS = {
    "nosuid": _NOSUID,
    "nodev": _NODEV,
    "noexec": _NOEXEC,
    "noatime": 1024,
    "nodiratime": 2048,
    "relatime": 1 << 21,
}
"""Flags of a mount that an unprivileged namespace may not take off."""
_DETACH = 2
_SET_PDEATHSIG = 1
_KILL = 9
SYSTEM = ("/usr", "/lib", "/lib64", "/lib32", "/etc/ld.so.cache", "/etc/localtime", "/sys/devices/system/cpu")
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_OCTAL = re.compile(r"\\([0-7]{3})")


def leave_the_rest() -> bool:
    """Enter namespaces of one's own: user, network, processes, mounts, names. False where that is not allowed.

    Raises OSError where it is allowed and then does not work; the process is then to be given up.
    """
    user, group = os.getuid(), os.getgid()
    try:
        call("unshare", _NEWUSER | _NEWNET | _NEWNS | _NEWPID | _NEWIPC | _NEWUTS)
    except OSError:
        return False
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    return True


def become_first() -> None:
    """Go on as the first process of the new namespace, whose end is the end of all others in it.

    The process that was there before only waits and ends in the same way, so that its parent sees how.
    """
    child = os.fork()
    if child == 0:
        call("prctl", _SET_PDEATHSIG, _KILL, 0, 0, 0)
        return
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        _die_of(os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _die_of(number: int) -> None:
    import resource
    import signal

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)


def see_only(visible: Sequence[str], root: str, work: str, mebibytes: int) -> None:
    """Make `root`, an empty folder, the root of a file system that holds `visible`, and `work` to write in.

    Raises OSError where the kernel refuses it; the process is then to be given up.
    """
    call("mount", None, b"/", None, _REC | _PRIVATE, None)
    call("mount", b"tmpfs", path(root), b"tmpfs", _NOSUID | _NODEV, b"size=1m,mode=755")
    for place in _without_nested([*SYSTEM, *visible]):
        _show(place, root)
    for device in DEVICES:
        _show(device, root)
    os.makedirs(root + "/proc", exist_ok=True)
    os.makedirs(root + work, exist_ok=True)
    size = f"size={mebibytes}m,nr_inodes=4096,mode=700".encode("ascii")
    call("mount", b"tmpfs", path(root + work), b"tmpfs", _NOSUID | _NODEV | _NOEXEC, size)
    for mounted, options in list(_mounts_below(root)):
        if mounted not in (root, root + work):
            _make_read_only(mounted, options)
    _mount_proc(root)
    os.makedirs(root + "/.old")
    call("syscall", _PIVOT_ROOT[os.uname().machine], *_texts(root, root + "/.old"))
    os.chdir("/")
    call("umount2", b"/.old", _DETACH)
    os.rmdir("/.old")
    call("mount", None, b"/", None, _BIND | _REMOUNT | _RDONLY | _NOSUID | _NODEV, None)


_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}


def _texts(*paths: str) -> list[bytes]:
    return [path(one) for one in paths]


def _without_nested(paths: Sequence[str]) -> list[str]:
    """Each path once, and none that lies below another."""
    kept: list[str] = []
    for place in sorted({os.path.normpath(one) for one in paths if os.path.isabs(one) and os.path.exists(one)}):
        if place != "/" and not any(place.startswith(other + "/") for other in kept if not os.path.islink(other)):
            kept.append(place)
    return kept


def _show(place: str, root: str) -> None:
    """Bind a file or folder at its own path below `root`; a link of the system stays one."""
    target = root + place
    if os.path.lexists(target):
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.islink(place) and os.path.dirname(place) == "/":
        os.symlink(os.readlink(place), target)
        return
    if os.path.isdir(place):
        os.mkdir(target)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
    call("mount", path(place), path(target), None, _BIND | _REC, None)


def _mounts_below(root: str) -> Iterator[tuple[str, str]]:
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
        for line in table:
            fields = line.split(" ")
            mounted = _OCTAL.sub(lambda found: chr(int(found.group(1), 8)), fields[4])
            if mounted.startswith(root):
                yield mounted, fields[5]


def _make_read_only(mounted: str, options: str) -> None:
    kept = sum(flag for name, flag in _FLAGS.items() if name in options.split(","))
    flags = _BIND | _REMOUNT | _RDONLY | _NOSUID | kept
    if mounted.rpartition("/dev/")[2] not in ("null", "zero", "random", "urandom"):
        flags |= _NODEV
    call("mount", None, path(mounted), None, flags, None)


def _mount_proc(root: str) -> None:
    """Libraries look at their own process there. Containers often refuse it; then there is none."""
    try:
        call("mount", b"proc", path(root + "/proc"), b"proc", _NOSUID | _NODEV | _NOEXEC | _RDONLY, None)
    except OSError:
        return
