"""The project's `dataclass` against the standard library's: the same classes, made by both, must behave alike."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import opscan.dataclass

CLASSES = """
@dataclass(frozen=True, slots=True)
class Slotted:
    "With its own text."
    a: int
    b: tuple[int, ...] = ()
    c: dict[str, int] = field(default_factory=dict)
    d: float = field(default=0.5)

    def method(self):
        return self.a

@dataclass(frozen=True)
class Frozen:
    a: int
    b: str = "x"
    c: list[int] = field(default_factory=list)

@dataclass(slots=True)
class Changing:
    a: int
    b: int = 2
    c: list[int] = field(default_factory=list)

@dataclass
class Plain:
    a: int
    b: int = 2
    c: list[int] = field(default_factory=list)

@dataclass(frozen=True, slots=True)
class One:
    a: object

@dataclass(frozen=True)
class Nothing:
    pass

@dataclass(frozen=True, slots=True)
class Own:
    a: int
    b: int = 0

    def __eq__(self, other):
        return self.a == other.a

    def __repr__(self):
        return "own"

@dataclass(frozen=True, slots=True)
class OwnHash:
    a: int

    def __hash__(self):
        return 7

@dataclass(eq=False, repr=False)
class ByIdentity:
    a: int

@dataclass(frozen=True, eq=False)
class FrozenByIdentity:
    a: int
