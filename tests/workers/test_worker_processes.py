"""A trace that crashes, hangs or fills memory takes only its case along: the others are answered, nobody is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from opscan.model import Case
from opscan.numerics import Limits
from opscan.numerics.messages import Answer, Question
from opscan.numerics.tracing import Tracing
from opscan.workers.pool import SPARED_AFTER, WORTH, Workers

PRETENDING = Path(__file__).with_name("pretending_worker.py")
COMMAND = (sys.executable, str(PRETENDING))


@pytest.fixture
def workers() -> Iterator[Workers[Question, Answer]]:
    started = Workers(Limits(processes=2, seconds=1.0, mebibytes=64), Tracing(COMMAND))
    yield started
    started.close()


def ask(workers: Workers[Question, Answer], *names: str) -> list[Answer]:
    return workers.answer([Question(Case(place, place, name, ())) for place, name in enumerate(names)])


def reasons(answers: list[Answer]) -> list[str]:
    return [answer.classification.reason for answer in answers]


def test_answers_keep_their_order_and_come_from_several_processes(workers: Workers[Question, Answer]) -> None:
    names = [f"sleep 0.0{place % 3}" for place in range(40)]
    answers = ask(workers, *names)
    assert reasons(answers) == [f"sleep {place}" for place in range(40)]
    assert len({answer.classification.basis for answer in answers}) == 2
    assert all(answer.lasting for answer in answers)


@pytest.mark.parametrize("count", [40, 2 * WORTH])
def test_more_processes_where_there_is_more_to_do(count: int) -> None:
    processes = Workers(Limits(), Tracing(COMMAND))
    answers = ask(processes, *["sleep 0.002"] * count)
    processes.close()
    wanted = 1 if count < WORTH else min(2, len(os.sched_getaffinity(0)))
    assert len({answer.classification.basis for answer in answers}) == wanted


def test_nothing_is_asked_of_nobody(workers: Workers[Question, Answer]) -> None:
    assert workers.answer([]) == []


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("sleep 30", "ran longer than 1 s"),
        ("signal SIGSEGV", "crashed (signal SIGSEGV): the last words"),
        ("signal SIGKILL", "crashed (signal SIGKILL): the last words"),
        ("signal SIGALRM", "ran longer than 1 s: the last words"),
        ("abort", "crashed (signal SIGABRT)"),
        ("exit 3", "ended its process (exit code 3)"),
        ("exit 0", "ended its process (exit code 0)"),
        ("allocate 10000000000000", "needs more than 64 MiB"),
        ("raise nothing works", "raised ValueError: nothing works"),
    ],
)
def test_only_the_case_itself_is_lost(workers: Workers[Question, Answer], name: str, cause: str) -> None:
    answers = ask(workers, *["ok"] * 9, name, *["ok"] * 9)
    assert answers[9].classification.tensors == ()
    assert answers[9].classification.reason == f"the trace of {name} {cause}"
    assert not answers[9].lasting
    assert reasons(answers[:9] + answers[10:]) == [f"ok {place}" for place in range(19) if place != 9]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux bounds the private data of a process")
def test_memory_is_bounded_beyond_what_the_process_has_at_its_start(workers: Workers[Question, Answer]) -> None:
    answers = ask(workers, "allocate 30000000", "allocate 100000000", "ok")
    assert reasons(answers) == ["allocate 0", "the trace of allocate 100000000 needs more than 64 MiB", "ok 2"]


def test_memory_that_others_have_taken_is_not_held_against_a_case() -> None:
    """30 MiB are there for each alone, not for all: they are tried again where nothing else is."""
    single = Workers(Limits(processes=1, seconds=5, mebibytes=64), Tracing(COMMAND))
    answers = ask(single, *["allocate 30000000"] * 5)
    single.close()
    assert reasons(answers) == [f"allocate {place}" for place in range(5)]
    assert len({answer.classification.basis for answer in answers}) > 1


def test_a_case_that_crashes_once_is_tried_again(workers: Workers[Question, Answer], tmp_path: Path) -> None:
    answers = ask(workers, *["ok"] * 3, f"first {tmp_path / 'tried'}", "ok")
    assert reasons(answers) == ["ok 0", "ok 1", "ok 2", "first 3", "ok 4"]
    assert answers[3].lasting


def test_an_operator_that_keeps_failing_is_not_tried_for_ever(workers: Workers[Question, Answer]) -> None:
    started = time.monotonic()
    told = reasons(ask(workers, *["sleep 30"] * 40, "ok"))
    assert time.monotonic() - started < 30
    tried = [reason for reason in told[:40] if reason == "the trace of sleep 30 ran longer than 1 s"]
    assert SPARED_AFTER <= len(tried) <= SPARED_AFTER + 2
    spared = [reason for reason in told[:40] if "was not tried: " in reason and "others ran longer than 1 s" in reason]
    assert len(tried) + len(spared) == 40
    assert told[40] == "ok 40"


def test_what_an_operator_prints_or_reads_does_no_harm(workers: Workers[Question, Answer]) -> None:
    assert reasons(ask(workers, "print \0nonsense", "read", "ok")) == ["print 0", "read 1", "ok 2"]


def test_a_missing_torch_is_told_apart(workers: Workers[Question, Answer]) -> None:
    answer = ask(workers, "import No module named 'torch'")[0]
    assert "PyTorch" in answer.missing
    assert "No module named 'torch'" in answer.classification.reason
    assert not answer.lasting


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("/nowhere/python",), "No such file or directory"),
        ((sys.executable, "-c", "raise SystemExit('no room')"), "ended its process (exit code 1): no room"),
        ((sys.executable, "-c", "print('x' * 100)"), "ended its process"),
        ((sys.executable, "-c", "import os; os.abort()"), "crashed (signal SIGABRT)"),
    ],
)
def test_processes_that_do_not_start_leave_everything_unknown(command: tuple[str, ...], words: str) -> None:
    broken = Workers(Limits(), Tracing(command))
    for answer in ask(broken, "ok", "ok"):
        assert answer.classification.reason.startswith("no process can be started to trace in: ")
        assert words in answer.classification.reason
        assert not answer.lasting
    broken.close()


def test_closed_workers_start_again(workers: Workers[Question, Answer]) -> None:
    first = ask(workers, "ok")[0]
    workers.close()
    assert not is_alive(int(first.classification.basis))
    assert reasons(ask(workers, "ok")) == ["ok 0"]


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and waits for its parent to notice does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def comes_true(condition: object, seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.02)
    return False


SCRIPT = """
import sys
from opscan.model import Case
from opscan.numerics import Limits, Question
from opscan.numerics.tracing import Tracing
from opscan.workers.pool import Workers
workers = Workers(Limits(2, float(sys.argv[2])), Tracing((sys.executable, sys.argv[1])))
print(*(answer.classification.basis for answer in workers.answer([
    Question(Case(0, 0, name, ())) for name in sys.argv[3:]
])), flush=True)
sys.stdin.read()
"""


def start(*names: str, seconds: int = 60) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, str(PRETENDING), str(seconds), *names]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_interrupted_at_work_nobody_is_left(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    audit = start(f"linger {note}", "ok")
    assert comes_true(lambda: note.exists() and note.read_text())
    audit.send_signal(signal.SIGINT)
    _, errors = audit.communicate(timeout=20)
    assert "KeyboardInterrupt" in errors
    assert comes_true(lambda: not is_alive(int(note.read_text())), 5)


def test_killed_at_work_the_processes_end_themselves(tmp_path: Path) -> None:
    """Soon after the time that the case had, even where it never comes back to Python."""
    note = tmp_path / "pid"
    audit = start(f"linger {note}", "ok", seconds=2)
    assert comes_true(lambda: note.exists() and note.read_text())
    audit.kill()
    audit.communicate(timeout=20)
    assert is_alive(int(note.read_text()))
    assert comes_true(lambda: not is_alive(int(note.read_text())), 10)


@pytest.mark.parametrize("ending", ["normal", signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_ended_at_rest_nobody_is_left(ending: signal.Signals | str) -> None:
    audit = start("ok", "ok", "ok", "ok")
    assert audit.stdout is not None
    pids = {int(word) for word in audit.stdout.readline().split()}
    assert pids
    assert all(is_alive(pid) for pid in pids)
    if isinstance(ending, signal.Signals):
        audit.send_signal(ending)
    audit.communicate(timeout=20)
    assert comes_true(lambda: not any(is_alive(pid) for pid in pids), 5)


def test_a_closed_standard_input_is_no_hindrance() -> None:
    command = ["sh", "-c", 'exec "$0" "$@" <&- ', sys.executable, "-c", SCRIPT.replace("sys.stdin.read()", "")]
    done = subprocess.run([*command, str(PRETENDING), "60", "ok", "read"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == 2
