"""`dataclass` as the standard library's, made in a fraction of the time.

The standard library compiles six functions for every class while its module is imported, half a millisecond a class,
and the hook's usual run imports a hundred. Here a method is compiled when it is needed, the fields are described when
`replace` or `fields` first asks, and all else is shared. What is rare is refused: a base that has fields,
pseudo-fields, and options of `field` besides a default. Type checkers see the standard library's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "replace"]


def _dataclass(
    cls: type | None = None, /, *, frozen: bool = False, slots: bool = False, eq: bool = True, repr: bool = True
) -> Any:
    """Make a class of annotated fields; the options are those of `dataclasses.dataclass`.

    Raises TypeError for a class that needs more than there is here.
    """

    def make(given: type) -> type:
        return _made(given, frozen=frozen, slots=slots, eq=eq, shown=repr)

    return make if cls is None else make(cls)


def _made(cls: type, *, frozen: bool, slots: bool, eq: bool, shown: bool) -> type:
    names = tuple(cls.__annotations__)
    defaults = {name: vars(cls)[name] for name in names if name in vars(cls)}
    _refuse_what_is_rare(cls, defaults)
    made = {"__match_args__": names, "__dataclass_fields__": _Fields(defaults)}
    made |= {"__dataclass_params__": _Options(frozen=frozen, eq=eq, repr=shown)}
    made |= {"__init__": _Init(defaults, frozen=frozen, slots=slots)} | ({"__repr__": _shown} if shown else {})
    if eq:
        made |= {"__eq__": _Compiled(_eq), "__hash__": _Compiled(_hash) if frozen else None}
    if frozen:
        made |= {"__setattr__": _assigned, "__delattr__": _deleted}
        made |= {"__getstate__": _state, "__setstate__": _restored} if slots else {}
    made = {name: value for name, value in made.items() if vars(cls).get(name) is None}
    if slots:
        return _slotted(cls, names, made)
    plain = _plain_defaults(defaults)
    for name, value in (plain | made).items():
        setattr(cls, name, value)
        if isinstance(value, (_Fields, _Compiled)):
            value.__set_name__(cls, name)
    for name in defaults.keys() - plain.keys():
        delattr(cls, name)
    return cls


def _slotted(cls: type, names: tuple[str, ...], made: Mapping[str, Any]) -> type:
    """The class anew, since slots cannot be given to one that is there."""
    left = {name: value for name, value in vars(cls).items() if name not in (*names, "__dict__", "__weakref__")}
    new = type(cls)(cls.__name__, cls.__bases__, {**left, **made, "__slots__": names})
    new.__qualname__ = cls.__qualname__
    return new


def _refuse_what_is_rare(cls: type, defaults: Mapping[str, Any]) -> None:
    if any(hasattr(base, "__dataclass_fields__") for base in cls.__mro__[1:]):
        raise TypeError(f"{cls.__name__} has a base with fields; use dataclasses.dataclass for both")
    for name, kind in cls.__annotations__.items():
        if "ClassVar" in str(kind) or "InitVar" in str(kind) or "KW_ONLY" in str(kind):
            raise TypeError(f"{cls.__name__}.{name} is no field; use dataclasses.dataclass")
    if hasattr(cls, "__post_init__"):
        raise TypeError(f"{cls.__name__} has a __post_init__; use dataclasses.dataclass")
    for name, default in defaults.items():
        if isinstance(default, dataclasses.Field):
            if not (default.init and default.repr and default.compare) or default.kw_only is True:
                raise TypeError(f"{cls.__name__}.{name} has options besides a default; use dataclasses.dataclass")
        elif type(default).__hash__ is None:
            raise ValueError(f"the default of {cls.__name__}.{name} can change; use a default_factory")


def _plain_defaults(defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults that are values: a factory has none until it is called."""
    plain = {n: d.default if isinstance(d, dataclasses.Field) else d for n, d in defaults.items()}
    return {name: default for name, default in plain.items() if default is not dataclasses.MISSING}


class _Fields:
    """`__dataclass_fields__`: made by the standard library when it is first looked at."""

    def __init__(self, defaults: Mapping[str, Any]) -> None:
        self._defaults = defaults

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner

    def __get__(self, _: Any, asked: type | None = None) -> Any:
        content = {"__annotations__": self._owner.__annotations__, "__module__": self._owner.__module__, "__doc__": "-"}
        twin = type(self._owner.__name__, (), {**content, **self._defaults})
        fields = dataclasses.fields(dataclasses.dataclass(init=False, repr=False, eq=False)(twin))
        self._owner.__dataclass_fields__ = {field.name: field for field in fields}  # type: ignore[attr-defined]
        return self._owner.__dataclass_fields__  # type: ignore[attr-defined]


