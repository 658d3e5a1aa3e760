"""Devices as data: what is read, what is refused, and that predictions follow it, held against sums made in numpy."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from opscan.judging.adequacy import failure_probability
from opscan.judging.devices import FUNCTIONS, Device, find_device, load_devices
from opscan.judging.drifts.draw import Draw
from opscan.judging.drifts.exactness import aten_name
from opscan.judging.drifts.functions import ULPS
from opscan.judging.drifts.levels import levels_of
from opscan.judging.drifts.spread import Spread, spread_of
from opscan.judging.error_model import Addends, drift
from opscan.judging.orders import Order, nodes_of, worst
from opscan.judging.pass_rules import Rule
from opscan.judging.standards_file import StandardsError

ASCEND = ("A2", "A3", "950")
DOCUMENTED = {"div": 1, "sqrt": 1, "exp": 1, "log": 1, "erf": 2, "sin": 2, "tan": 4, "lgamma": 6, "asinh": 3, "cbrt": 1}
"""Copied from the vendor's pages, fp32, not from the file."""


@pytest.mark.parametrize(("function", "ulp"), DOCUMENTED.items())
def test_950_is_as_its_documents_have_it(function: str, ulp: float) -> None:
    assert find_device("950").ulp(function, "fp32", 99) == ulp


def test_what_is_not_documented_takes_the_widest_bound() -> None:
    assert find_device("a2").ulp("div", "fp32", 99) == 99
    assert find_device("950").ulp("tanh", "fp32", 99) == 99
    assert find_device("950").ulp("erf", "bf16", 0.5) == 0.5


def test_subnormals_and_hf32_are_as_documented() -> None:
    assert set(find_device("950").flushed) == {"exp", "log", "reciprocal", "sqrt", "rsqrt", "div"}
    assert not find_device("A2").flushed
    assert not find_device("A3").flushed
    assert [find_device(name).hf32 for name in ("950", "A2")] == [10, None]


@pytest.mark.parametrize(("name", "words"), [("95O", "did you mean 950?"), ("gpu", "known: A2, A3, 950, cuda, cpu")])
def test_a_wrong_name_is_told_what_there_is(name: str, words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("?", r"\?")):
        find_device(name)


OWN = """\
devices:
  mine:
    title: One of ours
    source: its manual
    functions: {{exp: {function}}}
    flushes: []
    hf32: {hf32}
    fma: {fma}
    order: {order}
"""
SOUND = {
    "function": "{ulp: 3, source: page 7}",
    "hf32": "null",
    "fma": "true",
    "order": "{repeat: 8, ways: [tree], cores: [1]}",
}


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return tmp_path / "devices.yaml"


def test_a_users_device_stands_beside_those_that_ship(own: Path) -> None:
    own.write_text(OWN.format(**SOUND))
    devices = load_devices((own.parent,))
    assert devices["mine"].ulp("exp", "fp16", 99) == 3
    assert devices["mine"].order == Order(8, ("tree",), (1,))
    assert find_device("950", (own.parent,)).ulp("div", "fp32", 99) == 1


@pytest.mark.parametrize(
    ("part", "value", "line", "words"),
    [
        ("function", "{ulp: 0.4, source: x}", 5, "must be at least 0.5"),
        ("function", "{ulp: 1e-3x, source: x}", 5, "must be a number"),
        ("function", "{ulp: 1}", 5, "lacks 'source'"),
        ("function", "{ulp: 1, source: x}, tanhh: {ulp: 1, source: x}", 5, "did you mean tanh"),
        ("function", "{ulp: {fp23: 1}, source: x}", 5, "did you mean fp32"),
        ("hf32", "24", 7, "from 1 to 23"),
        ("fma", "maybe", 8, "must be true or false"),
        ("order", "{repeat: 0, ways: [tree], cores: [1]}", 9, "from 1 on"),
        ("order", "{repeat: 8, ways: [threes], cores: [1]}", 9, "did you mean tree"),
        ("order", "{repeat: 8, ways: [], cores: [1]}", 9, "needs at least one"),
        ("order", "{repeat: 8, way: [tree], cores: [1]}", 9, "did you mean ways"),
        ("order", "[tree]", 9, "must be a mapping"),
    ],
)
def test_a_faulty_file_is_refused_with_its_line(own: Path, part: str, value: str, line: int, words: str) -> None:
    own.write_text(OWN.format(**{**SOUND, part: value}))
    with pytest.raises(StandardsError, match=rf"devices\.yaml:{line}:\d+: .*{words}"):
        load_devices((own.parent,))


def test_every_function_with_a_bound_can_be_documented() -> None:
    assert {aten_name(name) for name in ULPS} <= set(FUNCTIONS)
    pytest.importorskip("torch")
    from opscan.validating.simulated.emulated import UNITS

    assert set(UNITS) == set(FUNCTIONS)


# -- orders ------------------------------------------------------------------------------------------------------------

F32 = NDArray[np.float32]


