"""The standards file: what ships is whole, and a mistake is named by file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from opscan.judging.floating import FORMATS
from opscan.judging.pass_rules import PASS_RULES
from opscan.judging.standards import StandardsError, load_standards

EXTENSION = """\
standards:
  house:
    meaning: ours
    passes: share-within-tolerance
    nan_inf: as elsewhere
    source: the team
    dtypes:
      fp32: {rtol: 0.002, atol: 0.001, share: 0.0, max_abs: 1.0, max_ulp: 64}
    atk: {}
ladders:
  fp32: [value-equal, house]
"""


def test_every_standard_says_how_each_version_writes_it() -> None:
    data = load_standards()
    for standard in data.standards.values():
        assert set(standard.writings) == set(data.atk), standard.name
        for version, writing in standard.writings.items():
            for comparator in (writing.write, writing.nearest):
                assert comparator is None or data.atk[version].comparators[comparator] is not False
            assert writing.write or writing.note, (standard.name, version)


def test_ladders_loosen_step_by_step() -> None:
    data = load_standards()
    assert set(data.ladders) == set(FORMATS)
    for dtype, steps in data.ladders.items():
        assert steps[0] == "value-equal"
        rules = [data.rule(step, dtype) for step in steps]
        widths = [rule.rtol for rule in rules if rule]
        assert widths == sorted(set(widths))
        assert all(data.standards[step].recommended for step in steps)


def test_what_ships_is_canonical() -> None:
    data = load_standards()
    assert data is load_standards()
    assert {s.passes for s in data.standards.values()} <= set(PASS_RULES)
    assert not data.standards["double-thousandth-relative"].recommended
    relative = data.rule("double-thousandth-relative", "fp16")
    assert relative is not None
    assert (relative.rtol, relative.atol) == (1e-3, 0)
    assert data.rule("single-benchmark", "fp64") is None
    fp32 = data.rule("single-benchmark", "complex64")
    assert fp32 is not None
    assert fp32.mean == 2**-13


def test_an_extension_adds_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "ours.yaml"
    path.write_text(EXTENSION)
    data = load_standards(path)
    assert data.ladders["fp32"] == ("value-equal", "house")
    assert data.ladders["fp16"] == load_standards().ladders["fp16"]
    assert "house" not in load_standards().standards


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("rtol: 0.002", "rtoll: 0.002", 8, "unknown key 'rtoll' in standards.house.dtypes.fp32; did you mean rtol?"),
        (", atol: 0.001", "", 8, "lacks the threshold 'atol' that share-within-tolerance needs"),
        ("rtol: 0.002", "rtol: 2e-3", 8, "YAML 1.1 reads '2e-3' as text"),
        ("rtol: 0.002", "rtol: -0.002", 8, "must not be negative"),
        ("rtol: 0.002", "rtol: yes", 8, "must be a number, not true or false"),
        ("rtol: 0.002", "rtol: .nan", 8, "must not be negative"),
        ("      fp32: {", "      fp33: {", 8, "unknown dtype 'fp33'"),
        ("passes: share-within", "passes: shared-within", 4, "unknown pass rule"),
        ("    meaning: ours\n", "", 2, "lacks 'meaning'"),
        ("    meaning: ours\n", "    meaning: ours\n    meaning: mine\n", 4, "key 'meaning' is given twice"),
        ("[value-equal, house]", "[value-equal, hose]", 11, "unknown standard 'hose'; did you mean house?"),
        ("  fp32: [value", "  bf16: [value", 11, "house has no thresholds for bf16"),
        ("[value-equal, house]", "house", 11, "must be a list of standards"),
        ("ladders:", "ladder:", 10, "unknown key 'ladder' in the file; did you mean ladders?"),
        ("ladders:\n", "ladders: [\n", 12, "not valid YAML"),
        ("atk: {}", "atk: {26.8.8: {wrote: equal}}", 9, "unknown key 'wrote'"),
        ("    dtypes:\n", "    dtypes: {}\n    levels:\n", 2, "needs thresholds per dtype"),
    ],
)
def test_a_mistake_is_named_by_file_and_line(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    assert EXTENSION.count(old) == 1
    path = tmp_path / "ours.yaml"
    path.write_text(EXTENSION.replace(old, new))
    with pytest.raises(StandardsError) as raised:
        load_standards(path)
    assert str(raised.value).startswith(f"{path}:{line}:"), str(raised.value)
    assert message in str(raised.value)


@pytest.mark.parametrize("text", ["- 1\n", "standards: 3\n", "standards: {x: 3}\n", "&a [*a]\n", "\x00"])
def test_a_file_of_another_shape_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.yaml"
    path.write_text(text)
    with pytest.raises(StandardsError):
        load_standards(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StandardsError, match="cannot be read"):
        load_standards(tmp_path / "none.yaml")
