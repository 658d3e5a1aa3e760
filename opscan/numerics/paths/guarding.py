"""What all the calls that an operator took have in common: outside of it a path says nothing.

The more is asked, the safer: a guard too many costs a trace, a guard too few says something of a call that PyTorch
refuses.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from opscan.numerics.paths import asking
from opscan.numerics.paths.signature import Instance
from opscan.numerics.paths.terms import NoValue, Term
from opscan.numerics.paths.vocabulary import Vocabulary, Word

Guard = tuple[Term, tuple[str, ...]]
_COMPARED = ("same", "more", "less")
_AXES = (0, 1, 2, -1, -2)
_MOST_TENSORS = 6
_ANY_RANK = 4
"""Ranks that an operator must take before it is taken to take those between too; in a row, those above."""


def guards(calls: Sequence[Instance]) -> tuple[Guard, ...]:
    """Questions with the answers that `calls` gave, for those that can tell a call apart."""
    kept: list[Guard] = []
    for term in _candidates(calls):
        compiled = asking.question(term)
        answers = {_answer(compiled, call) for call in calls}
        if None not in answers and answers != {"no"} and "no" not in answers and _tells(term, answers):
            kept.append((term, tuple(sorted(answers))))  # type: ignore[arg-type]
    return tuple(kept)


def sharpened(known: tuple[Guard, ...], calls: Sequence[Instance], refused: Sequence[Instance]) -> tuple[Guard, ...]:
    """More guards, until none of the `refused` calls passes or no question tells them from `calls`."""
    left, added = list(refused), list(known)
    pool = list(_comparisons(calls)) if left else []
    while left and pool:
        scored = [(_stopped(guard, left), guard) for guard in pool]
        stopped, best = max(scored, key=lambda pair: len(pair[0]))
        if not stopped:
            break
        added.append(best)
        left = [call for place, call in enumerate(left) if place not in stopped]
    return tuple(added)


def _stopped(guard: Guard, calls: Sequence[Instance]) -> set[int]:
    compiled = asking.question(guard[0])
    return {place for place, call in enumerate(calls) if _answer(compiled, call) not in guard[1]}


def _comparisons(calls: Sequence[Instance]) -> Iterator[Guard]:
    """How the numbers of a call compare, where all `calls` leave out an answer."""
    words = [w for w in Vocabulary(calls).numbers if None not in w.column and w.term[0] != "rank"][:30]
    twice = [
        Word(["times", 2, word.term], tuple([2 * count for count in word.column]))
        for word in words
        if word.term[0] in ("value", "item")
    ]
    for one, other in (*itertools.combinations(words, 2), *itertools.product(twice, words)):
        answers = {asking.compare(a, b) for a, b in zip(one.column, other.column, strict=True)}
        if len(answers) < len(_COMPARED):
            yield ["more", one.term, other.term], tuple(sorted(answers))


def _tells(term: Term, answers: set[str | None]) -> bool:
    return term[0] != "more" or len(answers) < len(_COMPARED)


def _answer(compiled: Callable[[Instance], str], call: Instance) -> str | None:
    try:
        return compiled(call)
    except NoValue:
        return None


def _candidates(calls: Sequence[Instance]) -> Iterator[Term]:
    tensors = [["tensor", place] for place in range(min(len(calls[0].shapes), _MOST_TENSORS))]
    for place, tensor in enumerate(tensors):
        ranks = sorted({len(call.shapes[place]) for call in calls})
        general = len(ranks) >= _ANY_RANK
        above = general and ranks[-1] - ranks[0] == len(ranks) - 1
        yield ["within", ["rank", tensor], ranks[0], max(ranks[-1], 8) if above else ranks[-1]]
        if not general and len(ranks) < ranks[-1] - ranks[0] + 1:
            yield ["among", ["rank", tensor], *ranks]
        yield ["within", ["numel", tensor], 0 if any(0 in call.shapes[place] for call in calls) else 1, 1 << 62]
    for one, other in itertools.combinations(tensors, 2):
        yield ["same", one, other]
        yield ["more", ["rank", one], ["rank", other]]
        yield ["more", ["numel", one], ["numel", other]]
        for a, b in itertools.product(_AXES, _AXES):
            yield ["more", ["size", one, a], ["size", other, b]]
    outputs = [["output", place] for place in range(min(len(calls[0].outputs), 2))]
    axes = [name for name, value in sorted(calls[0].numbers.items()) if type(value) is int]
    for one, other in itertools.combinations([*tensors, *outputs], 2):
        yield ["meeting", one, other]
    for one, other in itertools.permutations([*tensors, *outputs], 2):
        yield ["inside", one, other, ""]
        yield from (["inside", one, other, name] for name in axes)
    for name in sorted(calls[0].numbers):
        yield from _number_candidates(name, calls, tensors)


def _number_candidates(name: str, calls: Sequence[Instance], tensors: Sequence[Term]) -> Iterator[Term]:
    given = [call.numbers[name] for call in calls]
    values = [item for value in given for item in (value if isinstance(value, tuple) else (value,))]
    whole = all(type(value) is int for value in values)
    axis_of = [["axis", name, tensor, slack] for slack in (0, 1) for tensor in tensors if whole]
    axis_of = [term for term in axis_of if {_answer(asking.question(term), call) for call in calls} == {"yes"}]
    if axis_of and min(values) < 0:
        yield axis_of[0]
        return
    yield ["between", name, min(values), max(values)]
    if not whole:
        return
    yield from axis_of
    for tensor in tensors:
        yield ["meeting", tensor, ["listed", name]]
        for axis in _AXES:
            yield ["more", ["size", tensor, axis], ["item", name, -1]]
        yield ["more", ["numel", tensor], ["numel", ["listed", name]]]
        yield ["same", tensor, ["listed", name]]
        for other in calls[0].numbers:
            yield ["more", ["along", tensor, other], ["item", name, -1]]
