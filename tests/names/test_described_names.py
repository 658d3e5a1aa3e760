"""aclnn and torch_npu names: every entry is well formed and runs, and a table of classes that were reasoned apart."""

from __future__ import annotations

import pytest
from names_table import Row, cases_of, entries, gradient_rows, rows, written

from opscan.data import data_path
from opscan.numerics.classify import classify
from opscan.numerics.names import Entry, find, load, origin_of, places

_ENTRIES = list(entries())


def test_every_name_stands_once_and_leads_to_an_entry() -> None:
    for place in places():
        entry = load(place)  # a malformed entry raises, naming its file and line
        entry.operator()
    assert len(places()) > 750


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.name}:{row.line}")
def test_class_of_each_output(row: Row) -> None:
    known = classify(row.case)
    assert known.basis == "name", known.reason
    assert written(known) == row.classes, known.reason


@pytest.mark.parametrize("row", gradient_rows(), ids=lambda row: f"{row.name}:{row.line}")
def test_class_of_each_gradient(row: Row) -> None:
    known = classify(row.case)
    assert written(known, "gradient") == row.classes, known.reason


@pytest.mark.parametrize("entry", _ENTRIES, ids=lambda entry: entry.name)
def test_every_entry_gives_a_class(entry: Entry) -> None:
    for case in cases_of(entry):
        known = classify(case)
        assert known.tensors, known.reason
        assert "unknown" not in written(known), f"{entry.place}: {known.reason}"


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("aclnnInplaceRelu", "Relu"),
        ("aclnnReluGradV4", "ReluBackward"),
        ("torch_npu.npu_rms_norm", "RmsNorm"),
        ("torch_npu.npu_rms_norm_backward", "RmsNormGrad"),
        ("npu_swiglu", "SwiGlu"),
        ("aclnn.l1.loss", "L1Loss"),
        ("torch_fast_gelu", "FastGelu"),
        ("torch.nn.Hardsigmoid", "Hardsigmoid"),
        ("aclnnMatmulWeightNz", "Matmul"),
        ("aclnnMseLossOut", "MseLoss"),
        ("torch.masked.select", "MaskedSelect"),
    ],
)
def test_spellings(name: str, entry: str) -> None:
    place = find(name)
    assert place is not None
    assert load(place).name == entry


@pytest.mark.parametrize(
    ("name", "entry", "aten"),
    [
        ("aclnnInplaceRelu", "Relu", "relu"),
        ("torch_npu.npu_rms_norm", "RmsNorm", None),
        ("aclnnMhcPreV2", "MhcPre", None),
    ],
)
def test_origin_is_where_the_entry_stands(name: str, entry: str, aten: str | None) -> None:
    origin = origin_of(name)
    assert origin is not None
    assert (origin.entry, origin.aten, origin.formula is None) == (entry, aten, aten is not None)
    line = data_path(*origin.path.split("/")).read_text(encoding="utf-8").splitlines()[origin.line - 1]
    assert line.startswith(f"{entry}:")


def test_other_names_have_no_origin() -> None:
    assert origin_of("aclnnNoSuchOperator") is None


@pytest.mark.parametrize("name", ["tf.gather", "aclnnNoSuchOperator", "torch.", ""])
def test_other_names_lead_nowhere(name: str) -> None:
    assert find(name) is None
