"""The entries stand beside the very texts they were written from; a release that changes one names them."""

from __future__ import annotations

import pytest

from opscan.numerics.declared.sources import current_texts, fingerprint, named_sources, to_read_again, written_from

pytest.importorskip("torchgen")


def test_no_text_has_changed_since_its_entries_were_read() -> None:
    assert to_read_again(current_texts(), written_from()) == []


def test_a_changed_derivative_names_its_entries() -> None:
    key = "sigmoid"
    changed = {**current_texts(), key: current_texts()[key].replace("grad", "2 * grad")}
    assert to_read_again(changed, written_from()) == [
        f"{e}: {key} has changed, read it again" for e in named_sources()[key]
    ]


def test_a_text_that_is_gone_names_its_entries() -> None:
    texts = {key: text for key, text in current_texts().items() if key != "mul.Tensor"}
    assert [line.endswith("this torch has no mul.Tensor") for line in to_read_again(texts, written_from())] == [True]


def test_spacing_and_comments_are_no_change() -> None:
    assert fingerprint("self: grad *\n   other") == fingerprint("self: grad * other")


def test_derivatives_come_before_schemas() -> None:
    assert "grad" in current_texts()["sigmoid"]
