"""The entries that ship can be read, each and whole; a wrong one is refused with its file, line and field."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

import opscan.numerics.declared
from opscan.data import data_path
from opscan.numerics.declared.entries import Entry, MalformedEntry, Place, find, index, read_entry
from opscan.numerics.declared.namespaces import SHAPES
from opscan.numerics.kinds import kind_of

CATALOG_BYTES = 600_000
"""What the whole catalog's data may take, so that people can read it."""
SHAPE_MODULES = [path.stem for path in Path(opscan.numerics.declared.__file__).parent.glob("*shapes.py")]
PLACE = Place(Path("steps/family.yaml"), "some", 0, 0, 7)


def compile_all(entry: Entry) -> None:
    """Expressions are compiled when they are first evaluated. Raises MalformedEntry."""
    for expression in (entry.shape, entry.dtype, entry.formula, *(entry.gradients or {}).values()):
        assert expression is None or expression.compiled


@pytest.mark.parametrize("name", sorted(index()))
def test_an_entry_can_be_read(name: str) -> None:
    entry = find(name)
    assert entry is not None
    compile_all(entry)
    if entry.formula is None:
        assert kind_of(entry.name) is not None, "a packet without a kind is unknown"
        assert entry.source, "a packet names what it was written from"


def test_the_catalog_is_fit_to_be_read() -> None:
    folders = [data_path("catalog", folder) for folder in ("steps", "aten", "operators")]
    assert sum(file.stat().st_size for folder in folders for file in folder.iterdir()) < CATALOG_BYTES


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"shape": "self"}, "needs a name, or a mapping with `call`"),
        ({"call": "Tensor self", "gradient": {}}, "needs a name, or a mapping with `call`"),
        ({"call": "Tensor"}, "`Tensor` is not `Type name`"),
        ({"call": "Tensor self", "grad": {"other": "grad"}}, "has gradients for other, no parameter"),
        ({"call": "Tensor self", "grad": {"self": "grad *"}}, "self: not Python"),
        ({"call": "Tensor self", "shape": "nowhere(self)"}, "`nowhere` is no parameter, no operator"),
        ({"call": "Tensor self", "formula": "__import__('os')"}, "`__import__` is no parameter, no operator"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_place(content: dict[str, object], told: str) -> None:
    with pytest.raises(MalformedEntry) as problem:
        compile_all(read_entry(PLACE, content))
    assert str(problem.value).startswith("steps/family.yaml:7: some")
    assert told in str(problem.value)


def test_a_shape_function_means_one_thing() -> None:
    modules = [import_module(f"opscan.numerics.declared.{name}") for name in SHAPE_MODULES]
    names = Counter(name for module in modules for name in module.__all__)
    assert [name for name, times in names.items() if times > 1] == []


def test_no_shape_function_hides_an_operator() -> None:
    modules = [import_module(f"opscan.numerics.declared.{name}") for name in SHAPES]
    functions = {name for module in modules for name in module.__all__}
    assert not functions & set(index())
