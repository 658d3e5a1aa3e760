"""Examine one call: run it, ask for both answers, and hold them against each other and against the oracles."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import contextlib
import re
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from opscan.checking.calls import DATA, FreshCall, Inexpressible, case_of, function_of, labels, subject_of
from opscan.checking.comparing import Remark, contradiction, differences, is_explained, looseness, pairs, plain_name
from opscan.checking.described import entries, function_of_entry
from opscan.checking.naming import parameters_of
from opscan.checking.runs import Run, Subject, run
from opscan.checking.truths import Truth, observe
from opscan.model import Case, Classification
from opscan.numerics.classify import classify
from opscan.numerics.declared.answering import declare
from opscan.numerics.dtypes import ATK_DTYPES

_OTHER_DATA = ("mixed", "positive", "mixed")
"""What roundings are looked for in besides."""
FAN = 72
"""Most elements of a call that are perturbed one at a time."""
_BY_VALUES = re.compile(
    r"index .*out of|out of bounds|indices|singular|positive.definite|converge|probabilit|all elements"
    r"|expected .*values|offsets|monoton|contain|target .*out|class values|negative entr|nan |histogram|sorted|repeats"
    r"|batch_size|p_in|tried to access index|eigenvectors|zerodivision|number of elements of source"
    r"|cannot be negative|q values|is out of range|invalid max index|pivots passed|allocated size|argument #2 'targets'"
)
"""What an operator says that refuses the values it was given, not the call."""
_NO_KERNEL = re.compile(
    r"not implemented for|not supported|unsupported|not support|no kernel|only support|expected .*(dtype|scalar type)"
    r"|expected at most|positional argument|expected a value of type|cannot be followed"
    r"|could not run|mkldnn|mkl fft|cuda|on the cpu|not yet implemented|not currently"
)


class OutOfTime(Exception):
    """The call ran longer than it may."""


@dataclass
class Examined:
    """What came of one call. `outcome`: accepted, refused, without-kernel, inexpressible, out-of-time."""

    outcome: str
    reason: str = ""
    declared: bool = False
    traced: bool = False
    looked: bool = False
    remarks: list[Remark] = field(default_factory=list)


@contextlib.contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raises OutOfTime inside of the block once it has run so long. In the main thread only."""

    def ring(*_: object) -> None:
        raise OutOfTime

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def examine(call: FreshCall, seed: int, *, oracles: bool, seconds: float) -> Examined:
    """Nothing is raised. `oracles`: also ask these, which takes about fifty times as long."""
    try:
        with limit(seconds):
            case = case_of(call)
            return _examined(call, case, seed, oracles=oracles)
    except Inexpressible as problem:
        return Examined("inexpressible", str(problem))
    except OutOfTime:
        return Examined("out-of-time")


def _examined(call: FreshCall, case: Case, seed: int, *, oracles: bool) -> Examined:
    ran = first_run(call, seed)
    declared, traced = declare(case), classify(case)
    answers = [(who, known) for who, known in (("declared", declared), ("traced", traced)) if known and known.tensors]
    found = Examined("accepted", declared=bool(declared and declared.tensors), traced=bool(traced.tensors))
    if isinstance(ran, str):
        found.outcome, found.reason = _refusal(ran), ran
        if found.outcome == "refused":
            for who, _ in answers:
                found.remarks.append(Remark("refused-but-answered", "", f"{who}, though torch says: {ran}"))
        return found
    what, first = ran
    if declared is not None and declared.tensors and traced.tensors:
        found.remarks += differences(declared, traced)
    if declared is not None and not declared.tensors and traced.tensors:
        found.remarks.append(Remark("differing", "", f"declared: {declared.reason}; a trace answers"))
    names = dict(gradient_names(call, first))
    for who, known in answers:
        found.remarks += _of_other_form(who, known, first, names)
    if oracles:
        truths = look(call, what, first, seed)
        found.looked = True
        for who, known in answers:
            found.remarks += _held(who, call.name, known, truths, names)
    return found


