"""Search for the paths of one form: trace, learn, look for calls that contradict, learn again, prove on fresh calls."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from opscan.numerics.binding import Binding
from opscan.numerics.paths import sampling
from opscan.numerics.paths.guarding import guards, sharpened
from opscan.numerics.paths.learning import NotGeneral, Row, learn
from opscan.numerics.paths.path import Path
from opscan.numerics.paths.signature import Instance, Unshapely, read_call
from opscan.numerics.paths.tracing import Traces, same_classes

FIRST_ROWS = 24
PROOF = 40
"""So many fresh calls in a row must agree."""
LEAST_PROOF = 12
"""So many must, where there are no more."""
SECOND_OPINIONS = 1
"""So many variants of the learner are asked each time which calls are not decided yet."""
POOL = 120
"""Calls that are looked through for such ones."""
MOST_DISPUTED = 6
MOST_ROWS = 200
MOST_TRIES = 5
"""Draws per call that the operator takes."""
HOPELESS = 40
"""Draws after which an operator that has taken none is not asked any more."""
DTYPE_ROWS = 3
DTYPE_DRAWS = 12
LEAST_ROWS = 3
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


class TooFew(Exception):
    """The operator takes too few of the calls that were tried."""


class Search:
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
        self.main = main_dtype(seeds[0])
        self._seeds = [seed for seed in seeds if main_dtype(seed) == self.main]
        if ranks is not None:
            near = [seed for seed in self._seeds if ranks(tuple(len(tensor.shape) for tensor in seed.tensors()))]
            self._seeds = near or self._seeds
        self._random = random
        self._derivation = derivation
        self._refused: list[Instance] = []
        self._seen: set[Any] = set()
        self._taken: list[Binding] = []
        self._found_in = self.main
        self._bindings: dict[Any, Binding] = {}
        self._told: dict[Any, list[Binding]] = {}
        """Calls of the path that was found last, by what was said of them."""

    def dtypes(self, dtype: str) -> tuple[str, ...]:
        signature, _ = read_call(self._seeds[0], self._traces.operator.parameters)
        return tuple(dtype if given == self.main else given for given in signature.dtypes)

    @property
    def is_general(self) -> bool:
        return self._ranks is None

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
        self._found_in = dtype
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
        self._told = self._by_answer(rows)
        return self._guarded(path, rows)

    def _by_answer(self, rows: Sequence[Row]) -> dict[Any, list[Binding]]:
        found: dict[Any, list[Binding]] = {}
        for row in rows:
            classes = tuple((t.numeric_class, t.extent > 1, t.depends_on, t.products) for t in row.tensors.values())
            found.setdefault(classes, []).append(self._bindings[_key(row.call)])
        return found

    def _contested(self, path: Path, rows: Sequence[Row], seeds: list[Binding]) -> list[Row]:
        """Calls of which other paths, which agree with all `rows` too, say something else, or nothing."""
        others = []
        memo: dict[str, Any] = {}
        for _ in range(SECOND_OPINIONS):
            with suppress(NotGeneral):
                others.append(replace(path, tensors=learn(rows, self._random.randrange(1, 1 << 30), memo)))
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
        known = [binding for group in self._told.values() for binding in group[:DTYPE_ROWS]][:DTYPE_DRAWS]
        candidates = [
            *seeds[:DTYPE_ROWS],
            *(sampling.in_dtypes(binding, {self._found_in: dtype}) for binding in known),
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
        else:
            self._bindings[_key(call)] = binding
        return row


def _key(call: Instance) -> tuple[Any, ...]:
    return tuple(call.shapes), tuple(sorted(call.numbers.items()))


def main_dtype(binding: Binding) -> str:
    dtypes = [tensor.dtype for tensor in binding.tensors()]
    return next((dtype for dtype in dtypes if "float" in dtype), dtypes[0] if dtypes else "float32")


def fresh_call(call: Instance) -> Instance:
    """The same call before its outputs are known."""
    return Instance(call.shapes, call.numbers, call.tensors)


def _agrees(path: Path, row: Row) -> bool:
    """Whether the path says what the trace said, or nothing."""
    said = path.at(fresh_call(row.call))
    return said is None or same_classes(said, tuple(row.tensors.values()))
