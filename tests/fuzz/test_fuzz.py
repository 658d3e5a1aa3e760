"""A share of the long run, the same each time, and mistakes planted to show that it would notice them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from opscan import fixing
from opscan.audit import Audited

from . import trials
from .mutations import MUTATIONS, mutated
from .trials import bear, trial


@pytest.mark.parametrize("seed", range(60))
def test_a_mutated_catalog_is_borne(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPSCAN_CACHE", "off")
    trial(tmp_path, seed)


def test_every_mutation_changes_some_text() -> None:
    text = "name: torch.add  # 1\nstandard:\n  acc: equal\ninputs: [1, 2]\n"
    for mutation in MUTATIONS:
        assert any(mutation(text, Random(seed)) != text for seed in range(20)), mutation.__name__
    assert all(isinstance(mutated("", ["x"], Random(seed)), str) for seed in range(50))


TOO_STRICT = """\
# by hand
name: torch.sum
generate: default
standard: {acc: equal}
inputs:
  - name: input
    type: tensor
    dtypes: {values: [fp32]}
    shapes: {dim_numbers: {values: [2]}, dim_values: {values: [64]}}
"""


def test_a_reader_that_falls_over_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fall(*_: object, **__: object) -> None:
        raise RuntimeError("planted")

    (tmp_path / "torch.sum.yaml").write_text(TOO_STRICT)
    monkeypatch.setattr("opscan.judging.specs.judge_spec", fall)
    with pytest.raises(AssertionError, match="planted"):
        bear(tmp_path)


def test_an_edit_that_takes_a_comment_along_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = fixing.plan_fixes

    def careless(audited: Audited, *, unsafe: bool) -> fixing.Plan:
        plan = honest(audited, unsafe=unsafe)
        changes = [replace(one, text=one.text.replace("# by hand", "")) for one in plan.changes]
        return replace(plan, changes=tuple(changes))

    spec = tmp_path / "torch.sum.yaml"
    spec.write_text(TOO_STRICT)
    assert bear(tmp_path)["standard-too-strict"] == 1
    spec.write_text(TOO_STRICT)
    monkeypatch.setattr(trials, "plan_fixes", careless)
    with pytest.raises(AssertionError):
        bear(tmp_path)
