"""Derive the paths of one operator: a search for each form, for fewer ranks and other dtypes where it takes these."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import eq
from random import Random
from typing import Any

from opscan.numerics.binding import Binding
from opscan.numerics.operators import Operator
from opscan.numerics.paths import sampling
from opscan.numerics.paths.learning import NotGeneral
from opscan.numerics.paths.path import Path
from opscan.numerics.paths.search import LEAST_ROWS, Derivation, Search, TooFew, main_dtype
from opscan.numerics.paths.signature import Instance, Unshapely, read_call
from opscan.numerics.paths.tracing import Traces, same_classes

DTYPES = (
    "float32", "float16", "bfloat16", "float64", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64",
)  # fmt: skip
OVERTIME = 2
"""The form that is derived when the time is over may take so many times as long in all."""
FLOATS = ("float32", "float16", "bfloat16")
MOST_MIXES = 2
"""Mixes of dtypes that are tried beside the most frequent one."""
MOST_PATHS = 4
"""Paths of one form for different dtypes."""
MOST_RANKS = 5


def derive(operator: Operator, seeds: Sequence[Binding], describe: Any, *, seconds: float, seed: int = 0) -> Derivation:
    """The paths of every form that the seeds show, within `seconds` of processor time."""
    derivation, started = Derivation(operator.name), time.process_time()
    traces = Traces(operator, describe, until=started + OVERTIME * seconds)
    for form, group in _forms(operator, seeds):
        if time.process_time() - started > seconds:
            derivation.failures[form] = "out of time"
            continue
        _derive_form(traces, form, group, derivation, seed)
    derivation.traces, derivation.seconds = traces.count, time.process_time() - started
    return derivation


def _derive_form(traces: Traces, form: str, seeds: list[Binding], derivation: Derivation, seed: int) -> None:
    """A path for all ranks; where there is none, one for each of the usual ranks. Then for other mixes of dtypes."""
    first, *others = _mixes(seeds)
    problem = _derive(Search(traces, form, first, Random(seed), derivation), DTYPES)
    if problem is not None:
        derivation.failures[form] = problem
        calls = [read_call(binding, traces.operator.parameters)[1] for binding in first]
        known = Counter(tuple(map(len, call.shapes)) for call in calls)
        usual, *_ = known.most_common(1)
        if _derive(Search(traces, form, first, Random(seed), derivation, _usual_ranks(calls[0], usual[0])), DTYPES):
            for ranks, _ in known.most_common(MOST_RANKS):
                search = Search(traces, form, first, Random(seed), derivation, partial(eq, ranks))
                if _derive(search, DTYPES) is None:
                    derivation.failures.pop(form, None)
        else:
            derivation.failures.pop(form, None)
    for mix in others[:MOST_MIXES]:
        _derive(Search(traces, form, mix, Random(seed), derivation), FLOATS)


def _usual_ranks(call: Instance, usual: Sequence[int]) -> Callable[[Sequence[int]], bool]:
    """No tensor without axes, and indices of the rank that they mostly have."""
    fixed = [place for place, tensor in enumerate(call.tensors) if "int" in tensor.dtype and len(usual) > 1]

    def fits(ranks: Sequence[int]) -> bool:
        return min(ranks, default=1) > 0 and all(ranks[place] == usual[place] for place in fixed)

    return fits


def _mixes(seeds: Sequence[Binding]) -> list[list[Binding]]:
    """The seeds by the dtypes that stand beside the main one, the frequent ones first; then with the other indices."""
    groups: dict[tuple[str, ...], list[Binding]] = {}
    for binding in seeds:
        main = main_dtype(binding)
        mix = tuple("main" if tensor.dtype == main else tensor.dtype for tensor in binding.tensors())
        groups.setdefault(mix, []).append(binding)
    found = sorted(groups.values(), key=len, reverse=True)
    for index, other in (("int64", "int32"), ("int32", "int64")):
        if any(tensor.dtype == index for tensor in found[0][0].tensors()) and main_dtype(found[0][0]) != index:
            found.append([sampling.in_dtypes(binding, {index: other}) for binding in found[0]])
    return found


def _derive(search: Search, dtypes: Sequence[str]) -> str | None:
    """One path for as many dtypes as say the same, the others get paths of their own.

    Why there is none where the main dtype has none.
    """
    left = [dtype for dtype in dict.fromkeys((search.main, *dtypes)) if not search.is_held(dtype)]
    problem, found = None, 0
    while left and found < MOST_PATHS:
        first, *others = left
        try:
            path = search.path(first)
        except (NotGeneral, TooFew) as reason:
            problem = str(reason) if first == search.main else problem
            if first == search.main and search.is_general:
                break  # it is tried again for fewer ranks
            left = others if isinstance(reason, TooFew) else [d for d in others if _family(d) != _family(first)]
            continue
        covered = [dtype for dtype in others if search.holds(path, dtype)]
        proved = tuple(search.dtypes(dtype) for dtype in (first, *covered))
        search.keep(replace(path, dtypes=proved, separable=search.is_separable(path, first)))
        left = [dtype for dtype in others if dtype not in covered]
        found += 1
    return problem


def _family(dtype: str) -> str:
    return "whole" if "int" in dtype else dtype.rstrip("0123456789")


def _forms(operator: Operator, seeds: Sequence[Binding]) -> Iterator[tuple[str, list[Binding]]]:
    """The seeds by form, the frequent ones first."""
    groups: dict[str, list[Binding]] = {}
    for binding in seeds:
        try:
            signature, _ = read_call(binding, operator.parameters)
        except Unshapely:
            continue
        if "T0" not in signature.form:
            groups.setdefault(signature.form, []).append(binding)
    return iter(sorted(groups.items(), key=lambda item: -len(item[1])))


def holds_as(paths: Sequence[Path], traces: Traces, paths_as: Sequence[str], calls: Sequence[Binding]) -> bool:
    """Whether the paths of another name hold for `calls` of this one, whose parameters they call `paths_as`."""
    renamed = dict(zip(traces.operator.parameters, paths_as, strict=False))
    told = 0
    for binding in calls:
        try:
            row = traces.row(binding)
            signature, call = read_call(binding, paths_as, renamed)
        except (NotGeneral, Unshapely):
            continue
        if row is None:
            continue
        for path in paths:
            if path.form == signature.form and signature.dtypes in path.dtypes:
                found = path.at(call)
                if found is not None and not same_classes(found, tuple(row.tensors.values())):
                    return False
                told += found is not None
    return told >= LEAST_ROWS
