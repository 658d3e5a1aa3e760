"""The filter of system calls, stepped through on paper for both machines: one of them is never at hand."""

from __future__ import annotations

import pytest

from opscan.running.isolation.syscalls import Instruction, program

ALLOW, KILL, EPERM, ENOSYS = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
PROCESS = 4321
THREAD, SHARED_ANONYMOUS, PRIVATE_ANONYMOUS, SHARED = 0x3D0F00, 0x21, 0x22, 0x1

# what is called, its numbers on x86-64 and aarch64 (kernel headers), its arguments, and what becomes of it
CALLS: list[tuple[str, int, int, list[int], int]] = [
    ("read", 0, 63, [], ALLOW),
    ("openat", 257, 56, [], ALLOW),
    ("futex", 202, 98, [], ALLOW),
    ("exit_group", 231, 94, [], ALLOW),
    ("socket", 41, 198, [2, 1], EPERM),
    ("socketpair", 53, 199, [1, 1], EPERM),
    ("connect", 42, 203, [], EPERM),
    ("execve", 59, 221, [], EPERM),
    ("execveat", 322, 281, [], EPERM),
    ("clone for a process", 56, 220, [0x1200011], EPERM),
    ("clone for a thread", 56, 220, [THREAD], ALLOW),
    ("clone3", 435, 435, [], ENOSYS),
    ("kill", 62, 129, [1, 9], EPERM),
    ("tgkill of itself", 234, 131, [PROCESS, PROCESS, 6], ALLOW),
    ("tgkill of another", 234, 131, [1, 1, 9], EPERM),
    ("mmap, private", 9, 222, [0, 4096, 3, PRIVATE_ANONYMOUS], ALLOW),
    ("mmap of a file", 9, 222, [0, 4096, 3, SHARED], ALLOW),
    ("mmap, shared and of no file", 9, 222, [0, 4096, 3, SHARED_ANONYMOUS], EPERM),
    ("memfd_create", 319, 279, [], EPERM),
    ("ptrace", 101, 117, [], EPERM),
    ("process_vm_readv", 310, 270, [], EPERM),
    ("mount", 165, 40, [], EPERM),
    ("unshare", 272, 97, [], EPERM),
    ("bpf", 321, 280, [], EPERM),
    ("io_uring_setup", 425, 425, [], EPERM),
    ("keyctl", 250, 219, [], EPERM),
]


def verdict(steps: list[Instruction], number: int, architecture: int, arguments: list[int]) -> int:
    """What a classic BPF program returns for a call."""
    data = {0: number, 4: architecture} | {16 + 8 * place: value & 0xFFFFFFFF for place, value in enumerate(arguments)}
    accumulator, at = 0, 0
    while True:
        code, yes, no, operand = steps[at]
        at += 1
        if code == 0x20:
            accumulator = data.get(operand, 0)
        elif code == 0x54:
            accumulator &= operand
        elif code == 0x06:
            return operand
        else:
            holds = {0x15: accumulator == operand, 0x35: accumulator >= operand, 0x45: bool(accumulator & operand)}
            at += yes if holds[code] else no


@pytest.mark.parametrize("machine", ARCHITECTURES)
@pytest.mark.parametrize(("name", "x86", "arm", "arguments", "expected"), CALLS, ids=[row[0] for row in CALLS])
def test_the_filter(machine: str, name: str, x86: int, arm: int, arguments: list[int], expected: int) -> None:
    del name
    number = x86 if machine == "x86_64" else arm
    assert verdict(program(machine, PROCESS), number, ARCHITECTURES[machine], arguments) == expected


def test_calls_of_other_tables_are_refused() -> None:
    steps = program("x86_64", PROCESS)
    assert verdict(steps, 0x40000000 + 41, ARCHITECTURES["x86_64"], []) == EPERM
    assert verdict(steps, 0, 0x40000003, []) == KILL
    assert verdict(program("aarch64", PROCESS), 63, 0x40000028, []) == KILL


def test_jumps_fit_in_a_byte_and_lead_forward() -> None:
    for machine in ARCHITECTURES:
        steps = program(machine, PROCESS)
        assert len(steps) < 256
        for at, (code, yes, no, _) in enumerate(steps):
            assert code == 0x06 or at + 1 + max(yes, no) < len(steps)
        assert steps[-1][0] == 0x06
