"""Paths in words a person can read: `numel(output:0) / numel(other)`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from opscan.numerics.dtypes import ATK_DTYPES
from opscan.numerics.paths.asking import NO_ANSWER
from opscan.numerics.paths.path import Outcome, Path, TensorPath
from opscan.numerics.paths.terms import Term

_PARAMETER = re.compile(r"(?:^| )(#?\w+):")


def describe_paths(paths: Sequence[Path]) -> Iterator[str]:
    """Lines that say what the paths of one form say."""
    for path in paths:
        names = tensor_names(path.form)
        dtypes = ["/".join(dict.fromkeys(ATK_DTYPES.get(d, d) for d in combination)) for combination in path.dtypes]
        yield f"  {path.form}"
        yield f"    in {', '.join(dtypes)}"
        for tensor in path.tensors:
            yield from _tensor_lines(tensor, names)


def tensor_names(form: str) -> list[str]:
    """What the tensors of a form are called, in the order in which terms count them."""
    names: list[str] = []
    parts = _PARAMETER.split(form)
    for name, word in zip(parts[1::2], parts[2::2], strict=True):
        count = len(re.findall(r"\bT0?\b", re.sub(r"'[^']*'", "", word)))
        names += [name] if count == 1 and not word.startswith("[") else [f"{name}[{place}]" for place in range(count)]
    return names


def _tensor_lines(tensor: TensorPath, names: Sequence[str]) -> Iterator[str]:
    title = re.sub(r"@(\d+)", lambda match: _at(names, int(match.group(1))), tensor.name)
    shape = "" if tensor.shape is None else f"  shape {_words(tensor.shape, names)}"
    yield f"    {title}{shape}"
    for answers, place in tensor.table.items():
        told = zip(tensor.questions, answers, strict=True)
        conditions = [_condition(term, answer, names) for term, answer in told if answer != NO_ANSWER]
        when = f"{' and '.join(conditions)}: " if conditions else ""
        yield f"      {when}{_outcome(tensor.outcomes[place], names)}"


def _condition(term: Term, answer: str, names: Sequence[str]) -> str:
    if term[0] == "same":
        return f"{_words(term[1], names)} {'is' if answer == 'yes' else 'is not'} {_words(term[2], names)}"
    if term[0] == "more":
        sign = {"same": "=", "more": ">", "less": "<"}[answer]
        return f"{_words(term[1], names)} {sign} {_words(term[2], names)}"
    if term[0] == "power":
        return f"{_words(term[1], names)} is {'a' if answer == 'yes' else 'no'} power of two"
    if term[0] == "kind":
        return f"{term[1]} is {answer}"
    return f"{_words(term, names)} {'> 2' if answer == 'n' else f'= {answer}'}"


def _outcome(outcome: Outcome, names: Sequence[str]) -> str:
    parts = [outcome.numeric_class]
    if outcome.once:
        parts.append("correctly rounded")
    if outcome.extent != 1:
        parts.append(f"extent {_words(outcome.extent, names)}")
    if outcome.cause:
        parts.append(f"by {outcome.cause}")
    if outcome.depends_on:
        parts.append(f"depends on {', '.join(outcome.depends_on)}")
    return ", ".join(parts)


def _words(term: Term, names: Sequence[str]) -> str:
    if not isinstance(term, list):
        return str(term)
    head, *rest = term
    if head == "tensor":
        return _at(names, rest[0])
    if head == "output":
        return f"output:{rest[0]}"
    if head in ("value", "listed"):
        return str(rest[0])
    if head == "item":
        return f"{rest[0]}[{rest[1]}]"
    if head == "broadcast":
        return f"broadcast({', '.join(_at(names, place) for place in rest) or 'all'})"
    inner = [_words(part, names) for part in rest]
    if head in _SIGNS:
        return _SIGNS[head].join(f"({part})" if " " in part else part for part in inner)
    return f"{head}({', '.join(inner)})"


_SIGNS: dict[str, str] = {"per": " / ", "times": " * ", "plus": " + "}


def _at(names: Sequence[str], place: Any) -> str:
    return names[place] if isinstance(place, int) and place < len(names) else f"tensor {place}"
