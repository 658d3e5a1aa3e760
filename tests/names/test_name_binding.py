"""What is not certain of a case's inputs is refused with its name, never guessed toward the stricter class."""

from __future__ import annotations

import pytest

from opscan.explaining import case_of
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