class _Options:
    """`__dataclass_params__`: asked for where a class of the standard library's inherits from one of ours."""

    def __init__(self, **options: bool) -> None:
        self._options = options

    def __get__(self, instance: Any, asked: type | None = None) -> Any:
        make: Any = dataclasses.dataclass
        return make(**self._options)(type("Twin", (), {})).__dataclass_params__


class _Compiled:
    """A method that is compiled when it is first looked up. `write`: its source, and the names it uses, for a class."""

    def __init__(self, write: Callable[[Any], tuple[str, dict[str, Any]]]) -> None:
        self._write = write

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: Any, asked: type | None = None) -> Any:
        source, names = self._write(self._owner)
        exec(source, names)
        method = names[self._name]
        method.__qualname__, method.__module__ = f"{self._owner.__qualname__}.{self._name}", self._owner.__module__
        setattr(self._owner, self._name, method)
        return method if instance is None else method.__get__(instance)


_FEW = 24
"""So many objects are made without a compiled `__init__`: that takes 3 us an object more, to compile one 80 us."""


class _Init(_Compiled):
    """`__init__`: compiled once a class has more than a few objects; whatever is odd is left to the compiled one."""

    def __init__(self, defaults: Mapping[str, Any], *, frozen: bool, slots: bool) -> None:
        super().__init__(self._source)
        self._defaults, self._frozen, self._slots = defaults, frozen, slots
        self._made = 0

    def __get__(self, instance: Any, asked: type | None = None) -> Any:
        self._made += 1
        if instance is None or self._made > _FEW:
            return super().__get__(instance, asked)
        return partial(self._fill, instance)

    def _fill(self, instance: Any, *args: Any, **kwargs: Any) -> None:
        names: tuple[str, ...] = self._owner.__match_args__  # type: ignore[attr-defined]
        values = {**self._defaults, **dict(zip(names, args, strict=False)), **kwargs}
        odd = len(args) > len(names) or not kwargs.keys().isdisjoint(names[: len(args)])
        if odd or values.keys() != set(names):
            super().__get__(instance)(*args, **kwargs)
            return
        for name in names:
            value = values[name]
            if isinstance(value, dataclasses.Field):  # not given
                value = value.default if value.default_factory is dataclasses.MISSING else value.default_factory()
            object.__setattr__(instance, name, value)

    def _source(self, owner: Any) -> tuple[str, dict[str, Any]]:
        plain = _plain_defaults(self._defaults)
        names: dict[str, Any] = {"_absent": object(), "_set": object.__setattr__}
        heads, lines = ["self"], []
        for name in owner.__match_args__:
            value = name
            if name in plain:
                names[f"_default_{name}"] = plain[name]
                heads.append(f"{name}=_default_{name}")
            elif name in self._defaults:
                names[f"_make_{name}"] = self._defaults[name].default_factory
                heads.append(f"{name}=_absent")
                value = f"_make_{name}() if {name} is _absent else {name}"
            else:
                heads.append(name)
            if not self._frozen:
                lines.append(f"self.{name} = {value}")
            elif self._slots:
                names[f"_set_{name}"] = vars(owner)[name].__set__
                lines.append(f"_set_{name}(self, {value})")
            else:
                lines.append(f"_set(self, {name!r}, {value})")
        return f"def __init__({', '.join(heads)}):\n " + "\n ".join(lines or ["pass"]), names


def _eq(owner: Any) -> tuple[str, dict[str, Any]]:
    same = f"{_listed('self', owner)} == {_listed('other', owner)}"
    return f"def __eq__(self, other):\n return {same} if other.__class__ is self.__class__ else NotImplemented", {}


def _hash(owner: Any) -> tuple[str, dict[str, Any]]:
    return f"def __hash__(self):\n return hash({_listed('self', owner)})", {}


def _listed(what: str, owner: Any) -> str:
    return f"({''.join(f'{what}.{name}, ' for name in owner.__match_args__)})"


@recursive_repr()
def _shown(self: Any) -> str:
    fields = ", ".join([f"{name}={getattr(self, name)!r}" for name in self.__match_args__])
    return f"{self.__class__.__qualname__}({fields})"


def _assigned(_: Any, name: str, _value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _deleted(_: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__match_args__]


def _restored(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__match_args__, state, strict=True):
        object.__setattr__(self, name, value)


def _replace(value: Any, /, **changes: Any) -> Any:
    """A copy with other values of some fields, as `dataclasses.replace` makes it, without a call of `__init__`."""
    cls = type(value)
    made = object.__new__(cls)
    for name in cls.__match_args__:
        object.__setattr__(made, name, changes.pop(name) if name in changes else getattr(value, name))
    if changes:
        raise TypeError(f"{cls.__name__} has no field {', '.join(changes)}")
    return made


if TYPE_CHECKING:
    from dataclasses import dataclass, replace
else:
    dataclass = _dataclass
    replace = _replace