"""
NAMES = [line[6:-1] for line in CLASSES.splitlines() if line.startswith("class ")]
CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    ((1,), {}),
    ((1, 2), {}),
    ((), {"a": 1}),
    ((2,), {"b": 1}),
    ((1, 2, [3]), {}),
    ((1, 2, [3], 4), {}),
    ((1, 2, 3, 4, 5), {}),
    ((1,), {"a": 1}),
    ((1,), {"e": 1}),
    ((), {"e": 1}),
    ((), {"b": 1, "a": 2, "c": []}),
]


def namespace(maker: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"dataclass": maker, "field": dataclasses.field, "__name__": __name__}
    exec("from __future__ import annotations\n" + CLASSES, made)
    return made


STANDARD, OURS = namespace(dataclasses.dataclass), namespace(opscan.dataclass.dataclass)
ACTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "shown": lambda one, _: repr(one) if type(one).__repr__ is not object.__repr__ else "",
    "equal": lambda one, other: (one == other, one != other, one == 1),
    "hashed": lambda one, other: hash(one) == hash(other) if type(one).__hash__ else "none",
    "fields": lambda one, _: [(f.name, f.type, f.default, f.default_factory) for f in dataclasses.fields(one)],
    "replaced": lambda one, _: [getattr(dataclasses.replace(one, a=5), name, None) for name in "abcd"],
    "refused": lambda one, _: dataclasses.replace(one, z=5),
    "as a dict": lambda one, _: dataclasses.asdict(one),
    "copied": lambda one, _: copy.copy(one) == one and copy.deepcopy(one) == one,
    "assigned": lambda one, _: setattr(one, "a", 3) or one.a,
    "deleted": lambda one, _: delattr(one, "a"),
    "matched": lambda one, _: type(one).__match_args__,
    "signature": lambda one, _: list(inspect.signature(type(one)).parameters),
    "names": lambda one, _: (type(one).__qualname__, type(one).__module__, hasattr(one, "__dict__")),
    "attribute": lambda one, _: [getattr(one, name) for name in "abcd" if hasattr(one, name)],
    "of the class": lambda one, _: [vars(type(one)).get(name) for name in "abc" if not hasattr(type(one), "__slots__")],
}  # fmt: skip


def outcome(action: Callable[[], Any]) -> Any:
    try:
        return action()
    except (TypeError, AttributeError) as problem:
        return type(problem)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("action", ACTIONS)
def test_a_class_behaves_as_the_standard_one(name: str, action: str) -> None:
    for values, named in CALLS:

        def told(made: dict[str, Any], v: Any = values, n: Any = named) -> Any:
            return outcome(lambda: ACTIONS[action](made[name](*v, **n), made[name](*v, **n)))

        assert told(OURS) == told(STANDARD), (values, named)


@pytest.mark.parametrize("name", NAMES)
def test_a_constructor_is_the_same_before_and_after_it_is_compiled(name: str) -> None:
    fresh, standard = namespace(opscan.dataclass.dataclass), STANDARD[name]
    for values, named in CALLS:
        seen = [outcome(lambda n=named, v=values, f=fresh: _content(f[name](*v, **n))) for _ in range(30)]
        assert seen == [outcome(lambda n=named, v=values: _content(standard(*v, **n)))] * 30
        fresh = namespace(opscan.dataclass.dataclass)
    assert inspect.isfunction(fresh[name].__init__)


def _content(one: Any) -> list[Any]:
    return [getattr(one, name) for name in "abcd" if hasattr(one, name)]


def test_frozen_values_cross_process_borders() -> None:
    from opscan.model import Choices, Span, SpecInput

    one = SpecInput("x", "tensor", span=Span(1, 2, 3, 4, 5, 6), ranges=Choices((1,), (0.5,)))
    assert pickle.loads(pickle.dumps(one)) == one
    assert pickle.loads(pickle.dumps(one)).boundary == {}


def test_a_value_within_itself_can_be_shown() -> None:
    one = OURS["Plain"](1)
    one.c.append(one)
    assert repr(one) == "Plain(a=1, b=2, c=[...])"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a: ClassVar[int] = 1", TypeError),
        ("a: int = field(default=1, compare=False)", TypeError),
        ("a: int = field(default=1, kw_only=True)", TypeError),
        ("a: list = []", ValueError),
        ("a: int\n    def __post_init__(self): ...", TypeError),
    ],
)
def test_what_is_not_there_is_refused(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        exec(
            f"from __future__ import annotations\n@dataclass\nclass A:\n    {text}",
            namespace(opscan.dataclass.dataclass),
        )


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("Nothing", "Changing", "Plain")])
def test_a_class_of_the_standard_library_can_inherit(name: str) -> None:
    for made in (STANDARD, OURS):
        base = made[name]
        frozen = base.__dataclass_params__.frozen
        content = {"__annotations__": {"z": "int"}, "z": 9, "__module__": __name__}
        below = dataclasses.dataclass(frozen=frozen)(type("Below", (base,), content))
        assert [field.name for field in dataclasses.fields(below)] == [*base.__match_args__, "z"]
        assert below(1, z=2).z == 2
        assert below(1) == below(1) != below(2)
        assert dataclasses.replace(below(1), a=3).a == 3
        with pytest.raises(TypeError, match="inherit"):
            dataclasses.dataclass(frozen=not frozen)(type("Below", (base,), content))


def test_a_base_with_fields_is_refused() -> None:
    with pytest.raises(TypeError, match="has a base with fields"):
        opscan.dataclass.dataclass(type("Below", (OURS["Plain"],), {"__annotations__": {"z": "int"}}))


def test_what_a_run_of_the_hook_loads_makes_no_class_the_slow_way() -> None:
    probe = """
import sys
from opscan.cli import cli
cli.main(["audit", *sys.argv[1:]], standalone_mode=False)
ours = [one for name, module in sys.modules.items() if name.startswith("opscan") for one in vars(module).values()]
classes = [one for one in ours if "__dataclass_params__" in getattr(one, "__dict__", ())]
print([one for one in classes if type(vars(one)["__dataclass_params__"]).__module__ != "opscan.dataclass"])
"""
    from opscan.data import data_path

    specs = [str(data_path("catalog", "1000", name)) for name in ("torch.where.yaml", "torch.where_backward.yaml")]
    done = subprocess.run([sys.executable, "-c", probe, *specs], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
