"""The language of paths, term by term, at sizes where the answer is known by hand."""

from __future__ import annotations

import pytest

from opscan.numerics.binding import TensorArgument
from opscan.numerics.paths import asking, terms
from opscan.numerics.paths.path import Outcome
from opscan.numerics.paths.signature import Instance
from opscan.numerics.paths.terms import NoValue


def call(*shapes: tuple[int, ...], outputs: list[tuple[int, ...]] | None = None, **numbers: object) -> Instance:
    tensors = tuple(TensorArgument("float32", shape, True, f"t{n}", n) for n, shape in enumerate(shapes))
    return Instance(list(shapes), numbers, tensors, outputs or [])


def names(table: list[tuple[object, ...]]) -> list[str]:
    """A term and where it stands: some terms stand twice."""
    return [f"{place}-{next(entry for entry in row if isinstance(entry, list))}" for place, row in enumerate(table)]


A = ["tensor", 0]
B = ["tensor", 1]

NUMBERS = [
    (["numel", A], call((2, 3)), 6),
    (["numel", A], call(()), 1),
    (["rank", A], call((2, 3)), 2),
    (["size", A, -1], call((2, 3)), 3),
    (["along", A, "dim"], call((2, 3, 4), dim=(0, -1)), 8),
    (["along", A, "dim"], call((2, 3, 4), dim=1), 3),
    (["along", A, "dim"], call((2, 3, 4)), 24),
    (["along", A, "dim"], call((), dim=-1), 1),
    (["per", ["numel", ["broadcast"]], ["numel", B]], call((4, 8), (1, 8)), 4),
    (["per", 7, 2], call(), 4),
    (["per", 7, ["numel", A]], call((0,)), 0),
    (["times", 2, ["value", "k"]], call(k=5), 10),
    (["plus", ["value", "k"], 1], call(k=5), 6),
    (["item", "stride", -1], call(stride=(2, 3)), 3),
    (["item", "stride", -1], call(stride=4), 4),
    (["windows", 10, 3, 2, 1, 1, False], call(), 5),
    (["windows", 6, 2, 4, 0, 1, True], call(), 2),
    (["unwound", 5, 3, 2, 1, 1, 0], call(), 9),
    (["overlap", 2], call((1, 1, 8, 8), outputs=[(1, 1, 6, 6)], kernel_size=3, stride=1), 9),
    (["overlap", 2], call((1, 1, 8, 8), outputs=[(1, 1, 2, 2)], kernel_size=3), 1),
    (["most", ["value", "k"], 2], call(k=1), 2),
    (["most", ["value", "k"], 2], call(k=5), 5),
    (["border", A, "pad", True], call((1, 8), pad=(3, 2)), 2),
    (["border", A, "pad", True], call((1, 3), pad=(2, 2)), 3),
    (["border", A, "pad", False], call((1, 8), pad=(3, 2)), 4),
    (["border", A, "pad", False], call((4, 8), pad=(3, 2, 0, 4)), 20),
    (["resampled", 0, ""], call((1, 1, 4, 4), outputs=[(1, 1, 8, 12)]), 6),
    (["resampled", 0, "scale"], call((1, 1, 4), outputs=[(1, 1, 10)], scale=2.5), 3),
    (["resampled", 2, ""], call((1, 1, 4), outputs=[(1, 1, 8)]), 5),
]
SHAPES = [
    (["broadcast"], call((4, 1), (1, 8)), (4, 8)),
    (["broadcast", 0, 1], call((3,), (2, 1), (9, 9)), (2, 3)),
    (["without", A, "dim", True], call((2, 3, 4), dim=1), (2, 1, 4)),
    (["without", A, "dim", False], call((2, 3, 4), dim=(0, 2)), (3,)),
    (["without", A, "", False], call((2, 3, 4)), ()),
    (["with", A, "dim", ["numel", B]], call((2, 3), (5,), dim=1), (2, 5)),
    (["inserted", A, "dim", 3], call((2, 4), dim=-1), (2, 4, 3)),
    (["swapped", A, -1, -2], call((2, 3, 4)), (2, 4, 3)),
    (["joined", A, 0, -1, B], call((2, 3), (5, 6)), (2, 5, 6)),
    (["permuted", A, "dims"], call((2, 3, 4), dims=(2, 0, -2)), (4, 2, 3)),
    (["listed", "size"], call(size=(2, 3)), (2, 3)),
    (["sizes", ["size", A, 0], 7], call((2, 3)), (2, 7)),
    (["matmul", A, B], call((5, 1, 2, 3), (4, 3, 7)), (5, 4, 2, 7)),
    (["matmul", A, B], call((3,), (4, 3, 7)), (4, 7)),
    (["matmul", A, B], call((2, 3), (3,)), (2,)),
    (["matmul", A, B], call((3,), (3,)), ()),
    (["padded", A, "pad"], call((2, 3, 4), pad=(1, 2, 0, 5)), (2, 8, 7)),
    (["scaled", A, "scale"], call((2, 3, 4, 5), scale=1.5), (2, 3, 6, 7)),
    (["scaled", A, "scale"], call((2, 3, 4, 5), scale=(2, 3)), (2, 3, 8, 15)),
    (["collapsed", A, B], call((2, 3, 4), (3, 4)), (2, 1, 1)),
    (["collapsed", A, ["listed", "shape"]], call((2, 3, 4), shape=(4,)), (2, 3, 1)),
]
QUESTIONS = [
    (["numel", A], call((2, 3)), "n"),
    (["numel", A], call((2,)), "2"),
    (["same", A, B], call((2,), (2,)), "yes"),
    (["more", ["rank", A], ["rank", B]], call((2, 3), (2,)), "more"),
    (["meeting", A, B], call((4, 1), (1, 8)), "both"),
    (["meeting", A, B], call((1, 8), (4, 8)), "first"),
    (["meeting", A, B], call((4, 8), (8,)), "second"),
    (["meeting", A, B], call((4, 8), (4, 8)), "neither"),
    (["meeting", A, B], call((3,), (4,)), "no"),
    (["inside", A, B, "dim"], call((9, 2), (3, 2), dim=0), "yes"),
    (["inside", A, B, "dim"], call((9, 2), (3, 2), dim=1), "no"),
    (["axis", "dim", A, 0], call((2, 3), dim=-2), "yes"),
    (["axis", "dim", A, 0], call((2, 3), dim=(0, -2)), "no"),
    (["axis", "dim", A, 0], call((2, 3), dim=2), "no"),
    (["power", ["numel", A]], call((4, 2)), "yes"),
    (["power", ["numel", A]], call((4, 3)), "no"),
    (["kind", "alpha"], call((1,), alpha=2), "2"),
    (["kind", "alpha"], call((1,), alpha=8.0), "positive whole scale"),
    (["kind", "alpha"], call((1,), alpha=0.1), "positive small rounded"),
    (["kind", "alpha"], call((1,), alpha=float("inf")), "inf"),
]
SENSELESS = [
    (terms.number, ["size", A, 3], call((2, 3))),
    (terms.number, ["value", "k"], call(k=(1, 2))),
    (terms.number, ["along", A, "dim"], call((2, 3), dim=2)),
    (terms.shape, ["broadcast"], call((3,), (4,))),
    (terms.shape, ["output", 0], call((3,))),
    (terms.shape, ["inserted", A, "dim", 1], call((3,), dim=3)),
    (terms.shape, ["matmul", A, B], call((2, 3), (4, 5))),
    (terms.shape, ["matmul", A, B], call((2, 2, 3), (4, 3, 5))),
    (terms.shape, ["matmul", A, B], call((), (3,))),
    (terms.shape, ["padded", A, "pad"], call((3,), pad=(1, 1, 1, 1))),
    (terms.shape, ["scaled", A, "scale"], call((3,), scale=2.0)),
    (terms.number, ["border", A, "pad", True], call((3,), pad=(1, 1, 1, 1))),
]


