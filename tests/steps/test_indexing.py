"""What `x[key]` of a declared tensor is: shapes as NumPy's rules have them, refusals as torch's."""

from __future__ import annotations

from typing import Any

import pytest

from opscan.numerics.bits import Level
from opscan.numerics.declared.engine import gradients, leaf
from opscan.numerics.declared.values import NotDeclared, Refused, Tensor
from opscan.numerics.elements.term import Term
from opscan.numerics.facts import NOTHING

PAIR, TABLE = Tensor((2,), "int64"), Tensor((2, 3), "int64")
TRIPLE, MASK = Tensor((3,), "int32"), Tensor((4,), "bool")


def index_of(key: Any) -> tuple[int, ...]:
    return Tensor((4, 5, 6), "float32")[key].shape  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("key", "shape"),
    [
        (1, (5, 6)),
        (-4, (5, 6)),
        ((..., 0), (4, 5)),
        ((None, 0, ...), (1, 5, 6)),
        (slice(1, 3), (2, 5, 6)),
        (slice(-2, None), (2, 5, 6)),
        (slice(3, 1), (0, 5, 6)),
        ((slice(None, None, 3), None, 1), (2, 1, 6)),
        ([0, 1, 1], (3, 5, 6)),
        ((slice(None), [0, 2]), (4, 2, 6)),
        ([[0, 1, 2], [1, 2, 3]], (2, 3, 5, 6)),
        (((0, 1),), (2, 5, 6)),
        (PAIR, (2, 5, 6)),
        ((TABLE, TRIPLE), (2, 3, 6)),
        ((..., PAIR), (4, 5, 2)),
        ((0, ..., PAIR), (5, 2)),
        ((PAIR, slice(None), PAIR), (2, 5)),
        ((slice(None), PAIR, PAIR), (4, 2)),
        ((PAIR, None, PAIR), (2, 1, 6)),
    ],
)
def test_a_key_gives_a_shape(key: Any, shape: tuple[int, ...]) -> None:
    assert index_of(key) == shape


@pytest.mark.parametrize("key", [4, -5, (0, 0, 0, 0), slice(None, None, 0), (PAIR, TRIPLE), (PAIR,) * 4])
def test_a_key_that_torch_refuses_is_refused(key: Any) -> None:
    with pytest.raises(Refused):
        index_of(key)


@pytest.mark.parametrize("key", [MASK, True, Tensor((), "int64"), slice(Tensor((), "int64"), None), "x"])
def test_a_key_that_needs_values_is_not_answered(key: Any) -> None:
    with pytest.raises(NotDeclared):
        index_of(key)


@pytest.mark.parametrize(("key", "addends"), [((slice(1, 3), 0), 1), (TABLE, 6), ((..., [0, 1, 1]), 3)])
def test_the_gradient_adds_up_what_is_read_more_than_once(key: Any, addends: int) -> None:
    tensor = leaf((4, 5, 6), "float32", requires_grad=True, facts=NOTHING, term=Term("input"))
    gradient = gradients([tensor[key]], [tensor])[0]
    assert gradient is not None
    assert gradient.shape == tensor.shape
    assert gradient.bits.addends == addends
    assert (gradient.bits.level == Level.ACCUMULATED) == (addends > 1)
