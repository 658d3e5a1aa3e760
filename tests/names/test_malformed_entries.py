"""A wrong entry is named by its file and line, with what is wrong about it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from opscan.numerics import names
from opscan.numerics.signatures import read_signature


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A catalog of its own, with nothing remembered before or after."""
    folder = tmp_path / "catalog" / "operators"
    folder.mkdir(parents=True)
    monkeypatch.setattr(names, "data_path", tmp_path.joinpath)
    for table in (names._index, names._by_stem, names.load, names._operator):
        table.cache_clear()
    yield folder
    for table in (names._index, names._by_stem, names.load, names._operator):
        table.cache_clear()


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("# first\nBroken: {signature: 'Tensor x'}\n", 2, "either `aten` or `formula`"),
        ("Fine: {aten: abs}\n\nBroken: {aten: no_such_operator}\n", 3, "has no operator aten.no_such_operator"),
        ("Broken: NoSuchEntry\n", 1, "has no entry"),
        ("Broken: {aten: abs, formla: x}\n", 1, "needs a name, or a mapping of"),
        ("Broken: {signature: 'Tensor', formula: x}\n", 1, "`Tensor` is not `Type name`"),
        ("Broken: {aten: abs, cast: {index: int64}}\n", 1, "has no parameter index"),
        ("Broken:\n  signature: 'Tensor x'\n  formula: [1\n", 4, "expected"),
    ],
)
def test_file_and_line(catalog: Path, text: str, line: int, problem: str) -> None:
    (catalog / "some.yaml").write_text(text, encoding="utf-8")
    place = names.find("Broken")
    assert place is not None
    with pytest.raises(names.MalformedEntry) as raised:
        names.load(place)
    assert f"some.yaml:{line}:" in str(raised.value)
    assert problem in str(raised.value)


def test_a_formula_that_is_no_code(catalog: Path) -> None:
    (catalog / "some.yaml").write_text("Broken: {signature: 'Tensor x', formula: 'x +'}\n", encoding="utf-8")
    place = names.find("Broken")
    assert place is not None
    with pytest.raises(names.MalformedEntry, match=r"some.yaml:1: Broken"):
        names.load(place).operator()


def test_a_name_that_stands_twice(catalog: Path) -> None:
    (catalog / "a.yaml").write_text("Abs: {aten: abs}\n", encoding="utf-8")
    (catalog / "b.yaml").write_text("\nABS: {aten: abs}\n", encoding="utf-8")
    with pytest.raises(names.MalformedEntry, match=r"b.yaml:2: ABS stands at a.yaml:1 already"):
        names.find("Abs")


def test_signatures() -> None:
    parameters = read_signature(
        "aten::f.out(Tensor self, Tensor?[] many, int[2] size=[1, 2], *, Scalar? s=None) -> Tensor"
    )
    assert [(p.name, p.kind, p.many, p.optional, p.required) for p in parameters] == [
        ("self", "tensor", False, False, True),
        ("many", "tensor", True, False, True),
        ("size", "int", True, False, False),
        ("s", "scalar", False, True, False),
    ]
    assert parameters[2].absent == [1, 2]
    assert parameters[3].by_name
