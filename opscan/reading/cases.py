"""Generated case files: JSON lists of concrete cases.

Platforms add keys of their own, so unknown keys mean nothing here. A value of the wrong type makes the case unusable:
it is left out with a fault, since a case without its shapes would look like one that needs no standard.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opscan.model import Case, CaseFile, CaseInput, Fault, Source, Span
from opscan.reading.checks import kind_of
from opscan.reading.json_text import duplicate_keys, elements, last_member, skip_blanks
from opscan.reading.positions import Lines, span_at

_LOOKS_LIKE_CASES = re.compile(r"\s*\[\s*\{")
_CASE_KEYS = re.compile(r"[\"'](?:inputs|standard)[\"']")
_NEAR_START = 4096


@dataclass(frozen=True, slots=True)
class CaseSpans:
    """Where one case stands, and its `standard` and `standard.acc` values where it has them."""

    case: Span
    standard: Span | None = None
    acc: Span | None = None


class _Unusable(Exception):
    """One case cannot be read; the message says why."""


class _Pairs:
    """Builds objects and notices keys that stand twice."""

    def __init__(self) -> None:
        self.duplicates = False

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        if len(built) != len(pairs):
            self.duplicates = True
        return built


def read_cases(source: Source) -> CaseFile | Fault | None:
    """The cases of a JSON text; None where it is something else, a fault where it is broken before the first case."""
    text = source.text
    pairs = _Pairs()
    decoder = json.JSONDecoder(object_pairs_hook=pairs)
    faults: list[Fault] = []
    try:
        document = decoder.decode(text)
    except (ValueError, RecursionError) as error:
        if not looks_like_cases(text):
            return None
        faults.append(syntax_fault(text, error))
        document = [value for value, _, _ in elements(text, skip_blanks(text, 0), decoder)]
        if not document:
            return faults[0]
    if not _are_cases(document):
        return faults[0] if faults else None
    cases, case_faults = _cases(source, document)
    faults += case_faults
    if pairs.duplicates:
        faults += _duplicate_key_faults(text)
    return CaseFile(source, tuple(cases), tuple(faults))


def case_from(index: int, entry: Any) -> Case | str:
    """The case of one entry of a case file's list, or why it is none."""
    try:
        return _case(index, entry)
    except _Unusable as error:
        return str(error)


def looks_like_cases(text: str) -> bool:
    """Whether a text that is no JSON was meant as a case file."""
    return _LOOKS_LIKE_CASES.match(text) is not None and _CASE_KEYS.search(text[:_NEAR_START]) is not None


def syntax_fault(text: str, error: Exception) -> Fault:
    if isinstance(error, json.JSONDecodeError):
        end = len(text.rstrip())
        if error.pos >= end or error.msg.startswith("Unterminated string"):
            message = f"the file is cut off: {error.msg[0].lower()}{error.msg[1:]}; the cases before it are read"
        else:
            message = f"not JSON: {error.msg[0].lower()}{error.msg[1:]}"
        return Fault("json-syntax", message, span_at(text, min(error.pos, len(text))))
    reason = "nested too deeply" if isinstance(error, RecursionError) else "a number has too many digits"
    return Fault("json-syntax", f"not readable: {reason}", span_at(text, 0))


def locate(case_file: CaseFile, indices: Sequence[int]) -> Mapping[int, CaseSpans]:
    """The spans of the cases with these positions in the file; positions it does not have are left out."""
    text = case_file.source.text
    wanted = set(indices)
    found: dict[int, CaseSpans] = {}
    if not wanted:
        return found
    lines = Lines(text)
    last = max(wanted)
    for index, (_, start, end) in enumerate(elements(text, skip_blanks(text, 0))):
        if index in wanted:
            found[index] = _case_spans(text, lines, start, end)
        if index >= last:
            break
    return found


def _case_spans(text: str, lines: Lines, start: int, end: int) -> CaseSpans:
    standard = last_member(text, start, "standard")
    if standard is None:
        return CaseSpans(lines.span(start, end))
    acc = last_member(text, standard.start, "acc")
    return CaseSpans(
        lines.span(start, end),
        lines.span(standard.start, standard.end),
        lines.span(acc.start, acc.end) if acc else None,
    )


def _are_cases(document: Any) -> bool:
    return isinstance(document, list) and any(
        isinstance(entry, dict)
        and "inputs" in entry
        and ("name" in entry or "aclnn_name" in entry or "standard" in entry)
        for entry in document
    )


