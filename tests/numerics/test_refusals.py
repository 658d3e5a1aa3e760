"""Whatever a spec names, the answer is a Classification: with classes, or with the reason why there are none."""

import numerics_rows
import pytest

pytest.importorskip("torch")

from opscan.model import Case, CaseInput, NumericClass
from opscan.numerics.classify import classify
from opscan.numerics.operators import Operator, resolve

NO_OPERATORS = [
    "torch.load", "torch.save", "torch.hub.load", "torch.hub.list", "torch.from_file",
    "torch.utils.data.DataLoader", "torch.utils.cpp_extension.load", "torch.ops.load_library",
    "torch.ops.aten.save", "torch.ops.aten.from_file", "torch.ops.aten._print", "torch.import_ir_module",
    "torch.parse_ir", "torch.fork", "torch.jit.load", "torch.compile", "torch.set_num_threads", "torch.manual_seed",
    "torch.set_default_dtype", "torch.frombuffer", "torch.from_numpy", "torch._from_blob", "torch.to_dlpack",
    "torch.Tensor", "torch.nn.Linear", "torch.__import__", "torch.where.__call__", "torch.fft._add_docstr",
    "torch.nn.functional.has_torch_function", "torch.set_autocast_enabled", "os.system", "eval", "torch", "torch.",
    ".where", "torch..where", "torch.where; import os", "torch.nowhere", "torch.ops.aten.add.nowhere",
    "torch.ops.aten.add.Tensor.x", "torch.ops.aten", "torch_npu.npu_swiglu", "torch.ops.npu.npu_swiglu",
    "torch.nn.functional.nothing", "torch.set_flush_denormal", "torch.clear_autocast_cache",
    "torch.init_num_threads",
]  # fmt: skip
NO_METHODS = [
    "backward", "register_hook", "register_post_accumulate_grad_hook", "numpy", "apply_", "map_", "map2_", "tolist",
    "storage", "untyped_storage", "share_memory_", "cuda", "cpu", "__reduce__", "__init__", "__class__", "set_",
    "requires_grad_", "retain_grad", "record_stream", "pin_memory", "data_ptr", "module_load", "as_subclass", "new",
    "_make_subclass", "nothing", "data", "grad", "shape", "reinforce",
]  # fmt: skip


@pytest.mark.parametrize("name", NO_OPERATORS)
def test_only_operators_are_resolved(name):
    answer = resolve(name)
    assert isinstance(answer, str)
    assert name.split(";")[0] in answer


@pytest.mark.parametrize("name", NO_METHODS)
def test_only_operators_are_resolved_as_methods(name):
    assert isinstance(resolve(f"Tensor.{name}"), str)
    assert isinstance(resolve(name, method=True), str)


@pytest.mark.parametrize("name", [
    "torch.where", "torch.relu_", "torch.nn.functional.relu", "F.relu", "torch.special.expit", "torch.linalg.norm",
    "torch.fft.fft", "torch.ops.aten.add", "torch.ops.aten.add.Tensor", "aten.threshold_backward", "Tensor.add_",
    "torch.Tensor.half", "Tensor.type_as", "torch._foreach_add_", "torch.unique", "torch.einsum", "torch.cdist",
    "torch.nn.functional.interpolate", "torch.nn.functional.scaled_dot_product_attention", "torch.nn.functional.conv2d",
    "torch.embedding", "torch.native_layer_norm", "torch.ops.aten.embedding_dense_backward", "Tensor.index_put_",
])  # fmt: skip
def test_operators_are_resolved(name):
    assert isinstance(resolve(name), Operator)


