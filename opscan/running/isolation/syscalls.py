"""Second line on Linux: system calls that no generator needs are refused, and no privilege can be gained or kept.

No network, no other program, no process (threads may start), no look into or signal to another process, no mount, and
no memory that the limits do not count. Works where namespaces are not allowed. x86-64 and aarch64.
"""

from __future__ import annotations

import ctypes
import os

from opscan.running.isolation.libc import MACHINE, call

_NUMBERS: dict[str, tuple[int, int]] = {
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    "sendto": (44, 206),
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
    "fork": (57, -1),
    "vfork": (58, -1),
    "execve": (59, 221),
    "execveat": (322, 281),
    "ptrace": (101, 117),
    "kill": (62, 129),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "mount_setattr": (442, 442),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "io_uring_setup": (425, 425),
    "userfaultfd": (323, 282),
    "memfd_create": (319, 279),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
}
_CLONE, _CLONE3, _TGKILL, _MMAP = (56, 220), (435, 435), (234, 131), (9, 222)
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_CAPSET = (126, 91)
_X32 = 0x40000000
"""From this number on a call is one of x86-64's second table."""

_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_LOAD, _EQUAL, _AT_LEAST, _AND, _ANY_OF, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x45, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_CLONE_THREAD = 0x00010000
_SHARED_ANONYMOUS = 0x21
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_CAPABILITY_VERSION = 0x20080522

Instruction = tuple[int, int, int, int]
"""One step of a classic BPF program: code, jump if true, jump if false, operand."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("process", ctypes.c_int))


class _Capabilities(ctypes.Structure):
    _fields_ = (("words", ctypes.c_uint32 * 6),)


def is_known() -> bool:
    """Whether the calls of this machine are in the table."""
    return MACHINE in _ARCHITECTURES


def drop_privileges() -> None:
    """Give up every capability, and the way to new ones. Raises OSError where the kernel refuses it."""
    call("prctl", _NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if is_known():
        number = _CAPSET[_ARCHITECTURES[MACHINE][0]]
        call("syscall", number, _Header(_CAPABILITY_VERSION, 0), _Capabilities())


def refuse_calls() -> None:
    """Install the filter for this process and its threads to come. Raises OSError where there is none."""
    if not is_known():
        raise OSError(_ENOSYS, f"no table of the system calls of {MACHINE or 'this machine'}")
    steps = program(MACHINE, os.getpid())
    code = b"".join(
        c.to_bytes(2, "little") + bytes((yes, no)) + operand.to_bytes(4, "little") for c, yes, no, operand in steps
    )
    call("prctl", _SET_SECCOMP, _FILTER, _Program(len(steps), code), 0, 0)


def program(machine: str, process: int) -> list[Instruction]:
    """The filter for a machine, as steps; signals may go to `process` only."""
    column, architecture = _ARCHITECTURES[machine]
    steps: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    if machine == "x86_64":
        steps += [(_AT_LEAST, 0, 1, _X32), _refuse(_EPERM)]
    for numbers in _NUMBERS.values():
        if numbers[column] >= 0:
            steps += [(_EQUAL, 0, 1, numbers[column]), _refuse(_EPERM)]
    steps += [(_EQUAL, 0, 1, _CLONE3[column]), _refuse(_ENOSYS)]  # the C library then uses clone, which can be checked
    steps += [(_EQUAL, 0, 3, _CLONE[column]), _argument(0), (_ANY_OF, 1, 0, _CLONE_THREAD), _refuse(_EPERM)]
    steps += [(_LOAD, 0, 0, _NUMBER_AT)]
    steps += [(_EQUAL, 0, 3, _TGKILL[column]), _argument(0), (_EQUAL, 1, 0, process), _refuse(_EPERM)]
    steps += [(_LOAD, 0, 0, _NUMBER_AT)]
    steps += [(_EQUAL, 0, 4, _MMAP[column]), _argument(3), (_AND, 0, 0, _SHARED_ANONYMOUS)]
    steps += [(_EQUAL, 0, 1, _SHARED_ANONYMOUS), _refuse(_EPERM)]
    return [*steps, (_RETURN, 0, 0, _ALLOW)]


def _refuse(number: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | number)


def _argument(place: int) -> Instruction:
    """Load the low half of an argument; both machines are little-endian."""
    return (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * place)