def by_repeats(rows: F32, way: str, repeat: int) -> F32:
    """One core's sum as the vendor's page describes it, over the first axis."""
    padded = np.concatenate([rows, np.zeros((-len(rows) % repeat, rows.shape[1]), np.float32)])
    blocks = padded.reshape(-1, repeat, rows.shape[1])
    if way == "vectors":
        return halves(np.add.accumulate(blocks, axis=0)[-1])
    sums = np.stack([halves(block) for block in blocks])
    return halves(sums) if way == "tree" else np.add.accumulate(sums, axis=0)[-1]


def halves(rows: F32) -> F32:
    """(d0 + d1) + (d2 + d3) ..., written without the package."""
    while len(rows) > 1:
        if len(rows) % 2:
            rows = np.concatenate([rows, np.zeros((1, rows.shape[1]), np.float32)])
        rows = rows[0::2] + rows[1::2]
    return rows[0]


def measured(way: str, repeat: int, n: int, outputs: int = 2000) -> float:
    """Mean square of the error of sums of n values in U(-1, 1)."""
    rows = np.random.default_rng(n + repeat).uniform(-1, 1, (n, outputs)).astype(np.float32)
    apart = by_repeats(rows, way, repeat).astype(np.float64) - rows.astype(np.float64).sum(0)
    return float((apart**2).mean())


def predicted(way: str, repeat: int, n: int) -> float:
    """The same by the model, against a golden in float64."""
    found = drift("fp32", n, Addends(-1, 1, golden="exact", order=Order(repeat, (way,), (1,))))
    return found.alpha + found.beta * found.typical**2


@pytest.mark.parametrize("n", [64, 300, 4096])
@pytest.mark.parametrize("way", ["chain", "tree", "vectors"])
def test_documented_orders_err_as_predicted(way: str, n: int) -> None:
    # the last rounding, which the model leaves to the standard, adds about 0.2 u^2 of the result's mean square
    last = 0.2 * 2.0**-48 * n / 3
    assert 0.7 < (predicted(way, 64, n) + last) / measured(way, 64, n) < 1.5


@pytest.mark.parametrize("way", ["chain", "vectors"])
def test_a_planted_mistake_in_the_repeat_shows(way: str) -> None:
    wrong = predicted(way, 4, 4096) / measured(way, 64, 4096)
    assert not 0.7 < wrong < 1.5


@pytest.mark.parametrize("way", ["chain", "tree", "vectors"])
def test_false_alarms_are_those_of_the_order(way: str) -> None:
    """Cases of 64 sums of 4,096 against float64, counted in numpy; the worst order of all would fail far more."""
    rule = Rule("share-within-tolerance", "fp32", rtol=1e-5, atol=2e-5, share=1e-3)
    rng, failed, cases = np.random.default_rng(8), 0, 300
    for _ in range(cases):
        rows = rng.uniform(-5, 5, (4096, 64)).astype(np.float32)
        golden = rows.astype(np.float64).sum(0).astype(np.float32).astype(np.float64)
        apart = np.abs(by_repeats(rows, way, 64).astype(np.float64) - golden)
        failed += bool((apart > rule.atol + rule.rtol * np.abs(golden)).any())
    rates = [
        failure_probability(rule, "fp32", 4096, 64, golden="exact", order=order)
        for order in (Order(64, (way,), (1,)), None)
    ]
    low, high = rates[0] / 2, rates[0] * 2 + 3 / cases
    assert low <= failed / cases + 3 / cases
    assert failed / cases <= high
    assert rates[1] > 2 * rates[0]


@pytest.mark.parametrize("name", ASCEND)
@pytest.mark.parametrize("n", [3, 63, 64, 65, 1000, 4096, 50_000, 1 << 20])
def test_a_device_narrows(name: str, n: int) -> None:
    """No documented order strays farther than the worst of all, whatever the signs of the addends."""
    order = find_device(name).order
    assert order is not None
    for part in ("spread", "growth"):
        bound = max(getattr(nodes_of(fans, n), part) for fans in worst(n))
        assert max(getattr(nodes_of(fans, n), part) for fans in order.of(n)) <= bound * 1.0001


# -- functions ---------------------------------------------------------------------------------------------------------


def with_bound(bound: float, function: str = "erf") -> Device:
    return replace_device(find_device("950"), ulps=((function, "fp32", bound),))


def replace_device(device: Device, **changes: object) -> Device:
    from opscan.dataclass import replace as changed

    return changed(device, **changes)


def spread_under(device: Device | None, function: str, draw: Draw, dtype: str = "float32") -> Spread:
    formula = (("input", (), (0, "x"), ""), (function, (0,), (), dtype))
    return spread_of(levels_of(formula, lambda _: draw, Draw(-5, 5), device=device))


def emulated(bound: float, golden: float) -> float:
    """Root mean square, in units, of device minus golden: numpy moves erf within the two bounds."""
    rng = np.random.default_rng(3)
    x = rng.uniform(0.5, 1.5, 20_000)
    y = np.array([math.erf(one) for one in x])
    unit = 2.0 ** (np.floor(np.log2(y)) - 23)
    sides = [y + rng.uniform(-1, 1, y.size) * (b - 0.5) * unit for b in (bound, golden)]
    return float(np.sqrt((((sides[0] - sides[1]) / unit) ** 2).mean()))