ANSWERED = [
    ("torch.add", {"input": "fp32[2147483648]", "other": "fp32[2147483648]"}),
    ("torch.sum", {"input": "fp32[65536,65536]"}),
    ("torch.matmul", {"input": "fp32[4294967296,2]", "other": "fp32[2,2]"}),
    ("torch.where", {"condition": "bool[1,65536]", "input": "fp16[65536,65536]", "other": "fp16[]"}),
    ("torch.sum", {"input": "fp32[0]"}),
    ("torch.sum", {"input": "fp32[]"}),
    ("torch.cumsum", {"input": "fp32[]", "dim": 0}),
    ("torch.mean", {"input": "fp32[0,3]", "dim": 0}),
    ("torch.matmul", {"input": "fp32[0,3]", "other": "fp32[3,0]"}),
    ("torch.softmax", {"input": "fp32[]", "dim": 0}),
    ("torch.nn.functional.conv2d", {"input": "fp32[0,3,8,8]", "weight": "fp32[4,3,3,3]"}),
    ("torch.nn.functional.layer_norm", {"input": "fp32[0,8]", "normalized_shape": [8]}),
    ("torch.nn.functional.batch_norm", {"input": "fp32[1,1,1]", "running_mean": "fp32[1] nograd",
                                        "running_var": "fp32[1] nograd"}),
    ("torch.nn.functional.interpolate", {"input": "fp32[0,2,4,4]", "scale_factor": 2}),
    ("torch.nn.functional.max_pool2d", {"input": "fp32[1,1,1,1]", "kernel_size": 1}),
    ("torch.cat", {"tensors": ["fp32[3]"] * 200}),
    ("torch.stack", {"tensors": ["fp32[1]"] * 200}),
    ("torch.exp", {"input": "complex64[2]"}),
    ("torch.add", {"input": "complex128[2]", "other": "complex64[2]"}),
    ("torch.nonzero", {"input": "fp32[0]"}),
    ("torch.repeat_interleave", {"input": "fp32[3]", "repeats": "int64[3] 0..1000000000000"}),
    ("torch.eye", {"_n": 0}),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "inputs"), ANSWERED, ids=[f"{name}-{i}" for i, (name, _) in enumerate(ANSWERED)])
def test_odd_sizes_and_dtypes_are_classified(operator, inputs, capfd):
    answer = classify(numerics_rows.case_of(operator, inputs))
    assert answer.tensors, answer.reason
    assert all(tensor.numeric_class is not NumericClass.UNKNOWN for tensor in answer.tensors)
    assert capfd.readouterr() == ("", "")


REFUSED = [
    ("torch.add", {"input": "fp32[2]", "other": "fp32[3]"}, True, "refuses these inputs"),
    ("torch.add", {}, True, "refuses these inputs"),
    ("torch.add", {"input": "fp32[2]", "nope": "fp32[2]"}, True, "refuses these inputs"),
    ("torch.add", {"input": "fp99[2]", "other": "fp32[2]"}, True, "dtype 'fp99'"),
    ("torch.add", {"input": "fp32[99999999999999999999]", "other": "fp32[2]"}, True, "refuses these inputs"),
    ("torch.add", {"input": "fp32[4294967296,4294967296]", "other": "fp32[1]"}, True, "refuses these inputs"),
    ("torch.amax", {"input": "fp32[0]"}, True, "refuses these inputs"),
    ("torch.gather", {"input": "fp32[3]", "dim": 0, "index": "fp32[3]"}, True, "refuses these inputs"),
    ("torch.cat", {"tensors": []}, True, "refuses these inputs"),
    ("torch.eye", {"_n": 10**12}, True, "refuses these inputs"),
    ("torch.sum", {"input": "fp32[4]", "dim": 7}, True, "refuses these inputs"),
    ("torch.nonzero", {"input": "fp32[65536,65536]"}, False, "elements that was not tried"),
    ("torch.masked_select", {"input": "fp32[1100000]", "mask": "bool[1100000]"}, False, "was not tried"),
    ("torch.equal", {"input": "fp32[2]", "other": "fp32[2]"}, False, "returns nothing that is compared"),
    ("torch.is_floating_point", {"input": "fp32[2]"}, False, "returns nothing that is compared"),
    ("Tensor.item", {"self": "fp32[]"}, False, "returns nothing that is compared"),
    ("torch.load", {"_f": "x.pt"}, False, "not an operator"),
]


