"""The terms a path may be made of, each with its value on every traced call: what a learner picks from.

Simple terms come first, so that the first that fits is the simplest. A term that makes no sense for a call has None
there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from opscan.numerics.paths import terms
from opscan.numerics.paths.signature import Instance
from opscan.numerics.paths.terms import NoValue, Term

Column = tuple[Any, ...]
"""The value of a term on every call, in their order."""
_AXES = (0, 1, 2, -1, -2, -3)
_MOST_FACTORS = 24
_OF_OUTPUTS = frozenset({"overlap", "adaptive", "resampled"})
"""Terms whose value changes once the outputs are known."""
_LEAST_REACHED = 4
"""Calls in which a term must be the larger one."""
_MOST_BOUNDS = 40


@dataclass(frozen=True)
class Word:
    term: Term
    column: Column


class Vocabulary:
    """Terms over the tensors, the outputs found so far, and the attributes of `calls`, which have one signature.

    `variant`: 0 for the simple terms first; every other number is an order of its own, for a second opinion.
    """

    def __init__(self, calls: Sequence[Instance], variant: int = 0, memo: dict[str, Column] | None = None) -> None:
        self.calls = calls
        self.variant = variant
        self._memo: dict[str, Column] = {} if memo is None else memo
        self.tensors = len(calls[0].shapes)
        names = sorted(calls[0].numbers)
        self.whole = [name for name in names if all(_is_whole(call.numbers[name]) for call in calls)]
        self.numeric = names
        self.shapes = self._words(terms.shape, self._shape_terms())
        self.numbers = self._numbers(self.shapes)

    @property
    def broadcasts(self) -> bool:
        """Whether the tensors of every call broadcast to one shape, which need not be that of any of them."""
        together = Word(["broadcast"], tuple(_value(terms.shape(["broadcast"]), call) for call in self.calls))
        return self.tensors > 1 and None not in together.column

    def add_output(self, place: int) -> None:
        """Let later terms name output `place`, which every call now has."""
        new = self._words(terms.shape, [["output", place]])
        known = {word.column for word in self.shapes}
        self.shapes += [word for word in new if word.column not in known]
        self.numbers = self._numbers(self.shapes)

    def _shape_terms(self) -> Iterator[Term]:
        yield from (["tensor", place] for place in range(self.tensors))
        if self.tensors > 1:
            yield ["broadcast"]
        if self.tensors > 2:
            yield from (["broadcast", *pair] for pair in itertools.combinations(range(min(self.tensors, 4)), 2))

    def _words(self, compile_: Any, candidates: Any) -> list[Word]:
        words, seen = [], set()
        if self.variant:
            # of terms that are the same on all calls the first is kept: here another one
            candidates = list(candidates)
            Random(self.variant).shuffle(candidates)
        for term in candidates:
            column = self._column(compile_, term)
            if column not in seen and any(value is not None for value in column):
                seen.add(column)
                words.append(Word(term, column))
        return words

    def _column(self, compile_: Any, term: Term) -> Column:
        key = repr(term)
        column = self._memo.get(key)
        if column is None:
            compiled = compile_(term)
            column = tuple([_value(compiled, call) for call in self.calls])
            if term[0] not in _OF_OUTPUTS:
                self._memo[key] = column
        return column

    def _numbers(self, shapes: Sequence[Word]) -> list[Word]:
        """Sizes and products of sizes, in the order of how often operators depend on them."""
        candidates: list[Term] = [["along", word.term, name] for word in shapes for name in self.whole]
        candidates += [["numel", word.term] for word in shapes]
        for word in shapes:
            candidates += [["size", word.term, axis] for axis in _AXES]
        for name in self.whole:
            candidates += self._attribute(name)
        candidates += [["rank", word.term] for word in shapes]
        candidates += [
            ["border", ["tensor", 0], name, reflect]
            for name in self.whole
            if "pad" in name
            for reflect in (False, True)
        ]
        if (scales := [name for name in self.numeric if "scale" in name]) or "size" in self.numeric:
            candidates += [["resampled", 0, name] for name in scales or ("",)]
            candidates += [["resampled", taps, ""] for taps in (2, 4)]
        ranks = (1, 2, 3)
        if "kernel_size" in self.whole:
            candidates += [["overlap", rank] for rank in ranks]
        elif "output_size" in self.numeric or "output_size" in self.calls[0].numbers:
            candidates += [["adaptive", rank, which] for rank in ranks for which in (0, 1)]
        return self._words(terms.number, candidates)

    def _attribute(self, name: str) -> Iterator[Term]:
        lengths = [len(value) for call in self.calls if isinstance(value := call.numbers[name], tuple)]
        if not lengths:
            yield ["value", name]
            return
        yield from (["item", name, place] for place in range(min(*lengths, 4)))
        yield ["numel", ["listed", name]]

    def fit(self, target: Sequence[int], places: Sequence[int]) -> Term | None:
        """The simplest term whose value on the calls at `places` is `target`, or None."""
        if (term := self._fit_simple(target, places)) is not None:
            return term
        for more in (1, -1):
            if (term := self._fit_simple([value - more for value in target], places)) is not None:
                return ["plus", term, more]
        for name in self.whole:
            factors = [self.calls[place].numbers[name] for place in places]
            if all(type(factor) is int and factor > 0 for factor in factors):
                term = self._fit_simple([v * f for v, f in zip(target, factors, strict=True)], places)
                if term is not None and not isinstance(term, int):
                    return ["per", term, ["value", name]]
        return self._fit_triple(target, places) or self._fit_most(target, places)

    def _fit_most(self, target: Sequence[int], places: Sequence[int]) -> Term | None:
        """The larger of two terms, each of which is it for several of the calls."""
        below: dict[frozenset[int], Term] = {}
        for term, column in self._bounds(places):
            if all(value <= wanted for value, wanted in zip(column, target, strict=True)):
                reached = frozenset(place for place, wanted in enumerate(target) if column[place] == wanted)
                distinct = len({target[place] for place in reached})
                if len(reached) >= _LEAST_REACHED and distinct >= (1 if isinstance(term, int) else 2):
                    below.setdefault(reached, term)
        likely = sorted(below, key=len, reverse=True)[:_MOST_BOUNDS]
        for one, other in itertools.combinations(likely, 2):
            if len(one | other) == len(target):
                return ["most", below[one], below[other]]
        return None

    def _bounds(self, places: Sequence[int]) -> Iterator[tuple[Term, list[int]]]:
        """Simple terms with their values at `places`."""
        yield from ((count, [count] * len(places)) for count in (2, 3))
        live = [word for word in self.numbers if all(word.column[place] is not None for place in places)]
        columns = [(word.term, [word.column[place] for place in places]) for word in live[:_MOST_FACTORS]]
        yield from columns
        for (one, first), (other, second) in itertools.permutations(columns, 2):
            share = [terms.share(a, b) for a, b in zip(first, second, strict=True)]
            yield ["per", one, other], share
            if one == ["numel", ["tensor", 0]]:
                for name, column in columns:
                    if name[0] in ("value", "size"):
                        yield (
                            ["per", ["per", one, other], name],
                            [terms.share(a, b) for a, b in zip(share, column, strict=True)],
                        )
        for (one, first), (other, second) in itertools.combinations_with_replacement(columns, 2):
            yield ["times", one, other], [a * b for a, b in zip(first, second, strict=True)]

    def _fit_simple(self, target: Sequence[int], places: Sequence[int]) -> Term | None:
        if len(set(target)) == 1:
            return target[0]
        for word in self.numbers:
            if _agrees(word.column, target, places):
                return word.term
        return self._fit_pair(target, places)

    def _fit_pair(self, target: Sequence[int], places: Sequence[int]) -> Term | None:
        first, wanted = places[0], target[0]
        live = [word for word in self.numbers if all(word.column[place] is not None for place in places)]
        for above, below in itertools.permutations(live, 2):
            divisor = below.column[first]
            if divisor > 0 and -(-above.column[first] // divisor) == wanted:
                column = [terms.share(above.column[p], below.column[p]) for p in places]
                if list(target) == column:
                    return ["per", above.term, below.term]
        for one, other in itertools.combinations_with_replacement(live, 2):
            if one.column[first] * other.column[first] == wanted and all(
                one.column[p] * other.column[p] == t for p, t in zip(places, target, strict=True)
            ):
                return ["times", one.term, other.term]
        return None

    def _fit_triple(self, target: Sequence[int], places: Sequence[int]) -> Term | None:
        first, wanted = places[0], target[0]
        live = [word for word in self.numbers if all(word.column[place] is not None for place in places)]
        live = live[:_MOST_FACTORS]
        for one, other in itertools.combinations_with_replacement(live, 2):
            product = one.column[first] * other.column[first]
            for below in live:
                divisor = below.column[first]
                if (
                    divisor > 0
                    and -(-product // divisor) == wanted
                    and all(
                        terms.share(one.column[p] * other.column[p], below.column[p]) == t
                        for p, t in zip(places, target, strict=True)
                    )
                ):
                    return ["per", ["times", one.term, other.term], below.term]
        return None

    def fit_shape(self, target: Sequence[tuple[int, ...]]) -> Term | None:
        """The simplest shape that is `target` on every call, or None."""
        if not any(target):
            return ["sizes"]
        for term in self._shape_candidates(target):
            compiled = terms.shape(term)
            if all(_value(compiled, call) == sizes for call, sizes in zip(self.calls, target, strict=True)):
                return term
        return self._fit_axes(target)

    def _shape_candidates(self, target: Sequence[tuple[int, ...]]) -> Iterator[Term]:
        yield from (word.term for word in self.shapes)
        for word, keep in itertools.product(self.shapes, (False, True)):
            yield from (["without", word.term, name, keep] for name in (*self.whole, ""))
        yield from (["listed", name] for name in self.whole)
        pairs = itertools.permutations(range(min(self.tensors, 4)), 2)
        yield from (["matmul", ["tensor", one], ["tensor", other]] for one, other in pairs)
        sources = [["tensor", place] for place in range(min(self.tensors, 4))]
        others = [*sources, *(["listed", name] for name in self.whole)]
        wholes = [word.term for word in self.shapes]
        yield from (["collapsed", whole, other] for whole in wholes for other in others if whole != other)
        yield from (["padded", source, name] for source in sources for name in self.whole)
        yield from (["scaled", source, name] for source in sources for name in self.numeric if "scale" in name)
        yield from (["permuted", word.term, name] for word in self.shapes for name in self.whole)
        if self.tensors > 1:
            tensors = [["tensor", place] for place in range(self.tensors)]
            yield from (["with", tensors[0], n, ["plus", *(["along", t, n] for t in tensors)]] for n in self.whole)
            yield ["with", tensors[0], 0, ["plus", *(["size", tensor, 0] for tensor in tensors)]]
        for word in self.shapes:
            for name in (*self.whole, 0, 1, -1, -2):
                for size in self._sizes_of_axis(target):
                    yield ["with", word.term, name, size]
                    yield ["inserted", word.term, name, size]
        for word in self.shapes:
            yield from (["swapped", word.term, a, b] for a, b in ((-1, -2), (0, 1)))
            yield from (["swapped", word.term, a, b] for a, b in itertools.permutations(self.whole, 2))
        for word, other in itertools.product(self.shapes, self.shapes):
            yield from (["joined", word.term, 0, end, other.term] for end in (0, -1, -2))
            yield from (["joined", word.term, start, 0, other.term] for start in (1, 2))

    def _sizes_of_axis(self, target: Sequence[tuple[int, ...]]) -> Iterator[Term]:
        present = set(target[0])
        yield 1
        yield self.tensors
        yield from (word.term for word in self.numbers if word.column[0] in present)

    def _fit_axes(self, target: Sequence[tuple[int, ...]]) -> Term | None:
        ranks = {len(sizes) for sizes in target}
        if len(ranks) > 1:
            return None
        parts = []
        for axis in range(ranks.pop()):
            wanted = [sizes[axis] for sizes in target]
            term = self.fit(wanted, range(len(target)))
            if term is None:
                term = self._fit_windows(wanted, axis - len(target[0]))
            if term is None:
                return None
            parts.append(term)
        return ["sizes", *parts]

    def _fit_windows(self, target: Sequence[int], axis: int) -> Term | None:
        """The sizes that pooling and convolutions make, `axis` counted from the back."""

        def among(name: str, *others: Term) -> list[Term]:
            given = [["item", name, axis], ["item", name, -1]] if name in self.whole else []
            return [*given, *others]

        tensors = [["tensor", place] for place in range(min(self.tensors, 3))]
        sources: list[Term] = [["size", tensor, axis] for tensor in tensors]
        for name in self.whole:  # what is added before and after an axis
            before = ["plus", sources[0], ["item", name, -2 * axis - 2], ["item", name, -2 * axis - 1]]
            if self._is(before, target):
                return before
        kernels = among("kernel_size", *sources)
        for size, kernel in itertools.product(sources, kernels):
            for stride in among("stride", 1, kernel):
                for padding, dilation in itertools.product(among("padding", 0), among("dilation", 1)):
                    for term in (
                        ["windows", size, kernel, stride, padding, dilation, False],
                        ["windows", size, kernel, stride, padding, dilation, True],
                        *(
                            ["unwound", size, kernel, stride, padding, dilation, extra]
                            for extra in among("output_padding", 0)
                        ),
                    ):
                        if self._is(term, target):
                            return term
        return None

    def _is(self, term: Term, target: Sequence[int]) -> bool:
        compiled = terms.number(term)
        return all(_value(compiled, call) == wanted for call, wanted in zip(self.calls, target, strict=True))


def _value(compiled: Any, call: Instance) -> Any:
    try:
        return compiled(call)
    except NoValue:
        return None


def _is_whole(value: Any) -> bool:
    return all(type(item) is int for item in (value if isinstance(value, tuple) else (value,)))


def _agrees(column: Column, target: Sequence[int], places: Sequence[int]) -> bool:
    return all(column[place] == wanted for place, wanted in zip(places, target, strict=True))
