"""Answers remembered between runs: the same as traced ones, and asked again when anything they rest on changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from opscan.model import Case, CaseInput, Classification, NumericClass, Stage, Step, TensorClass
from opscan.numerics import Classifier, Store
from opscan.numerics import store as store_module

KNOWN = Classification(
    (
        TensorClass(
            "grad:other", "gradient", "fp32", (1, 8), NumericClass.BROADCAST_REDUCED, 2, False, "broadcast",
            ("shapes",), 8, True, (Step("aten.sum.dim_IntList", "backward", NumericClass.BROADCAST_REDUCED, 8),), "why",
            (Stage("contraction", 5), Stage("broadcast", 8)), traced=True,
        ),
    ),
    "golden",
    "reason",
    True,
)  # fmt: skip


def test_what_is_put_comes_back_in_the_next_run(tmp_path: Path) -> None:
    first = Store(tmp_path / "cache.sqlite")
    first.put("key", KNOWN)
    assert Store(tmp_path / "cache.sqlite").get("key") is None
    first.close()
    assert Store(tmp_path / "cache.sqlite").get("key") == KNOWN


def test_another_torch_asks_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Store(tmp_path / "cache.sqlite")
    first.put("key", KNOWN)
    first.close()
    monkeypatch.setattr(store_module, "_torch_version", lambda: "9.9.9")
    assert Store(tmp_path / "cache.sqlite").get("key") is None


@pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\0" + b"\0" * 100])
def test_a_broken_cache_is_no_cache(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cache.sqlite"
    path.write_bytes(content)
    store = Store(path)
    assert store.get("key") is None
    store.put("key", KNOWN)
    store.close()


def test_a_cache_that_cannot_be_made_is_no_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file" / "cache.sqlite")
    assert store.get("key") is None
    store.close()


def test_remembered_answers_equal_traced_ones(tmp_path: Path) -> None:
    tensor = CaseInput(None, "tensor", "fp32", (8, 8))
    row = CaseInput(None, "tensor", "fp32", (1, 8))
    case = Case(0, 0, "torch.mul", (tensor, row), backward=True)
    traced = Classifier(Store(tmp_path / "cache.sqlite"))
    answer = traced.classify(case)
    traced.close()
    assert Classifier(Store(tmp_path / "cache.sqlite")).classify(case) == answer
    assert {t.name for t in answer.tensors} == {"output:0", "grad:input", "grad:other"}


def test_a_missing_torch_is_said_and_not_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "opscan.numerics.classify", None)
    classifier = Classifier(Store(tmp_path / "cache.sqlite"))
    case = Case(0, 0, "torch.svd_lowrank", (CaseInput(None, "tensor", "fp32", (8, 8)),))
    assert "PyTorch" in classifier.classify(case).reason
    assert "PyTorch" in classifier.missing
    classifier.close()
    monkeypatch.undo()
    assert Classifier(Store(tmp_path / "cache.sqlite")).classify(case).tensors
