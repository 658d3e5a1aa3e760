"""What a documented device does when it is emulated: bit by bit against numpy, and within its bounds, never beyond."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from opscan.dataclass import replace  # noqa: E402
from opscan.emulating.rates import Draws, compared  # noqa: E402
from opscan.explaining import case_of  # noqa: E402
from opscan.judging.devices import Device, find_device  # noqa: E402
from opscan.judging.orders import Order  # noqa: E402
from opscan.validating.comparing import compare  # noqa: E402
from opscan.validating.devices import open_device  # noqa: E402
from opscan.validating.missing import DeviceMissing  # noqa: E402
from opscan.validating.running import calls_of  # noqa: E402
from opscan.validating.simulated.emulated import Emulated  # noqa: E402
from opscan.validating.simulated.profiles import Profile, profiles_of  # noqa: E402

DEVICE = find_device("950")


def pairs(values: list[np.float32]) -> np.float32:
    """Neighbours, then their sums: one number at a time, in plain Python."""
    while len(values) > 1:
        joined = [a + b for a, b in zip(values[0::2], values[1::2], strict=False)]
        values = joined + values[len(values) // 2 * 2 :]
    return values[0]


def one_after_the_other(values: list[np.float32]) -> np.float32:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def summed(values: list[np.float32], way: str, repeat: int, cores: int, over: str) -> np.float32:
    """The sum as the vendor's page describes it; `values` fill whole repeats on each core."""
    each = len(values) // cores
    partial = []
    for core in range(cores):
        own = values[core * each : (core + 1) * each]
        repeats = [own[start : start + repeat] for start in range(0, each, repeat)]
        if way == "vectors":
            partial.append(pairs([one_after_the_other([r[lane] for r in repeats]) for lane in range(repeat)]))
        else:
            join = pairs if way == "tree" else one_after_the_other
            partial.append(join([pairs(r) for r in repeats]))
    return (pairs if over == "tree" else one_after_the_other)(partial)


@pytest.mark.parametrize("way", ["chain", "tree", "vectors"])
@pytest.mark.parametrize(("cores", "over"), [(1, "chain"), (4, "chain"), (4, "tree")])
def test_sums_are_those_of_the_documented_order(way: str, cores: int, over: str) -> None:
    values = np.random.default_rng(1).uniform(-1, 1, (16, 1024)).astype(np.float32)
    ordered = replace(DEVICE, order=Order(64, (way,), (cores,)))
    with Emulated(0, "tree", Profile(ordered, way, cores, over), fuses=False):
        found = torch.from_numpy(values).sum(-1).numpy()
    assert found.tolist() == [summed(list(row), way, 64, cores, over) for row in values]
    mistaken = replace(DEVICE, order=Order(16, (way,), (cores,)))  # planted: another repeat
    with Emulated(0, "tree", Profile(mistaken, way, cores, over), fuses=False):
        other = torch.from_numpy(values).sum(-1).numpy()
    assert (other.tolist() != found.tolist()) == (way != "tree")


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "div": lambda x, y: x / y,
    "sqrt": lambda x, _: x.sqrt(),
    "exp": lambda x, _: x.exp(),
    "log": lambda x, _: x.log(),
    "erf": lambda x, _: x.erf(),
    "tan": lambda x, _: x.tan(),
}


