"""What is not certain of a case's inputs is refused with its name, never guessed toward the stricter class."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opscan.explaining import case_of
from opscan.model import Case
from opscan.numerics.classify import classify


@pytest.mark.parametrize(
    ("name", "inputs", "reason"),
    [
        ("aclnnRmsNorm", "x=fp32[4,8] gamma=fp32[8] residual=fp32[4,8]", "no tensor residual"),
        ("aclnnRmsNorm", "x=fp32[4,8]", "needs `gamma`"),
        ("aclnnScatter", "self=fp32[4] dim=0 index=int64[4] src=fp32[4] reduce=median", "'median' has no meaning"),
        ("aclnnMoeTokenPermuteGrad", "permutedOutputGrad=fp32[8,3] sortedIndices=int32[8]", "needs `numTopk`"),
        (
            "aclnnBatchNorm",
            "input=fp32[4,3] weight=fp32[3] bias=fp32[3] runningMean=fp32[3] runningVar=fp32[3]",
            "needs",
        ),
        ("aclnnMatmul", "self=fp32[4,8] mat2=fp32[9,4]", "Matmul refuses these inputs"),
    ],
)
def test_refusals(name: str, inputs: str, reason: str) -> None:
    known = classify(case_of(name, inputs.split(), backward=False))
    assert not known.tensors
    assert known.basis == "name"
    assert reason in known.reason


def unnamed(name: str, inputs: str, api_type: str) -> Case:
    case = case_of(name, inputs.split(), backward=False)
    given = tuple(replace(one, name=None) if (one.name or "").startswith("_") else one for one in case.inputs)
    return replace(case, inputs=given, api_type=api_type)


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("torch.nn.functional.conv1d", "_x=fp32[2,4,9] _w=fp32[4,4,3] _starts=int64[4]"),
        ("torch.nn.functional.conv1d", "signal=fp32[2,4,9] taps=fp32[4,4,3] starts=int32[4]"),
        ("torch.add", "values=fp32[4] lengths=int64[4]"),
        ("aclnnAdd", "_x=fp32[4] _lengths=int32[4] alpha=1"),
        ("aclnnRmsNorm", "_x=fp32[4,8] _starts=int64[8]"),
    ],
)
def test_a_marker_is_not_taken_for_an_operand_because_of_its_place(name: str, inputs: str) -> None:
    known = classify(unnamed(name, inputs, "an_executor_elsewhere"))
    assert not known.tensors, known
    assert not known.mismatch


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("torch.where", "condition=bool[6,4] input=fp32[6,4] other=fp32[6,4]"),
        ("torch.add", "_a=int32[4] _b=int32[4]"),
        ("torch.add", "signal=fp32[4] noise=fp32[4]"),
        ("torch.where", "_keep=bool[6,4] _x=fp32[6,4] _y=fp32[6,4]"),  # its dtype says it too
        ("aclnnIndexSelect", "_x=fp32[4,8] dim=0 _rows=int64[3]"),
    ],
)
def test_numbers_and_what_is_named_find_their_places(name: str, inputs: str) -> None:
    known = classify(unnamed(name, inputs, "an_executor_elsewhere"))
    assert known.tensors, known.reason


def test_where_atk_makes_the_call_itself_the_place_is_what_counts() -> None:
    inputs = "_keep=bool[6,4] _x=fp32[6,4] _y=fp32[6,4]"
    assert classify(unnamed("torch.where", inputs, "function")).tensors


@pytest.mark.parametrize(
    "inputs",
    [
        "selfRef=fp16[4,6] alpha=1 otherOptional=fp16[6]",
        "x1=fp16[4,6] x2=fp16[6] out=fp16[4,6] cubeMathType=1",
        "input=fp16[4,6] other=fp16[6] format=ND",
    ],
)
def test_the_usual_other_names(inputs: str) -> None:
    known = classify(case_of("aclnnAdd", inputs.split(), backward=False))
    assert [str(tensor.numeric_class) for tensor in known.tensors] == ["arithmetic"], known.reason
    assert known.tensors[0].correctly_rounded