def _cases(source: Source, document: list[Any]) -> tuple[list[Case], list[Fault]]:
    cases: list[Case] = []
    problems: dict[int, list[str]] = {}
    seen: dict[tuple[Any, Any], int] = {}
    for index, entry in enumerate(document):
        try:
            case = _case(index, entry)
        except _Unusable as error:
            problems[index] = [f"case {index} is left out: {error}"]
            continue
        cases.append(case)
        if case.id is not None:
            first = seen.setdefault((case.name, repr(case.id)), index)
            if first != index:
                problems[index] = [f"case {index} has the name and id of case {first}; ATK needs them unique"]
    if not problems:
        return cases, []
    spans = locate(CaseFile(source, ()), list(problems))
    return cases, list(_case_faults(problems, spans))


def _case_faults(problems: Mapping[int, list[str]], spans: Mapping[int, CaseSpans]) -> Iterator[Fault]:
    for index, messages in problems.items():
        span = spans[index].case if index in spans else None
        for message in messages:
            yield Fault("duplicate-key" if "unique" in message else "wrong-type", message, span)


def _duplicate_key_faults(text: str) -> list[Fault]:
    lines = Lines(text)
    return [
        Fault(
            "duplicate-key",
            f"the key {member.key!r} stands twice in one object; readers take this one",
            lines.span(member.key_start, member.key_end),
        )
        for member in sorted(duplicate_keys(text, skip_blanks(text, 0)), key=lambda member: member.key_start)
    ]


def _case(index: int, entry: Any) -> Case:
    if not isinstance(entry, dict):
        raise _Unusable(f"it is {kind_of(entry)}, not an object")
    standard = entry.get("standard")
    if standard is not None and not isinstance(standard, dict):
        raise _Unusable(f"`standard` is {kind_of(standard)}, not an object")
    receiver = entry.get("tensor_input")
    return Case(
        index=index,
        id=entry.get("id"),
        name=_text(entry, "name"),
        inputs=_inputs(entry.get("inputs"), "inputs"),
        acc=standard.get("acc") if standard else None,
        aclnn_name=_text(entry, "aclnn_name"),
        api=_text(entry, "api") or "pytorch",
        api_type=_text(entry, "api_type") or "function",
        backward=_flag(entry, "backward", False),
        outputs=_outputs(entry),
        tensor_input=None if receiver is None else _input(receiver, "tensor_input"),
        method_inputs=_inputs(entry.get("method_inputs"), "method_inputs"),
        is_boundary=_flag(entry, "is_boundary", False),
    )


def _inputs(value: Any, where: str) -> tuple[CaseInput, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise _Unusable(f"`{where}` is {kind_of(value)}, not a list")
    return tuple([_input(item, f"{where}[{index}]") for index, item in enumerate(value)])


def _input(value: Any, where: str) -> CaseInput:
    if isinstance(value, list):
        members = _inputs(value, where)
        first = members[0] if members else CaseInput(None, "tensors")
        return CaseInput(first.name, first.kind, first.dtype, backward=first.backward, members=members)
    if not isinstance(value, dict):
        raise _Unusable(f"`{where}` is {kind_of(value)}, not an object")
    kind = value.get("type")
    if not isinstance(kind, str):
        raise _Unusable(f"`{where}.type` is {kind_of(kind)}, not text")
    return CaseInput(
        name=_text(value, "name", where),
        kind=kind,
        dtype=_text(value, "dtype", where),
        shape=_shape(value.get("shape"), where),
        values=value.get("range_values"),
        backward=_flag(value, "backward", True, where),
        required=_flag(value, "required", True, where),
    )


def _shape(value: Any, where: str) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise _Unusable(f"`{where}.shape` is {kind_of(value)}, not a list")
    for size in value:
        if type(size) is not int or size < 0:
            held = f"{size}" if type(size) is int else kind_of(size)
            raise _Unusable(f"`{where}.shape` holds {held}, not a size")
    return tuple(value)


def _text(entry: Mapping[str, Any], key: str, where: str = "") -> str | None:
    value = entry.get(key)
    if value is None or isinstance(value, str):
        return value
    raise _Unusable(f"`{where}{'.' if where else ''}{key}` is {kind_of(value)}, not text")


def _flag(entry: Mapping[str, Any], key: str, default: bool, where: str = "") -> bool:
    value = entry.get(key)
    if value is None:
        return default
    if isinstance(value, bool):
        return value
    raise _Unusable(f"`{where}{'.' if where else ''}{key}` is {kind_of(value)}, not true or false")


def _outputs(entry: Mapping[str, Any]) -> int | None:
    value = entry.get("outputs")
    if value is None or type(value) is int:
        return value
    raise _Unusable(f"`outputs` is {kind_of(value)}, not a number")