def worst_units(device: Device, name: str, dtype: Any) -> float:
    """The largest error in units in the last place, against float64."""
    generator = torch.Generator().manual_seed(4)
    x, y = (torch.rand(40_000, generator=generator, dtype=torch.float64).add(0.3).to(dtype) for _ in range(2))
    with Emulated(1, "tree", Profile(device), fuses=False):
        found = FUNCTIONS[name](x, y)
    exact = FUNCTIONS[name](x.double(), y.double())
    found, exact = found[exact != 0].double().numpy(), exact[exact != 0].numpy()
    bits = {torch.float32: 23, torch.float16: 10, torch.bfloat16: 7}[dtype]
    unit = 2.0 ** (np.floor(np.log2(np.abs(exact))) - bits)
    return float(np.max(np.abs(found - exact) / unit))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_use_their_bound_and_never_exceed_it(name: str, dtype: Any) -> None:
    bound = DEVICE.ulp(name, {torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16"}[dtype], 0.5)
    assert 0.9 * bound < worst_units(DEVICE, name, dtype) <= bound + 1e-3


def test_a_bound_that_is_halved_is_noticed() -> None:
    halved = replace(DEVICE, ulps=tuple((name, form, max(bound / 2, 0.5)) for name, form, bound in DEVICE.ulps))
    for name in FUNCTIONS:
        assert worst_units(halved, name, torch.float32) < 0.9 * DEVICE.ulp(name, "fp32", 0)


def test_sums_products_and_copies_of_two_are_those_of_ieee() -> None:
    x, y = torch.rand(2, 1000)
    with open_device("simulated:950").active(0):
        found = [x + y, x - y, x * y, x.half(), x.flip(0)]
    for one, native in zip(found, [x + y, x - y, x * y, x.half(), x.flip(0)], strict=True):
        assert torch.equal(one, native)


@pytest.mark.parametrize(("name", "kept"), [("950", False), ("A2", True)])
def test_subnormal_results_and_operands_are_flushed_where_documented(name: str, kept: bool) -> None:
    small, tiny = torch.full((4,), -90.0), torch.full((4,), 1e-39)
    with open_device(f"simulated:{name}").active(0):
        found = [small.exp(), tiny.sqrt(), torch.full((4,), 1e-5).half() / 1.0, tiny * 1.0]
    assert [bool((one != 0).all()) for one in found] == [kept, kept, kept, True]


def test_hf32_is_used_where_it_is_switched_on() -> None:
    left, right = torch.rand(64, 32, dtype=torch.float64).float(), torch.rand(32, 64, dtype=torch.float64).float()
    exact = left.double() @ right.double()
    errors = []
    for hf32 in ((), ("matmul",)):
        with open_device("simulated:950", hf32).active(0):
            errors.append(float(((left @ right).double() - exact).abs().max()))
    assert errors[0] < 1e-5 < errors[1] < 1e-2
    (profile, *_) = profiles_of(DEVICE, ("matmul",))
    short = profile.shortened("matmul", left).numpy()
    unit = 2.0 ** (np.floor(np.log2(left.numpy().astype(np.float64))) - 10)
    assert np.array_equal(short, np.round(left.numpy() / unit) * unit)


def test_a_way_of_adding_is_repeated_by_a_device_that_is_opened_again() -> None:
    x = torch.rand(8, 5000)
    found = []
    for _ in range(2):
        device = open_device("simulated:A2")
        answers = []
        for way in range(4):
            with device.active(way):
                answers.append(x.exp().sum(-1))
        found.append(answers)
    assert all(not compare(a, b).differs for a, b in zip(*found, strict=True))
    assert compare(found[0][0], found[0][1]).differs


@pytest.mark.parametrize(("steps", "each"), [(("fp16",), 2), (("bf16",), 1), ((), 1)])
def test_both_kernels_of_a_short_format_are_emulated_where_documented(steps: tuple[str, ...], each: int) -> None:
    """One that keeps float32 inside always, one that rounds each step where the device documents such steps."""
    case = case_of("torch.nn.functional.softmax", ["input=fp16[4,8]", "dim=1"], backward=False)
    draws = Draws(1, (-5.0, 5.0), device=replace(DEVICE, steps=steps))
    _, answers = compared(calls_of(case)[0], None, 0, draws)
    assert len(list(answers)) == 4 * each  # two ways, on one core and on 64


def test_a_profile_that_there_is_not_names_those_there_are() -> None:
    with pytest.raises(DeviceMissing, match="did you mean 950"):
        open_device("simulated:951")
