"""Formulas of the catalog as operators: what is in scope, how arguments bind, and how a bad one is told."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch", reason="formulas are followed with PyTorch")

from opscan.numerics.binding import Binding, TensorArgument
from opscan.numerics.goldens import formula
from opscan.numerics.operators import NotFollowed
from opscan.numerics.outcome import class_of
from opscan.numerics.running import NeedsData, Refused, trace


def argument(label: str, shape: tuple[int, ...], dtype: str = "float32", grad: bool = True) -> TensorArgument:
    return TensorArgument(dtype, shape, grad, label, 0)


X = argument("x", (4, 8))
Y = argument("y", (1, 8))


def classes(text: str, parameters: list[str], *args: Any, **kwargs: Any) -> dict[str, str]:
    run = trace(formula(text, parameters), Binding(args, kwargs), None, real=False)
    return {name: str(class_of(bits)) for name, _, _, _, bits in run}


@pytest.mark.parametrize(
    ("text", "parameters", "expected"),
    [
        ("x * y", ["x", "y"], {"output:0": "arithmetic", "grad:x": "arithmetic", "grad:y": "broadcast-reduced"}),
        ("torch.maximum(x, y)", ["x", "y"], {"output:0": "select-only", "grad:y": "broadcast-reduced"}),
        ("F.pad(x, (1, 1)), y", ["x", "y"], {"output:0": "select-only", "output:1": "select-only"}),
        ("nn.ReLU()(x) * 1", ["x", "y"], {"output:0": "select-only", "grad:x": "select-only"}),
        ("x / math.sqrt(x.shape[-1])", ["x", "y"], {"output:0": "arithmetic"}),
        ("a, b = x.chunk(2, -1)\nreturn a * torch.sigmoid(b)", ["x", "y"], {"output:0": "arithmetic"}),
        ("if x.dtype == torch.float32:\n    return x.sum(-1)\nreturn x", ["x", "y"], {"output:0": "accumulated"}),
        ("out = x.clone()\nout[:, 1:] += y[:, 1:]\nreturn out", ["x", "y"], {"output:0": "arithmetic"}),
        ("x.to(torch.float16).to(x.dtype)", ["x", "y"], {"output:0": "arithmetic", "grad:x": "arithmetic"}),
    ],
)  # fmt: skip
def test_classes(text: str, parameters: list[str], expected: dict[str, str]) -> None:
    told = classes(text, parameters, X, Y)
    assert {name: told.get(name) for name in expected} == expected


def test_what_is_not_passed_is_none_or_the_default() -> None:
    text = "y = x * eps\nreturn y if bias is None else y + bias"
    plain = formula(text, ["x", "bias", "eps=0.5"])
    assert plain.parameters == ("x", "bias", "eps")
    assert set(classes(text, ["x", "bias", "eps=0.5"], X)) == {"output:0", "grad:x"}
    assert classes(text, ["x", "bias", "eps=0.5"], X, bias=Y)["grad:y"] == "broadcast-reduced"


@pytest.mark.parametrize(
    ("text", "message"),
    [("x +", "formula:1:"), ("y = 1\nreturn (", "formula:2:"), ("", "empty"), ("x", "formula")],
)
def test_text_that_is_no_formula(text: str, message: str) -> None:
    parameters = ["x", "not a name"] if text == "x" else ["x"]
    with pytest.raises(ValueError, match=message):
        formula(text, parameters)


def test_what_is_not_followed_names_the_line() -> None:
    with pytest.raises(NotFollowed, match=r"^swish:2: `torch.save` cannot be followed$"):
        trace(formula("y = x\ntorch.save(y, 'f')", ["x"], name="swish"), Binding((X,), {}), None, real=False)


def test_torch_refuses_with_the_line() -> None:
    with pytest.raises(Refused, match=r"^formula:1: RuntimeError"):
        trace(formula("x.view(3, 5)", ["x"]), Binding((X,), {}), None, real=False)


def test_a_look_at_values_asks_for_data() -> None:
    looking = formula("x if x.max() > 0 else -x", ["x"])
    with pytest.raises(NeedsData):
        trace(looking, Binding((X,), {}), None, real=False)
    assert trace(looking, Binding((X,), {}), None, real=True)
    assert looking.looked


def test_nothing_is_kept_between_calls() -> None:
    counting = formula("total = []\ntotal.append(x)\nreturn total", ["x"])
    for _ in range(2):
        assert len(trace(counting, Binding((X,), {}), None, real=False)) == 2
