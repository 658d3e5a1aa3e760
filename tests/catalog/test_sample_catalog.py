"""The sample catalog against the verdicts beside it, which were reasoned from PyTorch's formulas, not from opscan."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from opscan.audit import audit_paths
from opscan.config import Settings
from opscan.data import data_path
from opscan.model import FileReport

CATALOG = data_path("catalog")
EXPECTED = yaml.safe_load((CATALOG / "expected.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def reports() -> dict[str, FileReport]:
    audited = audit_paths([CATALOG / "1000", CATALOG / "0000"], Settings())
    return {Path(report.path).relative_to(CATALOG).as_posix(): report for report in audited.audit.files}


def _allowed(value: Any) -> set[str]:
    return set(value) if isinstance(value, list) else {value}


@pytest.mark.parametrize("path", [*EXPECTED["specs"], *EXPECTED["cases"]])
def test_status(path: str, reports: dict[str, FileReport]) -> None:
    expected = (EXPECTED["specs"] | EXPECTED["cases"])[path]
    report = reports[path]
    assert report.status in _allowed(expected["status"]), report.reason
    if "scenarios" in expected:
        assert list(report.scenarios) == expected["scenarios"]


@pytest.mark.parametrize("path", [*EXPECTED["specs"], *EXPECTED["cases"]])
def test_classes(path: str, reports: dict[str, FileReport]) -> None:
    expected = (EXPECTED["specs"] | EXPECTED["cases"])[path].get("tensors", {})
    report = reports[path]
    told = {tensor.name: tensor for tensor in report.tensors}
    for name, entry in expected.items():
        assert name in told or "unknown" in _allowed(entry.get("class", "unknown")), (name, sorted(told))
        if name not in told:
            continue
        tensor = told[name]
        if "class" in entry:
            assert str(tensor.numeric_class) in _allowed(entry["class"]), name
        if "correctly_rounded" in entry:
            assert tensor.correctly_rounded == entry["correctly_rounded"], name
        if "cause" in entry:
            assert tensor.cause in _allowed(entry["cause"]), name
        assert set(entry.get("depends_on", ())) <= set(tensor.depends_on) | {"shapes", "attributes"}, name
        if "cases" in entry:
            assert dict(tensor.cases) == entry["cases"], name


def test_case_verdicts(reports: dict[str, FileReport]) -> None:
    for path, expected in EXPECTED["cases"].items():
        if "verdicts" in expected:
            assert Counter(reports[path].verdicts) == Counter(expected["verdicts"]), path