def look(call: FreshCall, what: Subject, first: Run, seed: int) -> dict[str, Truth]:
    """What the oracles see of a call that has been run."""
    function = _function(call)
    others = [subject_of(call, data, seed + 1 + place, function) for place, data in enumerate(_OTHER_DATA)]
    return observe(what, first=first, fan_limit=FAN, others=others)


def first_run(call: FreshCall, seed: int) -> tuple[Subject, Run] | str:
    """The run on the first data that the operator takes; why it takes none."""
    reason = ""
    order = DATA if seed % 2 else (DATA[1], DATA[0], *DATA[2:])
    for data in order:
        try:
            what = subject_of(call, data, seed, _function(call))
            return what, run(what)
        except OutOfTime:
            raise
        except Exception as problem:
            lines = str(problem).strip().splitlines() or [type(problem).__name__]
            answer = f"{type(problem).__name__}: {lines[0][:160]}"
            reason = reason or answer
            if not _BY_VALUES.search(answer.lower()):
                return answer
    return reason


def _function(call: FreshCall) -> Callable[..., Any]:
    return function_of_entry(call.name) if call.name in entries() else function_of(call.name)


def _refusal(answer: str) -> str:
    text = answer.lower()
    if answer.startswith("NotImplementedError") or _NO_KERNEL.search(text):
        return "without-kernel"
    return "refused-by-values" if _BY_VALUES.search(text) else "refused"


def gradient_names(call: FreshCall, first: Run) -> Iterator[tuple[str, str]]:
    """What a run calls each gradient, and what reports call it."""
    leaves = labels(call, parameters_of(call.name))
    for name in first.tensors:
        if name.startswith("grad:"):
            yield name, f"grad:{leaves[int(name.removeprefix('grad:'))]}"


def _of_other_form(who: str, known: Classification, first: Run, names: dict[str, str]) -> Iterator[Remark]:
    """Tensors that the run has and the answer has not, or the other way round, and other shapes and dtypes."""
    tensors = {names.get(name, name): tensor for name, tensor in first.tensors.items()}
    answer = {plain_name(tensor.name): tensor for tensor in known.tensors}
    if set(tensors) != set(answer):
        yield Remark("unequal-tensors", "", f"{who} has {', '.join(answer)}; the run has {', '.join(tensors)}")
    for name in (name for name in answer if name in tensors):
        dtype = str(tensors[name].dtype).removeprefix("torch.")
        dtype = ATK_DTYPES.get(dtype, dtype)
        shape = tuple(tensors[name].shape)
        # a trace takes the largest shape that the values can ask for
        same_shape = shape == answer[name].shape if who == "declared" else len(shape) == len(answer[name].shape)
        if dtype != answer[name].dtype or not same_shape:
            form = f"{answer[name].dtype}{list(answer[name].shape)}, ran as {dtype}{list(tensors[name].shape)}"
            yield Remark("unequal-tensors", name, f"{who} {form}")


def _held(
    who: str, name: str, known: Classification, truths: dict[str, Truth], names: dict[str, str]
) -> Iterator[Remark]:
    for label, tensor, truth in pairs(known, truths, names):
        if truth is None or not truth.numel:
            continue
        if (problem := contradiction(tensor, truth, name)) and not is_explained(problem, name):
            yield Remark("unsound", label, f"{who} {_said(tensor)}: {problem}; {_seen(truth)}")
        elif text := looseness(tensor, truth):
            yield Remark("loose", label, f"{who} {text}")


def _said(tensor: Any) -> str:
    once = " correctly rounded" if tensor.correctly_rounded else ""
    return f"{tensor.numeric_class} {tensor.extent}{once}"


def _seen(truth: Truth) -> str:
    marks = [name for name in ("order", "moved", "split") if getattr(truth, name)]
    exact = "exact" if truth.exact else "rounded once" if truth.rounded_once else "rounded"
    return f"seen: {exact}, fan {truth.fan}{''.join(f', {mark}' for mark in marks)}"