@pytest.mark.parametrize(
    ("operator", "inputs", "mismatch", "reason"), REFUSED, ids=[f"{r[0]}-{r[3]}-{i}" for i, r in enumerate(REFUSED)]
)
def test_what_cannot_be_told_has_a_reason(operator, inputs, mismatch, reason, capfd):
    answer = classify(numerics_rows.case_of(operator, inputs))
    assert not answer.tensors
    assert reason in answer.reason
    assert "\n" not in answer.reason
    assert answer.mismatch is mismatch
    assert capfd.readouterr() == ("", "")


def test_a_tensor_without_a_shape_is_a_reason():
    answer = classify(Case(0, 0, "torch.exp", (CaseInput("input", "tensor", "fp32", values=[-1, 1]),)))
    assert (answer.tensors, answer.mismatch) == ((), True)
    assert "without a shape" in answer.reason


def test_a_case_without_a_name_is_a_reason():
    assert classify(Case(0, 0, None, ())).reason == "the spec names no golden operator"


def test_a_kind_that_is_missing_is_unknown_and_says_which(monkeypatch):
    from opscan.numerics import kinds

    without = {packet: kind for packet, kind in kinds.load_kinds().items() if packet != "exp"}
    monkeypatch.setattr(kinds, "load_kinds", lambda: without)
    answer = classify(numerics_rows.case_of("torch.exp", {"input": "fp32[2]"}))
    assert {tensor.numeric_class for tensor in answer.tensors} == {NumericClass.UNKNOWN}
    assert "no kind is known for aten.exp.default" in answer.reason


@pytest.mark.parametrize(
    ("operator", "inputs", "reason"),
    [
        ("torch.bitwise_and", {"input": "fp32[3] nograd", "other": "fp32[3] nograd"}, "not implemented for 'Float'"),
        ("torch.bitwise_and", {"input": "fp32[300,40] nograd", "other": "fp32[300,40] nograd"}, "not implemented"),
        ("torch.gcd", {"input": "fp32[3] nograd", "other": "fp32[3] nograd"}, "not implemented for 'Float'"),
        ("torch.linalg.det", {"_A": "fp16[3,3] nograd"}, "not implemented for 'Half'"),
        ("torch.exp", {"input": "complex32[2]"}, "not implemented for 'ComplexHalf'"),
        ("torch.cummax", {"input": "complex64[3] nograd", "dim": 0}, "not implemented for 'ComplexFloat'"),
        ("torch.multinomial", {"input": "int64[3]", "num_samples": 2}, "floating-point dtypes"),
        ("torch.std", {"input": "int32[5]"}, "floating point"),
        ("Tensor.hypot_", {"self": "fp32[1,1]", "other": "fp32[2,2]"}, ""),
        ("Tensor.add_", {"self": "fp32[1,3]", "other": "fp32[2,3]"}, ""),
    ],
)
def test_what_the_kernels_of_the_cpu_refuse_cannot_run(operator, inputs, reason):
    """The golden runs on the CPU; fake kernels let many dtypes pass that no real one takes."""
    known = classify(numerics_rows.case_of(operator, inputs))
    assert known.mismatch
    assert not known.tensors
    assert reason in known.reason


@pytest.mark.parametrize(
    ("operator", "inputs"),
    [
        ("torch.linalg.cholesky", {"_A": "fp32[3,3]"}),  # not positive definite by chance is no refusal of the dtype
        ("torch.index_select", {"input": "fp32[1,3]", "dim": 0, "index": "int64[2]"}),
        ("torch.add", {"input": "fp16[3]", "other": "fp16[3]"}),
        ("torch.bitwise_and", {"input": "bool[3]", "other": "bool[3]"}),
    ],
)
def test_what_they_take_is_classified(operator, inputs):
    assert classify(numerics_rows.case_of(operator, inputs)).tensors
