"""What is learnt from calls whose law is known, and what must not be said."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from opscan.model import NumericClass, Step, TensorClass
from opscan.numerics.binding import Binding, TensorArgument
from opscan.numerics.paths.guarding import guards, sharpened
from opscan.numerics.paths.learning import NotGeneral, Row, learn
from opscan.numerics.paths.path import Path
from opscan.numerics.paths.signature import Instance, read_call
from opscan.numerics.paths.terms import NoValue, common_shape


def call(*shapes: tuple[int, ...], **numbers: object) -> Instance:
    tensors = tuple(TensorArgument("float32", shape, True, f"t{n}", n) for n, shape in enumerate(shapes))
    return Instance(list(shapes), numbers, tensors)


def law(at: Instance) -> dict[str, TensorClass]:
    """An addition: the gradient of each tensor is summed over what it was broadcast to."""
    shape = common_shape(at.shapes)
    found = {"output:0": TensorClass("output:0", "output", "fp32", shape, NumericClass.ARITHMETIC, None, True)}
    for place, own in enumerate(at.shapes):
        total, part = 1, 1
        for size in shape:
            total *= size
        for size in own:
            part *= size
        extent = total // part
        kind = {1: NumericClass.SELECT_ONLY, 2: NumericClass.ARITHMETIC}.get(extent, NumericClass.BROADCAST_REDUCED)
        found[f"grad:@{place}"] = TensorClass(
            f"grad:t{place}", "gradient", "fp32", own, kind, place, extent == 2,
            "broadcast" if extent > 2 else None, (), extent, False, (Step("aten.sum", "backward", kind, extent),),
        )  # fmt: skip
    return found


SIZES = [
    ((4, 6), (4, 6)), ((3, 5), (1, 5)), ((7, 5), (7, 1)), ((9, 2), ()), ((2, 8), (8,)), ((5, 3), (3,)),
    ((2, 3), (1, 3)), ((1, 9), (4, 9)), ((1, 3), (2, 3)), ((6,), (6,)), ((2, 7), (1, 7)), ((3, 3), (3, 3)),
]  # fmt: skip


def rows(shapes: list[tuple[tuple[int, ...], ...]] = SIZES) -> list[Row]:
    return [Row(at, law(at)) for at in (call(*pair) for pair in [*shapes, *(pair[::-1] for pair in shapes)])]


def path(known: list[Row]) -> Path:
    return Path("", (("float32", "float32"),), guards([row.call for row in known]), learn(known))


def test_the_law_of_a_broadcast_is_found_and_holds_at_other_sizes() -> None:
    found = path(rows())
    for pair in [((11, 13), (1, 13)), ((4, 3, 13), (13,)), ((2, 31), (31,))]:
        at = call(*pair)
        said = found.at(at)
        assert said is None or said == tuple(law(at).values())
    at = call((11, 13), (1, 13))
    assert found.at(at) == tuple(law(at).values())


def test_of_two_inputs_broadcast_at_once_nothing_is_said_before_it_was_seen() -> None:
    both = call((4, 1), (1, 6))
    assert path(rows()).at(both) is None
    seen = [((5, 1), (1, 7)), ((3, 1), (1, 4)), ((6, 1), (1, 9)), ((2, 1), (1, 5)), ((7, 1), (1, 2)), ((8, 1), (1, 3))]
    assert path(rows([*SIZES, *seen])).at(both) == tuple(law(both).values())


def test_a_sum_that_was_never_seen_does_not_pass_for_none() -> None:
    same = [((n, m), (n, m)) for n, m in itertools.product((1, 2, 3, 5), (1, 4, 6))]
    assert path(rows(same)).at(call((3, 4), (1, 4))) is None


def test_shapes_that_do_not_meet_are_not_answered() -> None:
    assert path(rows()).at(call((3, 5), (4, 5))) is None


def test_calls_that_no_term_explains_are_not_general() -> None:
    odd = rows()
    for number, row in enumerate(odd):
        tensor = row.tensors["grad:@0"]
        chaos = NumericClass.ARITHMETIC if (number * 7919) % 5 in (1, 3) else NumericClass.SELECT_ONLY
        row.tensors["grad:@0"] = TensorClass(  # type: ignore[index]
            tensor.name, tensor.role, tensor.dtype, tensor.shape, chaos, 0, False, None, (), 17 + number * number
        )
    with pytest.raises(NotGeneral):
        learn(odd)


def counted(extents: dict[tuple[int, ...], int]) -> list[Row]:
    """Calls of one tensor whose output adds up so many."""
    found = []
    for shape, extent in extents.items():
        kind = NumericClass.ACCUMULATED if extent > 1 else NumericClass.SELECT_ONLY
        cause = "reduction" if extent > 1 else None
        said = TensorClass("output:0", "output", "fp32", shape, kind, None, False, cause, (), extent, extent > 1)
        found += [Row(call(shape), {"output:0": said})] * 2
    return found


def test_a_few_calls_with_one_extent_do_not_make_it_a_constant() -> None:
    seen = {(n,): 1 for n in range(1, 9)} | {(n, 3): 6 for n in range(1, 5)}
    found = path(counted(seen))
    assert found.at(call((5, 3))) is None
    assert found.at(call((5,))) is not None
    many = {(n,): 1 for n in range(1, 9)} | {(n, 3): 6 for n in range(1, 9)}
    assert path(counted(many)).at(call((9, 3))) is not None


def test_an_operator_may_have_one_law_for_each_rank() -> None:
    seen = {(n, m): m for n in range(1, 5) for m in range(3, 8)} | {
        (k, n, m): m + 1 for k in range(1, 4) for n in range(2, 4) for m in range(3, 8)
    }
    found = path(counted(seen))
    extents = [tensor.extent for at in (call((3, 31)), call((3, 2, 31))) for tensor in found.at(at) or ()]
    assert extents == [31, 32]


def test_the_larger_of_two_sums_is_found() -> None:
    seen = {(n, m): max(n, m, 2) for n in range(2, 9) for m in range(2, 9)}
    assert [tensor.extent for tensor in path(counted(seen)).at(call((12, 4))) or ()] == [12]


def test_what_the_rows_do_not_decide_is_said_differently_by_another_variant() -> None:
    """Squares: whether the extent is the first size or the second is open."""
    square = counted({(n, n): n for n in range(3, 12)})
    said = {(Path("", (), (), learn(square, variant)).at(call((20, 30))) or ())[0].extent for variant in range(12)}
    assert len(said) > 1


def test_a_path_without_gradients_says_nothing_of_a_call_that_wants_some() -> None:
    found = replace(path(counted({(n,): 1 for n in range(1, 9)})), only_forward=True)
    wanted = call((3,))
    assert found.at(wanted) is None
    plain = Instance(wanted.shapes, {}, tuple(replace(tensor, requires_grad=False) for tensor in wanted.tensors))
    assert found.at(plain) is not None


def test_a_tensor_without_elements_is_another_form() -> None:
    def form(shape: tuple[int, ...]) -> str:
        return read_call(Binding((TensorArgument("float32", shape, True, "x", 0),), {}), ["x"])[0].form

    assert form((2, 3)) == form(())
    assert form((2, 0)) != form((2, 3))


def test_refused_calls_sharpen_the_guards() -> None:
    """Padding of at most half the kernel, which only what is refused tells."""
    taken = [call((9,), kernel=k, padding=p) for k in range(2, 8) for p in range(k // 2 + 1)]
    refused = [call((9,), kernel=k, padding=p) for k in range(2, 8) for p in range(k // 2 + 1, 4)]
    before = guards(taken)
    after = sharpened(before, taken, refused)

    def passes(at: Instance) -> bool:
        try:
            return Path("", (), after, ()).at(at) is not None
        except NoValue:
            return False

    assert all(passes(at) for at in taken)
    assert not any(passes(at) for at in refused)