@pytest.mark.parametrize(("term", "at", "expected"), NUMBERS, ids=names(NUMBERS))
def test_numbers(term: object, at: Instance, expected: int) -> None:
    assert terms.number(term)(at) == expected


@pytest.mark.parametrize(("term", "at", "expected"), SHAPES, ids=names(SHAPES))
def test_shapes(term: object, at: Instance, expected: tuple[int, ...]) -> None:
    assert terms.shape(term)(at) == expected


@pytest.mark.parametrize(("term", "at", "expected"), QUESTIONS, ids=names(QUESTIONS))
def test_questions(term: object, at: Instance, expected: str) -> None:
    assert asking.question(term)(at) == expected


@pytest.mark.parametrize(("compile_", "term", "at"), SENSELESS, ids=names(SENSELESS))
def test_what_makes_no_sense_has_no_value(compile_: object, term: object, at: Instance) -> None:
    with pytest.raises(NoValue):
        compile_(term)(at)  # type: ignore[operator]


def test_no_step_is_told_to_add_up_more_than_the_whole() -> None:
    steps = (("aten.sum.default", "backward", "broadcast-reduced", ["numel", A]),)
    rows = ["per", ["numel", ["broadcast"]], ["numel", B]]
    outcome = Outcome(0, "broadcast-reduced", False, "broadcast", ("shapes",), rows, False, steps)
    told = outcome.at(call((8, 8), (1, 8)), "grad:other", "gradient", 1, (1, 8))
    assert (told.extent, told.path[0].extent) == (8, 8)
