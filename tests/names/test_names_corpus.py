"""At least 85 % of the aclnn names in real case files get a class; skipped where those files are not at hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from opscan.model import Case, CaseFile, Source
from opscan.numerics.classify import classify
from opscan.reading.cases import read_cases

_CASES_PER_FILE = 2


def _corpus() -> Path | None:
    for parent in Path(__file__).resolve().parents:
        for candidate in (parent / "shared" / "corpus", parent / "corpus"):
            if (candidate / "cases").is_dir():
                return candidate / "cases"
    return None


def _cases(folder: Path) -> Iterator[Case]:
    for path in sorted(folder.glob("*.json")):
        known = read_cases(Source(path, path.read_text(encoding="utf-8")))
        if isinstance(known, CaseFile):
            yield from known.cases[:_CASES_PER_FILE]


def test_coverage_of_aclnn_names() -> None:
    folder = _corpus()
    if folder is None:
        pytest.skip("the corpus of real case files is not at hand")
    reasons: dict[str, list[str]] = defaultdict(list)
    for case in _cases(folder):
        if case.aclnn_name:
            known = classify(case)
            told = known.tensors and all(tensor.numeric_class != "unknown" for tensor in known.tensors)
            reasons[case.aclnn_name.removeprefix("aclnn")].append("" if told else known.reason)
    missing = {name: found for name, found in reasons.items() if all(found)}
    assert len(reasons) > 300
    assert len(missing) <= 0.15 * len(reasons), missing
