"""Additions into one element add up, whoever loops; what no sum sees through ends it."""

import pytest

torch = pytest.importorskip("torch")

from numerics_claims import Claim, claims_of  # noqa: E402

from opscan.checking.runs import subject  # noqa: E402


def row_by_row(x):
    total = torch.zeros(x.shape[1:])
    for row in x:
        total = total + row
    return total


def in_place(x):
    total = torch.zeros(x.shape[1:])
    for row in x:
        total += row
    return total


def into_own_rows(x):
    total = torch.zeros(3, x.shape[1])
    for place in range(3):
        total[place] += x[2 * place]
        total[place] += x[2 * place + 1]
    return total


def taps(x, w):
    total = torch.zeros(x.shape[1], w.shape[2])
    for one, other in zip(x, w, strict=True):
        total.addmm_(one, other)
    return total


def weighted(x, w):
    total = torch.zeros(x.shape[1])
    for place in range(x.shape[0]):
        total.addcmul_(x[place], w[place])
    return total


def horner(x, w):
    value = torch.zeros_like(x)
    for place in range(w.shape[0]):
        value = value * x + w[place]
    return value


def average(x):
    value = torch.zeros(x.shape[1])
    for row in x:
        value = torch.lerp(value, row, 0.1)
    return value


def onto_one_place(x):
    total = torch.zeros(2)
    for row in x:
        total.index_add_(0, torch.tensor([0]), row[:1])
    return total


def drawn(*shape):
    return torch.randn(shape, requires_grad=True)


LOOPS = [
    (row_by_row, [drawn(7, 3)], "accumulated", 7),
    (in_place, [drawn(7, 3)], "accumulated", 7),
    (lambda x: row_by_row(x[:2]), [drawn(7, 3)], "once", 2),
    (lambda x: sum(x.unbind(0)), [drawn(512, 2)], "accumulated", 512),
    (into_own_rows, [drawn(6, 4)], "once", 2),
    (taps, [drawn(5, 2, 3), drawn(5, 3, 4)], "accumulated", 15),
    (weighted, [drawn(6, 3), drawn(6, 3)], "accumulated", 6),
    (horner, [drawn(4), drawn(40, 1)], "accumulated", 40),
    (average, [drawn(9, 3)], "accumulated", 9),
    (onto_one_place, [drawn(5, 2)], "accumulated", 5),
    (lambda x: row_by_row(x).sum(), [drawn(4, 3)], "accumulated", 12),
    (lambda x: row_by_row(x.abs()), [drawn(4, 3)], "accumulated", 4),
    # three tensors, copied: a kernel for the whole may begin with any two
    (lambda x, y, z: x + y + z, [drawn(4), drawn(4), drawn(4)], "accumulated", 3),
]

FORMULAS = [
    (lambda x: 1 - x * x + x, [drawn(4)]),
    (lambda x, y: x * y - (1 - x) * (1 - y), [drawn(4), drawn(4)]),
    (lambda a, b, c, d, e: a * b + c * d - e, [drawn(4) for _ in range(5)]),
    (lambda x: 0.5 * x * (1 + torch.tanh(0.8 * (x + 0.04 * x * x * x))), [drawn(4)]),
    (lambda x, m, s, w, b: (x - m) * s * w + b, [drawn(4) for _ in range(5)]),
    (lambda x: x + x + x, [drawn(4)]),
]


def claims(function, tensors) -> dict[str, Claim]:
    return claims_of(subject("made up", function, *tensors))


@pytest.mark.parametrize(("function", "tensors", "row", "extent"), LOOPS)
def test_a_loop_is_a_sum_of_all_its_addends(function, tensors, row, extent):
    found = claims(function, tensors)["output:0"]
    assert (found.row, found.extent) == (row, extent)


@pytest.mark.parametrize(("function", "tensors"), FORMULAS)
def test_the_formula_of_an_element_is_arithmetic(function, tensors):
    found = claims(function, tensors)
    assert {claim.row for claim in found.values()} <= {"arithmetic", "once", "select"}
    assert found["output:0"].row == "arithmetic"


def test_a_sum_of_formulas_has_an_addend_for_each():
    assert claims(lambda x, y: (x * y + x).sum(), [drawn(6), drawn(6)])["output:0"].extent == 6


def test_a_gradient_that_is_put_together_from_shifted_slices_adds_up_where_they_overlap():
    def shifted(x, w):
        return sum(x[place : place + 4] * w[place] for place in range(3))

    parts = claims(lambda x: torch.cat([x[:3].exp(), x[3:].sin(), x[:2].cos()]), [drawn(6)])
    assert parts["grad:0"].row == "arithmetic"


def test_sums_of_the_same_elements_with_other_weights_are_no_longer_sum():
    found = claims(lambda x, a, b: x * a + x * b, [drawn(1, 3), drawn(8, 3), drawn(8, 3)])
    assert found["grad:0"].extent == 8
    # along rows and along columns other elements of the upstream gradient are added up
    assert claims(lambda x: x[None, :] + x[:, None], [drawn(4)])["grad:0"].extent == 8


@pytest.mark.parametrize(
    ("way", "row"),
    [
        (lambda x: x.float().half(), "select"),
        (lambda x: x.float().relu().flip(0).half(), "select"),
        (lambda x: x.float().t().contiguous().half(), "select"),
        (lambda x: (x.float() * 3).half(), "arithmetic"),
        (lambda x: x.float().masked_fill(x > 0, 0.1).half(), "once"),
        (lambda x: x.float().bfloat16(), "once"),
    ],
)
def test_there_and_back_is_a_copy(way, row):
    assert claims(way, [torch.randn(3, 4, dtype=torch.float16)])["output:0"].row == row
