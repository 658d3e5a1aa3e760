"""From traced calls of one signature to a path: shapes, outcomes, and the questions that tell the outcomes apart."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any

from opscan.model import TensorClass
from opscan.numerics.dtypes import ATK_DTYPES
from opscan.numerics.paths import asking, terms
from opscan.numerics.paths.path import Outcome, TensorPath
from opscan.numerics.paths.signature import Instance
from opscan.numerics.paths.terms import NoValue, Term
from opscan.numerics.paths.vocabulary import Column, Vocabulary

LEAST_SUPPORT = 2
"""So many calls must have given the same answers before they are trusted."""
_LEAST_DISTINCT = 3
"""So many different extents must follow a term before it is taken for their law."""
_LEAST_CONSTANT = 12
"""So many calls must have one extent above two before it is taken for a constant."""
_DEEPEST = 5


class NotGeneral(Exception):
    """No path says the same as all the traces; the message names the tensor."""


@dataclass(frozen=True, slots=True)
class Row:
    """One traced call: every compared tensor by the name a path gives it."""

    call: Instance
    tensors: Mapping[str, TensorClass]


def learn(rows: Sequence[Row], variant: int = 0, memo: dict[str, Column] | None = None) -> tuple[TensorPath, ...]:
    """A path for every compared tensor of `rows`, which have one signature. Raises NotGeneral.

    `variant`: 0 for the simplest that agrees with all rows; other numbers give others that agree with them too. Where
    these say something else of a call, the rows do not decide it yet. `memo`: what terms are worth on these very rows,
    kept for the next variant.
    """
    names = tuple(rows[0].tensors)
    if any(tuple(row.tensors) != names for row in rows):
        raise NotGeneral("the compared tensors are not always the same")
    for row in rows:
        row.call.outputs.clear()
    vocabulary = Vocabulary([row.call for row in rows], variant, memo)
    shapes: dict[str, Term | None] = {}
    for name in names:
        if not name.startswith("grad:"):
            shapes[name] = _learn_shape(name, rows, vocabulary)
        elif any(row.tensors[name].shape != row.call.shapes[int(name[6:])] for row in rows):
            raise NotGeneral(f"{name}: it has another shape than its tensor")
    return tuple(
        _learn_tensor(name, shapes.get(name), [row.tensors[name] for row in rows], vocabulary) for name in names
    )


def _learn_shape(name: str, rows: Sequence[Row], vocabulary: Vocabulary) -> Term:
    """The shape of an output, which later terms can name from now on."""
    shape = vocabulary.fit_shape([row.tensors[name].shape for row in rows])
    if shape is None:
        raise NotGeneral(f"{name}: its shape follows from no term")
    for row in rows:
        row.call.outputs.append(row.tensors[name].shape)
    vocabulary.add_output(len(rows[0].call.outputs) - 1)
    return shape


def _learn_tensor(name: str, shape: Term | None, tensors: Sequence[TensorClass], vocabulary: Vocabulary) -> TensorPath:
    kinds = [_kind(tensor, call) for tensor, call in zip(tensors, vocabulary.calls, strict=True)]
    order = dict.fromkeys(kinds)
    outcomes: list[Outcome] = []
    doubtful: set[int] = set()
    labels = [0] * len(kinds)
    for kind in order:
        places = [place for place, other in enumerate(kinds) if other == kind]
        for group, outcome in _laws(name, kind, tensors, places, vocabulary):
            if not _is_supported(outcome.extent, [tensors[place].extent for place in group]):
                doubtful.add(len(outcomes))
            for place in group:
                labels[place] = len(outcomes)
            outcomes.append(outcome)
    # always asked: how much is added up, and whether the tensor is broadcast; an unseen sum must not pass for none
    always = _extents(outcomes)
    if name.startswith("grad:") and vocabulary.broadcasts:
        always.append(["meeting", ["tensor", int(name[6:])], ["broadcast"]])
    candidates = _Questions(vocabulary, outcomes)
    questions = list(always)
    for group in _groups(always, vocabulary.calls):
        more = _questions(labels, group, candidates, _DEEPEST)
        if more is None:
            raise NotGeneral(f"{name}: no question tells its {len(outcomes)} outcomes apart")
        questions += [term for term in more if term not in questions]
    kept, table = _table(labels, questions, vocabulary.calls)
    table = {answers: label for answers, label in table.items() if label not in doubtful}
    if not table:
        raise NotGeneral(f"{name}: too few calls")
    return TensorPath(name, shape, kept, table, tuple(outcomes))


def _laws(
    name: str, kind: tuple[Any, ...], tensors: Sequence[TensorClass], places: Sequence[int], vocabulary: Vocabulary
) -> list[tuple[Sequence[int], Outcome]]:
    """The outcomes of the calls at `places`, which are of one kind: one, or one for each answer to a question."""

    def outcome(group: Sequence[int]) -> Outcome:
        return _outcome(name, kind, [tensors[place] for place in group], group, vocabulary)

    try:
        return [(places, outcome(places))]
    except NotGeneral:
        for term in _splits(vocabulary):
            ask = asking.answered(term)
            groups: dict[str, list[int]] = {}
            for place in places:
                groups.setdefault(ask(vocabulary.calls[place]), []).append(place)
            if len(groups) > 1:
                with suppress(NotGeneral):
                    return [(group, outcome(group)) for group in groups.values()]
        raise


def _splits(vocabulary: Vocabulary) -> Iterator[Term]:
    """Questions at which PyTorch takes other ways: ranks, and equal shapes."""
    tensors = [["tensor", place] for place in range(min(vocabulary.tensors, 3))]
    yield from (["within", ["rank", tensor], 0, most] for most in (1, 2, 3) for tensor in tensors)
    yield from (["same", *pair] for pair in itertools.combinations(tensors, 2))


def _is_supported(extent: Term, seen: Sequence[int]) -> bool:
    """Whether enough calls stand behind what an extent is said to be: many terms agree with a few numbers."""
    if isinstance(extent, int):
        return extent <= 2 or len(seen) >= _LEAST_CONSTANT
    return len(set(seen)) >= _LEAST_DISTINCT


def _kind(tensor: TensorClass, call: Instance) -> tuple[Any, ...]:
    """Everything of a class but its numbers, and the calls on the way, which only illustrate it."""
    dtypes = [ATK_DTYPES.get(given.dtype, given.dtype) for given in call.tensors]
    dtype = dtypes.index(tensor.dtype) if tensor.dtype in dtypes else tensor.dtype
    return (
        dtype,
        tensor.numeric_class.value,
        tensor.correctly_rounded,
        tensor.cause,
        tensor.depends_on,
        tensor.products,
    )


def _outcome(
    name: str, kind: tuple[Any, ...], tensors: Sequence[TensorClass], places: Sequence[int], vocabulary: Vocabulary
) -> Outcome:
    def fitted(target: list[int], where: Sequence[int]) -> Term:
        term = vocabulary.fit(target, where)
        if term is None:
            term = _fit_product(target, where, known, vocabulary)
        if term is None:
            raise NotGeneral(f"{name}: an extent follows from no term")
        known.append(term)
        return term

    known: list[Term] = []
    dtype, numeric_class, once, cause, depends_on, products = kind
    ways = Counter(map(_calls_of, tensors))
    drawn = max(ways, key=lambda way: (ways[way], len(way)))
    alike = [number for number, tensor in enumerate(tensors) if _calls_of(tensor) == drawn]
    shown = [places[number] for number in alike]
    steps = tuple(
        (*head, fitted([tensors[number].path[step].extent for number in alike], shown))
        for step, head in enumerate(drawn)
    )
    extent = fitted([tensor.extent for tensor in tensors], places)
    return Outcome(dtype, numeric_class, once, cause, depends_on, extent, products, steps)


def _calls_of(tensor: TensorClass) -> tuple[tuple[str, str, str], ...]:
    return tuple((step.op, step.phase, step.numeric_class.value) for step in tensor.path)


def _fit_product(
    target: Sequence[int], places: Sequence[int], known: Sequence[Term], vocabulary: Vocabulary
) -> Term | None:
    """A sum of sums has the product of their extents."""
    parts = [term for term in known if not isinstance(term, int)]
    calls = [vocabulary.calls[place] for place in places]
    for count in (2, 3):
        for chosen in itertools.combinations(parts, count):
            product = ["times", *chosen]
            if _matches(product, calls, target):
                return product
    for one in parts:
        compiled = terms.number(one)
        values = [_safe(compiled, call) for call in calls]
        if any(not value or wanted % value for value, wanted in zip(values, target, strict=True)):
            continue
        rest: list[int] = [wanted // value for value, wanted in zip(values, target, strict=True)]
        other = vocabulary.fit(rest, places)
        if other is not None:
            return ["times", one, other]
    return None


def _matches(term: Term, calls: Sequence[Instance], target: Sequence[int]) -> bool:
    compiled = terms.number(term)
    return all(_safe(compiled, call) == wanted for call, wanted in zip(calls, target, strict=True))


def _safe(compiled: Any, call: Instance) -> Any:
    try:
        return compiled(call)
    except NoValue:
        return None


Answers = tuple["str | None", ...]


class _Questions:
    """What may be asked of a call, the likely questions first, with the answers of every call."""

    def __init__(self, vocabulary: Vocabulary, outcomes: Sequence[Outcome]) -> None:
        self._calls = vocabulary.calls
        self._known: list[tuple[Term, Answers]] = []
        self._source = self._candidates(vocabulary, _extents(outcomes))
        if vocabulary.variant:
            everything = list(self._source)
            Random(vocabulary.variant).shuffle(everything)
            self._source = iter(everything)

    def __iter__(self) -> Iterator[tuple[Term, Answers]]:
        yield from self._known
        for term, columns in self._source:
            answers = self._answers(term, columns)
            if len(set(answers)) > 1:
                self._known.append((term, answers))
                yield term, answers

    def _answers(self, term: Term, columns: tuple[Column, ...]) -> Answers:
        """From what is known of the parts of the question where that is given, else asked anew."""
        if not columns:
            compiled = asking.question(term)
            return tuple([_safe(compiled, call) for call in self._calls])
        if len(columns) == 1:
            return tuple([None if count is None else asking.bucket(count) for count in columns[0]])
        tell = _TELLING[term[0]]
        return tuple([None if a is None or b is None else tell(a, b) for a, b in zip(*columns, strict=True)])

    def _candidates(self, words: Vocabulary, extents: Sequence[Term]) -> Iterator[tuple[Term, tuple[Column, ...]]]:
        """Questions, with the columns of the words they are about where these suffice to answer them."""
        yield from ((term, ()) for term in extents)
        yield from ((["kind", name], ()) for name in words.numeric)
        yield from ((term, ()) for term in _splits(words))
        yield from ((word.term, (word.column,)) for word in words.numbers)
        yield from ((["power", term], ()) for term in (*extents, *_counts(words)))
        for one, other in itertools.combinations(words.shapes, 2):
            yield ["same", one.term, other.term], (one.column, other.column)
        sized = [word for word in words.numbers if word.term[0] in ("numel", "along")]
        for one, other in itertools.permutations(sized, 2):
            yield ["per", one.term, other.term], (one.column, other.column)
        ranked = [word for word in words.numbers if word.term[0] == "rank"]
        near = [word for word in words.numbers if word.term[0] in ("size", "value", "item", "numel")][:24]
        for one, other in (*itertools.combinations(ranked, 2), *itertools.combinations(near, 2)):
            yield ["more", one.term, other.term], (one.column, other.column)


def _counts(words: Vocabulary) -> Iterator[Term]:
    """What a mean may divide by."""
    sized = [word.term for word in words.numbers if word.term[0] in ("numel", "along")]
    yield from sized
    yield from (["per", one, other] for one, other in itertools.permutations(sized, 2) if one[0] == other[0] == "numel")
    given = [word.term for word in words.numbers if word.term[0] in ("value", "item")][:6]
    yield from given
    yield from (["times", *pair] for pair in itertools.combinations_with_replacement(given, 2))


def _extents(outcomes: Sequence[Outcome]) -> list[Term]:
    found = [term for outcome in outcomes for term in (outcome.extent, *(step[-1] for step in outcome.steps))]
    return [term for place, term in enumerate(found) if not isinstance(term, int) and term not in found[:place]]


def _same(one: Any, other: Any) -> str:
    return "yes" if one == other else "no"


def _share(above: int, below: int) -> str:
    return asking.bucket(terms.share(above, below))


_TELLING: dict[str, Callable[[Any, Any], str]] = {"same": _same, "per": _share, "more": asking.compare}


def _questions(labels: Sequence[int], places: Sequence[int], questions: _Questions, depth: int) -> list[Term] | None:
    """What must be asked to tell the outcomes of the calls at `places` apart; None where nothing does."""
    if len({labels[place] for place in places}) == 1:
        return []
    if depth == 0:
        return None
    best, least = None, len(places) + 1
    for term, answers in questions:
        if any(answers[place] is None for place in places):
            continue
        wrong = _impurity(labels, places, answers)
        if wrong < least:
            best, least = (term, answers), wrong
        if wrong == 0:
            break
    return None if best is None else _split(labels, places, questions, depth, *best)


def _split(
    labels: Sequence[int], places: Sequence[int], questions: _Questions, depth: int, term: Term, answers: Answers
) -> list[Term] | None:
    groups: dict[str | None, list[int]] = {}
    for place in places:
        groups.setdefault(answers[place], []).append(place)
    if len(groups) == 1:
        return None
    asked = [term]
    for group in groups.values():
        more = _questions(labels, group, questions, depth - 1)
        if more is None:
            return None
        asked += [question for question in more if question not in asked]
    return asked


def _groups(questions: Sequence[Term], calls: Sequence[Instance]) -> list[list[int]]:
    """The places of the calls that give the same answers."""
    asked = [asking.answered(term) for term in questions]
    groups: dict[tuple[str, ...], list[int]] = {}
    for place, call in enumerate(calls):
        groups.setdefault(tuple([ask(call) for ask in asked]), []).append(place)
    return list(groups.values())


def _table(
    labels: Sequence[int], questions: Sequence[Term], calls: Sequence[Instance]
) -> tuple[tuple[Term, ...], dict[tuple[str, ...], int]]:
    """The outcome for all answers that enough calls have given together."""
    asked = [asking.answered(term) for term in questions]
    cells: dict[tuple[str, ...], Counter[int]] = {}
    for label, call in zip(labels, calls, strict=True):
        cells.setdefault(tuple([ask(call) for ask in asked]), Counter())[label] += 1
    kept = {cell: next(iter(c)) for cell, c in cells.items() if len(c) == 1 and c.total() >= LEAST_SUPPORT}
    return tuple(questions), kept


def _impurity(labels: Sequence[int], places: Sequence[int], answers: Sequence[str | None]) -> int:
    """How many calls a guess by the answer alone would get wrong."""
    groups: dict[str | None, Counter[int]] = {}
    for place in places:
        groups.setdefault(answers[place], Counter())[labels[place]] += 1
    return sum(sum(counts.values()) - max(counts.values()) for counts in groups.values())
