"""Names of compared tensors: what the spec calls an input, else the operator's own name for it."""

import numerics_rows
import pytest

pytest.importorskip("torch")

from opscan.model import Case, CaseInput
from opscan.numerics.classify import classify

NAMES = [
    ("torch.where", {"_1": "bool[3]", "_2": "fp32[3]", "_3": "fp32[3]"}, ["output:0", "grad:input", "grad:other"]),
    ("torch.where", {"condition": "bool[3]", "input": "fp32[3]", "other": "fp32[3]"},
     ["output:0", "grad:input", "grad:other"]),
    ("torch.nn.functional.linear", {"_1": "fp32[2,3]", "_2": "fp32[4,3]", "_3": "fp32[4]"},
     ["output:0", "grad:input", "grad:weight", "grad:bias"]),
    ("torch.cat", {"tensors": ["fp32[2]", "fp32[3]", "fp32[4]"]},
     ["output:0", "grad:tensors[0]", "grad:tensors[1]", "grad:tensors[2]"]),
    ("torch.cat", {"_1": ["fp32[2]", "fp32[3]"]}, ["output:0", "grad:tensors[0]", "grad:tensors[1]"]),
    ("torch._foreach_add", {"_1": ["fp32[2]"], "_2": ["fp32[2]"]}, ["output:0", "grad:self[0]", "grad:other[0]"]),
    ("torch.sort", {"input": "fp32[3]"}, ["output:0", "output:1", "grad:input"]),
    ("torch.where", {"_1": "bool[3]", "_2": "fp32[3] nograd", "_3": "fp32[3]"}, ["output:0", "grad:other"]),
    ("torch.nn.functional.nll_loss", {"_1": "fp32[3,4]", "_2": "int64[3] 0..3"}, ["output:0", "grad:input"]),
    ("Tensor.add_", {"self": "fp32[3]", "_1": "fp32[3]"}, ["output:0(self)", "grad:self", "grad:other"]),
    ("Tensor.masked_fill", {"self": "fp32[3]", "_1": "bool[3]", "_2": "fp32[]"},
     ["output:0", "grad:self", "grad:value"]),
    ("torch.relu_", {"_1": "fp32[3]"}, ["output:0(input)", "grad:input"]),
    ("torch.relu_", {"input": "fp32[3]"}, ["output:0(input)", "grad:input"]),
    ("torch.ops.aten.threshold_backward", {"_1": "fp32[3]", "_2": "fp32[3]", "_3": 0},
     ["output:0", "grad:grad_output"]),
    ("torch._foreach_add_", {"_1": ["fp32[2] nograd", "fp32[3] nograd"], "_2": 1.0},
     ["output:0(self[0])", "output:1(self[1])"]),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "inputs", "names"), NAMES, ids=[f"{row[0]}-{i}" for i, row in enumerate(NAMES)])
def test_names(operator, inputs, names):
    answer = classify(numerics_rows.case_of(operator, inputs))
    assert [tensor.name for tensor in answer.tensors][: len(names)] == names, answer.reason


def test_a_null_name_of_a_receiver_is_self():
    receiver = CaseInput(None, "tensor", "fp32", (3,))
    answer = classify(Case(0, 0, "Tensor.exp", (), backward=True, tensor_input=receiver))
    assert [tensor.name for tensor in answer.tensors] == ["output:0", "grad:self"]


def test_an_argument_that_is_compared_instead_of_the_result():
    given = (
        CaseInput(None, "tensor", "fp32", (3,), backward=False),
        CaseInput(None, "tensor", "fp32", (3,), backward=False),
    )
    answer = classify(Case(0, 0, "torch.add", given, outputs=0))
    assert [tensor.name for tensor in answer.tensors] == ["output:0(input)"]


@pytest.mark.parametrize("position", range(3))
def test_an_input_keeps_its_position(position):
    answer = classify(numerics_rows.case_of("torch.addcmul", {"_1": "fp32[3]", "_2": "fp32[3]", "_3": "fp32[3]"}))
    gradient = [tensor for tensor in answer.tensors if tensor.role == "gradient"][position]
    assert gradient.input == position
    assert gradient.name == ["grad:input", "grad:tensor1", "grad:tensor2"][position]
