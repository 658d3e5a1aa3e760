"""Comparing, drawing and choosing, each on its own."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from click.testing import CliRunner  # noqa: E402

from opscan.cli import cli  # noqa: E402
from opscan.explaining import case_of  # noqa: E402
from opscan.model import Case, CaseInput, Classification, NumericClass, TensorClass  # noqa: E402
from opscan.numerics.binding import Binding, TensorArgument  # noqa: E402
from opscan.validating import DeviceMissing  # noqa: E402
from opscan.validating.choosing import choose  # noqa: E402
from opscan.validating.comparing import compare  # noqa: E402
from opscan.validating.devices import open_device  # noqa: E402
from opscan.validating.drawing import draw_inputs, index_bounds  # noqa: E402
from opscan.validating.running import calls_of  # noqa: E402

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("first", "second", "dtype", "ulp"),
    [
        ([0.0, 1.0], [-0.0, 1.0], "float32", 0),
        ([NAN, INF], [NAN, INF], "float32", 0),
        ([1.0], [1.0 + 2**-23], "float32", 1),
        ([1.0], [1.0 - 2**-24], "float32", 1),
        ([1.0], [1.0 + 2**-10], "float16", 1),
        ([1.0], [1.0 + 2**-7], "bfloat16", 1),
        ([1.0], [1.0 + 2**-52], "float64", 1),
        ([2.0**-149], [-(2.0**-149)], "float32", 2),
        ([65504.0], [INF], "float16", 1),
        ([1.0], [NAN], "float16", 32767 - 0x3C00),
        ([1], [4], "int32", 3),
        ([True], [False], "bool", 1),
        ([1.0, 2.0], [1.0, 2.0 + 2**-22], "complex64", 1),
        ([], [], "float32", 0),
    ],
)
def test_compare(first: list[float], second: list[float], dtype: str, ulp: int) -> None:
    found = compare(torch.tensor(first, dtype=getattr(torch, dtype)), torch.tensor(second, dtype=getattr(torch, dtype)))
    assert (found.differs, found.worst_ulp) == (ulp > 0, ulp)


def test_another_shape_or_dtype_differs() -> None:
    found = compare(torch.zeros(2), torch.zeros(2, dtype=torch.float64))
    assert found.differs
    assert found.reason == "the device answers float64[2], the CPU float32[2]"


def _drawn(dtype: str, values: object, shape: tuple[int, ...] = (4000,), operator: str = "torch.x"):
    argument = TensorArgument(dtype, shape, False, "x", 0, values)
    (tensor,) = draw_inputs(Binding((argument,), {}), operator, 7)
    assert (str(tensor.dtype), tuple(tensor.shape)) == (f"torch.{dtype}", shape)
    return tensor


@pytest.mark.parametrize(
    ("dtype", "values", "low", "high"),
    [
        ("float32", (-5, 5), -5, 5),
        ("float16", (0, 1), 0, 1),
        ("float32", None, -5, 5),
        ("float32", "default", -5, 5),
        ("float32", ("None",), -5, 5),
        ("float16", (-1e6, 1e6), -65504, 65504),
        ("bfloat16", ("-inf", "inf"), -3.4e38, 3.4e38),
        ("float32", 3, 3, 3),
        ("int32", (-5, 5), -5, 5),
        ("int8", (-500, 500), -128, 127),
        ("uint8", (-5, 5), 0, 5),
        ("int64", None, 0, 8),
        ("int64", (-(2**63), 2**63), -(2**62), 2**62),
        ("bool", (0, 1), False, True),
    ],
)
def test_ranges_are_respected(dtype: str, values: object, low: float, high: float) -> None:
    drawn = _drawn(dtype, values)
    assert low <= drawn.min().item() <= drawn.max().item() <= high
    assert high == low or drawn.unique().numel() > 1


def test_normal_draws() -> None:
    drawn = _drawn("float32", (("mean", (10, 20)), ("name", "nd"), ("std", (1, 2))))
    assert 9.5 < drawn.mean() < 20.5
    assert 0.9 < drawn.std() < 2.1


def test_floats_have_full_significands() -> None:
    """Draws on the grid of torch.rand would make short sums exact."""
    odd = _drawn("float32", (-1, 1)).view(torch.int32) & 1
    assert 0.4 < odd.double().mean() < 0.6


def test_results_that_grow_with_values_stay_small() -> None:
    assert _drawn("int64", (0, 2**40), operator="torch.bincount").max() < 1000


def test_integers_are_drawn_closer_until_they_fit() -> None:
    (call,) = calls_of(case_of("torch.index_select", ["input=fp32[5,8]", "dim=0", "index=int64[100]"], backward=True))
    assert list(index_bounds(call.binding, call.operator.name)) == [None, 100, 8, 5, 1]


@pytest.mark.parametrize("operator", ["torch.ops.aten.embedding_dense_backward", "torch.nn.functional.embedding_bag"])
def test_kernels_that_do_not_check_indices_get_zeros(operator: str) -> None:
    """Anything else could make them write outside of their memory and end the process."""
    argument = TensorArgument("int64", (50,), False, "index", 0, (1, 100000))
    binding = Binding((argument,), {})
    bounds = list(index_bounds(binding, operator))
    assert bounds == [1]
    (drawn,) = draw_inputs(binding, operator, 7, bounds[0])
    assert drawn.unique().tolist() == [0]


def _tensor(name: str, kind: NumericClass, extent: int, dtype: str = "fp32") -> TensorClass:
    return TensorClass(name, "gradient", dtype, (4,), kind, extent=extent)


def test_choice_covers_classes_extents_and_dtypes() -> None:
    """Largest extent first, then the unreduced class, every dtype, the smallest extent."""
    reduced, select = NumericClass.BROADCAST_REDUCED, NumericClass.SELECT_ONLY
    told = {
        0: _tensor("grad:x", select, 1),
        1: _tensor("grad:x", reduced, 8),
        2: _tensor("grad:x", reduced, 512),
        3: _tensor("grad:x", reduced, 64, "bf16"),
        4: _tensor("grad:x", reduced, 1 << 23),
    }
    sizes = {4: 1 << 23}
    cases = [Case(i, i, "torch.x", (CaseInput("x", "tensor", "fp32", (sizes.get(i, 4), i + 1)),)) for i in told]

    def classify(case: Case) -> Classification:
        return Classification((told[case.index],), "golden")

    assert [one.case.index for one in choose(cases, classify, 8).candidates] == [2, 0, 3, 1]
    assert [one.case.index for one in choose(cases, classify, 2).candidates] == [2, 0]
    assert choose(cases, classify, 8).too_large == 1


FAILING = {
    "raise ImportError('libhccl.so: cannot open shared object file: No such file or directory')": "set_env.sh",
    "raise RuntimeError('ERR00007 feature not supported')": "ERR00007",
    "raise OSError('libascendcl.so: undefined symbol')": "libascendcl.so",
    "": "sees no device",
}


@pytest.mark.parametrize(("source", "told"), FAILING.items(), ids=["hccl", "err", "symbol", "no device"])
def test_an_npu_that_does_not_load(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: str, told: str) -> None:
    (tmp_path / "torch_npu.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch_npu", raising=False)
    with pytest.raises(DeviceMissing) as caught:
        open_device("npu:0")
    monkeypatch.delitem(sys.modules, "torch_npu", raising=False)
    text = str(caught.value)
    assert told in text
    assert "--device simulated" in text
    assert "\n" not in text


@pytest.mark.parametrize("name", ["gpu", "npu:x", "cuda:", "", "simulated:0"])
def test_an_unknown_device_names_the_forms(name: str) -> None:
    with pytest.raises(DeviceMissing, match="npu:N, cuda:N or simulated"):
        open_device(name)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_cuda_that_is_not_there() -> None:
    with pytest.raises(DeviceMissing, match=r"cuda:0 is not there: .*--device simulated"):
        open_device("cuda:0")


def test_the_command_ends_with_code_two_and_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_npu", None)
    (tmp_path / "any.yaml").write_text("name: torch.neg\n")
    result = CliRunner().invoke(cli, ["validate", str(tmp_path / "any.yaml"), "--device", "npu:0"])
    assert result.exit_code == 2
    assert "npu:0 is not there" in result.output
    assert "--device simulated" in result.output
    assert "Traceback" not in result.output
