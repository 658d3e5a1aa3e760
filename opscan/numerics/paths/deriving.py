"""Derive the paths of one operator: trace, learn, look for calls that contradict, learn again, prove on fresh calls."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from opscan.model import TensorClass
from opscan.numerics.binding import Binding
from opscan.numerics.operators import NotFollowed, Operator
from opscan.numerics.paths import sampling
from opscan.numerics.paths.guarding import guards, sharpened
from opscan.numerics.paths.learning import NotGeneral, Row, learn
from opscan.numerics.paths.path import Path
from opscan.numerics.paths.signature import Instance, Unshapely, read_call

FIRST_ROWS = 24
PROOF = 40
"""So many fresh calls in a row must agree."""
LEAST_PROOF = 12
"""So many must, where there are no more."""
SECOND_OPINIONS = (1, 2)
"""Variants of the learner that are asked which calls are not decided yet."""
POOL = 120
"""Calls that are looked through for such ones."""
MOST_DISPUTED = 6
MOST_ROWS = 200
MOST_TRIES = 5
"""Draws per call that the operator takes."""
HOPELESS = 40
"""Draws after which an operator that has taken none is not asked any more."""
DTYPES = (
    "float32", "float16", "bfloat16", "float64", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64",
)  # fmt: skip
DTYPE_ROWS = 3
DTYPE_DRAWS = 12
LEAST_ROWS = 3
FLOATS = ("float32", "float16", "bfloat16")
MOST_MIXES = 2
"""Mixes of dtypes that are tried beside the most frequent one."""
MOST_PATHS = 4
"""Paths of one form for different dtypes."""
MOST_RANKS = 5
MOST_NEEDING_DATA = 60
"""Calls on which an operator may turn out to look at values before its other calls are not tried any more."""
MOST_LEAKS = 0.03
"""Share of all drawn calls that are refused and that a path may answer all the same."""


@dataclass
class Derivation:
    """What became of one operator. `failures`: the forms that have no path, and why."""

    name: str
    paths: list[Path] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    traces: int = 0
    seconds: float = 0.0
    leaks: int = 0
    refused: int = 0


class Traces:
    """Traces the calls of one operator and counts them."""

    def __init__(self, operator: Operator, describe: Any) -> None:
        self.operator = operator
        self.count = 0
        self.taken = 0
        self.needing_data = 0
        self._describe = describe

    def row(self, binding: Binding) -> Row | None:
        """The traced call; None where the operator refuses it, or needs data. Raises NotGeneral where it often does."""
        from opscan.numerics.running import NeedsData, OutOfMemory, Refused, trace

        self.count += 1
        try:
            _, call = read_call(binding, self.operator.parameters)
            found = trace(self.operator, binding, None, real=False)
        except (Refused, OutOfMemory, Unshapely):
            return None
        except NeedsData as problem:
            self.needing_data += 1
            if self.needing_data > max(MOST_NEEDING_DATA, self.taken):
                raise NotGeneral(str(problem)) from None
            return None
        except NotFollowed as problem:
            raise NotGeneral(str(problem)) from None
        tensors = [self._describe(*entry) for entry in found]
        if any(tensor.reason for tensor in tensors):
            raise NotGeneral(next(tensor.reason for tensor in tensors if tensor.reason))
        self.taken += 1
        return Row(call, {_general_name(tensor, call): tensor for tensor in tensors})


def _general_name(tensor: TensorClass, call: Instance) -> str:
    head, _, label = tensor.name.partition("grad:") if tensor.role == "gradient" else tensor.name.partition("(")
    for place, given in enumerate(call.tensors):
        if tensor.role == "gradient" and given.label == label:
            return f"grad:@{place}"
        if tensor.role == "output" and label and given.label == label.rstrip(")"):
            return f"{head}(@{place})"
    return tensor.name


def derive(operator: Operator, seeds: Sequence[Binding], describe: Any, *, seconds: float, seed: int = 0) -> Derivation:
    """The paths of every form that the seeds show, within `seconds` of processor time."""
    derivation, started = Derivation(operator.name), time.process_time()
    traces = Traces(operator, describe)
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
    problem = _derive(_Search(traces, form, first, Random(seed), derivation), DTYPES)
    if problem is not None:
        derivation.failures[form] = problem
        calls = [read_call(binding, traces.operator.parameters)[1] for binding in first]
        known = Counter(tuple(map(len, call.shapes)) for call in calls)
        usual, *_ = known.most_common(1)
        if _derive(_Search(traces, form, first, Random(seed), derivation, _usual_ranks(calls[0], usual[0])), DTYPES):
            for ranks, _ in known.most_common(MOST_RANKS):
                search = _Search(traces, form, first, Random(seed), derivation, lambda given, one=ranks: given == one)
                if _derive(search, DTYPES) is None:
                    derivation.failures.pop(form, None)
        else:
            derivation.failures.pop(form, None)
    for mix in others[:MOST_MIXES]:
        _derive(_Search(traces, form, mix, Random(seed), derivation), FLOATS)


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
        main = _main_dtype(binding)
        mix = tuple("main" if tensor.dtype == main else tensor.dtype for tensor in binding.tensors())
        groups.setdefault(mix, []).append(binding)
    found = sorted(groups.values(), key=len, reverse=True)
    for index, other in (("int64", "int32"), ("int32", "int64")):
        if any(tensor.dtype == index for tensor in found[0][0].tensors()) and _main_dtype(found[0][0]) != index:
            found.append([sampling.in_dtypes(binding, {index: other}) for binding in found[0]])
    return found


def _derive(search: _Search, dtypes: Sequence[str]) -> str | None:
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


def _main_dtype(binding: Binding) -> str:
    dtypes = [tensor.dtype for tensor in binding.tensors()]
    return next((dtype for dtype in dtypes if "float" in dtype), dtypes[0] if dtypes else "float32")


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


class TooFew(Exception):
    """The operator takes too few of the calls that were tried."""


class _Search:
    """The search for the paths of one form."""

    def __init__(
        self,
        traces: Traces,
        form: str,
        seeds: list[Binding],
        random: Random,
        derivation: Derivation,
        ranks: Callable[[tuple[int, ...]], bool] | None = None,
    ) -> None:
        self._traces = traces
        self._form = form
        self._ranks = ranks
        self.main = _main_dtype(seeds[0])
        self._seeds = [seed for seed in seeds if _main_dtype(seed) == self.main]
        if ranks is not None:
            near = [seed for seed in self._seeds if ranks(tuple(len(tensor.shape) for tensor in seed.tensors()))]
            self._seeds = near or self._seeds
        self._random = random
        self._derivation = derivation
        self._refused: list[Instance] = []
        self._seen: set[Any] = set()
        self._taken: list[Binding] = []

    def dtypes(self, dtype: str) -> tuple[str, ...]:
        signature, _ = read_call(self._seeds[0], self._traces.operator.parameters)
        return tuple(dtype if given == self.main else given for given in signature.dtypes)

    def keep(self, path: Path) -> None:
        self._derivation.paths.append(path)

    def is_held(self, dtype: str) -> bool:
        """Whether a path that was found for another mix of dtypes holds for this one too; then it is kept for it."""
        paths = self._derivation.paths
        for place, path in enumerate(paths):
            if path.form == self._form and self.holds(path, dtype):
                paths[place] = replace(path, dtypes=tuple(dict.fromkeys((*path.dtypes, self.dtypes(dtype)))))
                return True
        return False

    def path(self, dtype: str) -> Path:
        """The path of the calls in `dtype`. Raises NotGeneral, TooFew."""
        seeds = self._cast(dtype)
        self._seen.clear()
        self._refused.clear()
        self._taken.clear()
        rows = self._draw(FIRST_ROWS, seeds, seeds)
        if len(rows) < LEAST_ROWS:
            raise TooFew(f"{len(rows)} calls were taken")
        path = self._learnt(rows)
        proven = wrong = 0
        while proven < PROOF and len(rows) <= MOST_ROWS:
            fresh = [*self._draw(6, seeds), *self._contested(path, rows, seeds)]
            if not fresh:
                break
            wrong = sum(not _agrees(path, row) for row in fresh)
            silent = sum(path.at(fresh_call(row.call)) is None for row in fresh)
            proven = 0 if wrong else proven + len(fresh) - silent
            rows += fresh
            if wrong or silent > len(fresh) // 4:
                path = self._learnt(rows)
        if wrong:
            raise NotGeneral(f"{wrong} of the last calls contradict it")
        if proven < LEAST_PROOF:
            raise NotGeneral(f"only {proven} fresh calls bear it out")
        return self._guarded(path, rows)

    def _contested(self, path: Path, rows: Sequence[Row], seeds: list[Binding]) -> list[Row]:
        """Calls of which other paths, which agree with all `rows` too, say something else, or nothing."""
        others = []
        for variant in SECOND_OPINIONS:
            with suppress(NotGeneral):
                others.append(replace(path, tensors=learn(rows, variant)))
        disputed: list[Binding] = []
        unheard: list[Binding] = []
        for _ in range(POOL if others else 0):
            binding = self._vary(seeds)
            call = self._fresh(binding)
            said = None if call is None else path.at(fresh_call(call))
            if call is None or said is None:
                continue
            opinions = [other.at(fresh_call(call)) for other in others]
            if any(opinion is not None and not same_classes(said, opinion) for opinion in opinions):
                disputed.append(binding)
            elif None in opinions:
                unheard.append(binding)
            if len(disputed) == MOST_DISPUTED:
                break
        chosen = [*disputed, *unheard[: MOST_DISPUTED // 2]]
        return [row for binding in chosen if (row := self._row(binding)) is not None]

    def _guarded(self, path: Path, rows: Sequence[Row]) -> Path:
        """The path with what it takes to say nothing of the calls that were refused. Raises NotGeneral."""

        def answered() -> list[Instance]:
            return [call for call in map(fresh_call, self._refused) if path.at(call) is not None]

        leaks = answered()
        if leaks:
            path = replace(path, guards=sharpened(path.guards, [row.call for row in rows], leaks))
            leaks = answered()
        self._derivation.refused += len(self._refused)
        self._derivation.leaks += len(leaks)
        if len(leaks) > MOST_LEAKS * (len(self._refused) + len(rows)):
            raise NotGeneral(f"it answers {len(leaks)} of {len(self._refused)} calls that are refused")
        return path

    def holds(self, path: Path, dtype: str) -> bool:
        """Whether the same path holds where the tensors are of `dtype`."""
        seeds = self._cast(dtype)
        self._seen.clear()
        self._taken.clear()
        told = 0
        candidates = [
            *seeds[:DTYPE_ROWS],
            *(sampling.vary(self._random.choice(seeds), self._random) for _ in range(DTYPE_DRAWS)),
        ]
        try:
            for binding in candidates:
                row = self._row(binding)
                if row is not None and not _agrees(path, row):
                    return False
                told += row is not None and path.at(fresh_call(row.call)) is not None
        except NotGeneral:
            return False
        return told >= LEAST_ROWS

    def is_separable(self, path: Path, dtype: str) -> bool:
        """Whether it holds for a part of the gradients, and for none."""
        if not any(tensor.is_gradient for tensor in path.tensors):
            return True
        seeds = self._cast(dtype)[:12]
        self._seen.clear()
        parts = [sampling.with_some_gradients(seed, self._random) for seed in seeds]
        none = [sampling.without_gradients(seed) for seed in seeds]
        try:
            rows = self._draw(5, parts, parts)
            self._seen.clear()
            rows += self._draw(5, none, none)
        except NotGeneral:
            return False
        return len(rows) >= 2 * LEAST_ROWS and all(_agrees(path, row) for row in rows)

    def _cast(self, dtype: str) -> list[Binding]:
        return [sampling.in_dtypes(seed, {self.main: dtype}) for seed in self._seeds]

    def _learnt(self, rows: Sequence[Row]) -> Path:
        only_forward = not any(tensor.requires_grad for row in rows for tensor in row.call.tensors)
        calls = [row.call for row in rows]
        return Path(self._form, (), guards(calls), learn(rows), only_forward=only_forward)

    def _draw(self, count: int, seeds: list[Binding], first: Sequence[Binding] = ()) -> list[Row]:
        """Up to `count` calls that differ from all before: `first` as they are, then others like `seeds`."""
        rows = [row for seed in first[:count] if (row := self._row(seed)) is not None]
        tries = 0
        while len(rows) < count and tries < (count * MOST_TRIES if rows else HOPELESS):
            tries += 1
            binding = self._vary(seeds)
            row = self._row(binding)
            if row is not None:
                rows.append(row)
                self._taken.append(binding)
        return rows

    def _vary(self, seeds: list[Binding]) -> Binding:
        """A call like one of the seeds, or like one that the operator has taken: those have gone farther."""
        near = self._taken if self._taken and self._random.random() < 0.4 else seeds
        return sampling.vary(self._random.choice(near), self._random)

    def _fresh(self, binding: Binding) -> Instance | None:
        """The call in numbers; None where it has another form or is known."""
        try:
            signature, call = read_call(binding, self._traces.operator.parameters)
        except Unshapely:
            return None
        if signature.form != self._form or _key(call) in self._seen:
            return None
        return call if self._ranks is None or self._ranks(tuple(map(len, call.shapes))) else None

    def _row(self, binding: Binding) -> Row | None:
        call = self._fresh(binding)
        if call is None:
            return None
        self._seen.add(_key(call))
        row = self._traces.row(binding)
        if row is None:
            self._refused.append(call)
        return row


def _key(call: Instance) -> tuple[Any, ...]:
    return tuple(call.shapes), tuple(sorted(call.numbers.items()))


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


def fresh_call(call: Instance) -> Instance:
    """The same call before its outputs are known."""
    return Instance(call.shapes, call.numbers, call.tensors)


def _agrees(path: Path, row: Row) -> bool:
    """Whether the path says what the trace said, or nothing."""
    said = path.at(fresh_call(row.call))
    return said is None or same_classes(said, tuple(row.tensors.values()))


def same_classes(one: Sequence[TensorClass], other: Sequence[TensorClass]) -> bool:
    """Whether two answers say the same; the calls on the way only illustrate it."""
    return [replace(tensor, path=()) for tensor in one] == [replace(tensor, path=()) for tensor in other]