@pytest.mark.parametrize("bound", [0.5, 1.0, 2.0, 6.0])
def test_a_function_errs_within_the_bound_of_its_device(bound: float) -> None:
    found = spread_under(with_bound(bound), "erf", Draw(0.5, 1.5))
    # erf in [0.52, 0.97]: one binade, a unit of 2^-24
    deviation = np.sqrt(np.mean([d * d for _, d in found.seen])) * 2.0**24
    assert deviation == pytest.approx(emulated(bound, 2.0), rel=0.1)
    if bound > 2:  # a planted mistake: half the bound
        assert deviation != pytest.approx(emulated(bound / 2, 2.0), rel=0.1)


def test_a_device_with_the_widest_bounds_changes_nothing() -> None:
    for function in ("erf", "tanh", "exp"):
        free = spread_under(None, function, Draw(0.5, 1.5))
        bare = replace_device(find_device("950"), ulps=(), order=None, flushed=())
        assert spread_under(bare, function, Draw(0.5, 1.5)).alpha == pytest.approx(free.alpha)


def test_flushed_results_are_off_by_themselves() -> None:
    """exp(-90) is subnormal in float32: a 950 gives 0, an A2 the number."""
    subnormal = Draw(-90.0, -88.0)
    off = spread_under(find_device("950"), "exp", subnormal)
    assert all(difference == pytest.approx(size, rel=1e-6) for size, difference in off.seen)
    kept = spread_under(find_device("A2"), "exp", subnormal)
    assert all(difference < 0.01 * size for size, difference in kept.seen)


def test_an_fp16_division_of_950_may_be_a_unit_off() -> None:
    formula = (("input", (), (0, "x"), ""), ("input", (), (1, "y"), ""), ("div", (0, 1), (), "float16"))
    spreads = [
        spread_of(levels_of(formula, lambda _: Draw(1, 2), Draw(-5, 5), device=device))
        for device in (None, find_device("950"))
    ]
    assert spreads[0].alpha == spreads[0].beta == 0
    assert spreads[1].alpha + spreads[1].beta > 0


def test_hf32_has_the_bits_of_the_device() -> None:
    """Rounded products in numpy, 10 mantissa bits, against exact ones."""
    rng = np.random.default_rng(2)
    for bits in (10, 11):
        held = Addends(-1, 1, products=True, factors="hf32", factor_roundoff=2.0 ** -(bits + 1), golden="exact")
        x, y = rng.uniform(-1, 1, (2, 2000, 256))
        error = (shortened(x, bits) * shortened(y, bits)).sum(1) - (x * y).sum(1)
        found = drift("fp32", 256, held)
        assert found.alpha == pytest.approx(float((error**2).mean()), rel=0.2)


def shortened(values: NDArray[np.float64], bits: int) -> NDArray[np.float64]:
    unit = 2.0 ** (np.floor(np.log2(np.abs(values))) - bits)
    return np.round(values / unit) * unit


def test_a_load_takes_what_is_documented_and_no_more() -> None:
    pytest.importorskip("torch")
    from opscan.explaining import case_of
    from opscan.judging import Judge
    from opscan.judging.drift_parameters import drift_parameters
    from opscan.numerics.classify import classify

    judge = replace(Judge("26.8.8", (-5.0, 5.0), 0.01), device=find_device("950"), hf32=("matmul",))
    for operator, inputs, ordered in (
        ("torch.sum", ["input=fp32[64,256]", "dim=1"], True),
        ("torch.matmul", ["input=fp32[64,256]", "other=fp32[256,64]"], False),
        ("torch.cumsum", ["input=fp32[64,256]", "dim=1"], False),
    ):
        case = case_of(operator, inputs, backward=False)
        parameters = drift_parameters(classify(case).tensors[0], case, judge)
        assert parameters is not None
        assert (parameters.order is not None) == ordered
        assert parameters.factor_roundoff == 2.0**-11


# -- what every device rounds alike ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operator", "alike"),
    [
        *[(name, True) for name in ("torch.add", "torch.sub", "torch.mul")],
        *[(name, False) for name in ("torch.div", "torch.pow", "torch.hypot", "torch.atan2", "torch.addcdiv")],
        *[(name, False) for name in ("torch.sqrt", "torch.rsqrt", "torch.reciprocal", "torch.exp", "torch.mean")],
    ],
)
def test_no_division_and_no_root_is_rounded_alike(operator: str, alike: bool) -> None:
    pytest.importorskip("torch")
    from opscan.explaining import case_of
    from opscan.numerics.classify import classify

    unary = operator in ("torch.sqrt", "torch.rsqrt", "torch.reciprocal", "torch.exp", "torch.mean")
    names = ["input"] if unary else ["input", "other"] if "addc" not in operator else ["input", "tensor1", "tensor2"]
    names = ["input", "exponent"] if operator == "torch.pow" else names
    found = classify(case_of(operator, [f"{name}=fp32[3]" for name in names], backward=False)).tensors
    assert [tensor.correctly_rounded for tensor in found] == [alike]
