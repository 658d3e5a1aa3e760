"""Classes whose constructor Python writes: dataclasses, named tuples and enumerations."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from opscan.pyread.stops import CannotFollow, PluginRaise
from opscan.pyread.values import (
    ClassValue,
    DefaultDict,
    ExceptionValue,
    HostFunction,
    Instance,
    NamedTuple,
    Silent,
    deep_copy,
)

if TYPE_CHECKING:
    from opscan.pyread.machine import Machine

ENUM = ClassValue("Enum")


class Auto:
    """`enum.auto()`: one more than the member before."""


NAMED_TUPLE = ClassValue("NamedTuple")
_NONE = object()
_SETTINGS = frozenset({"frozen", "slots", "repr", "eq", "init", "kw_only", "order", "unsafe_hash", "match_args"})


class Field:
    """`dataclasses.field(...)`: what a field holds where nothing is given."""

    def __init__(self, default: Any = _NONE, default_factory: Any = _NONE, init: bool = True) -> None:
        self.default = default
        self.factory = default_factory
        self.init = init


def _field(*, default: Any = _NONE, default_factory: Any = _NONE, init: bool = True, **other: Any) -> Field:
    if set(other) - {"repr", "compare", "hash", "metadata", "kw_only"} or other.get("compare") is False:
        raise CannotFollow("`field` with these arguments")
    return Field(default, default_factory, init)


def _dataclass(*args: Any, **settings: Any) -> Any:
    """The decorator, bare or with settings."""
    if set(settings) - _SETTINGS or not all(type(value) is bool for value in settings.values()):
        raise CannotFollow("`dataclass` with these settings")
    if settings.get("init") is False or settings.get("eq") is False or settings.get("order"):
        raise CannotFollow("`dataclass` with these settings")
    if not args:
        return HostFunction("dataclass", lambda cls: _dataclass(cls, **settings), pure=True)
    cls = args[0]
    if not isinstance(cls, ClassValue):
        raise CannotFollow("`dataclass` of anything but a class")
    fields: dict[str, Any] = {}
    for above in reversed(cls.order[1:]):
        fields.update(above.fields or {})
    fields.update({name: cls.attributes.get(name, _NONE) for name in cls.annotated})
    for name in cls.annotated:
        if isinstance(cls.attributes.get(name), Field):
            del cls.attributes[name]
            if fields[name].default is not _NONE:
                cls.attributes[name] = fields[name].default
        elif type(fields[name]) in {list, dict, set, DefaultDict}:
            raise PluginRaise(ExceptionValue(ValueError, ("mutable default for a field: use default_factory",)))
    cls.fields, cls.frozen = fields, settings.get("frozen", False)
    if "__init__" not in cls.attributes:
        by_name = settings.get("kw_only", False)
        cls.attributes["__init__"] = HostFunction("__init__", _constructor(cls, by_name), method=True)
    return cls


def _constructor(cls: ClassValue, by_name: bool) -> Any:
    def create(ev: Machine, instance: Instance, *args: Any, **named: Any) -> None:
        fields = cls.fields or {}
        given = [name for name, value in fields.items() if not isinstance(value, Field) or value.init]
        values = {**dict(zip([] if by_name else given, args, strict=False)), **named}
        taken = set(given[: len(args)]) & set(named)
        if len(args) > (0 if by_name else len(given)) or taken or set(values) - set(given):
            raise TypeError(f"wrong fields for {cls.name}()")
        for name, default in fields.items():
            if name not in values:
                values[name] = _default(ev, cls, name, default)
        instance.attributes.update({name: values[name] for name in fields})
        if cls.has("__post_init__"):
            ev.call(ev.bind(cls.find("__post_init__"), instance), [])

    return create


def _default(ev: Machine, cls: ClassValue, name: str, default: Any) -> Any:
    if not isinstance(default, Field):
        if default is _NONE:
            raise TypeError(f"{cls.name}() is missing {name}")
        return default
    if default.factory is not _NONE:
        return ev.call(default.factory, [])
    if default.default is _NONE:
        raise TypeError(f"{cls.name}() is missing {name}")
    return default.default


def _fields_of(value: Any) -> dict[str, Any]:
    if not isinstance(value, Instance) or value.cls.fields is None:
        raise CannotFollow("a function of `dataclasses` on anything but an object of a dataclass")
    return {name: value.attributes[name] for name in value.cls.fields}


def _as_dict(ev: Machine, value: Any) -> Any:
    def converted(item: Any) -> Any:
        ev.budget.left -= 1
        if isinstance(item, Instance) and item.cls.fields is not None:
            return {name: converted(one) for name, one in _fields_of(item).items()}
        if type(item) in {list, tuple}:
            return type(item)(converted(one) for one in item)
        if type(item) is dict:
            return {key: converted(one) for key, one in item.items()}
        return deep_copy(item)

    _fields_of(value)
    return converted(value)


def _replace(ev: Machine, value: Any, **changed: Any) -> Any:
    return ev.call(value.cls, [], {**_fields_of(value), **changed})


def _names(value: Any) -> tuple[Any, ...]:
    cls = value.cls if isinstance(value, Instance) else value
    if not isinstance(cls, ClassValue) or cls.fields is None:
        raise CannotFollow("`fields` of anything but a dataclass")
    kind = ClassValue("Field")
    return tuple(Instance(kind, {"name": name}) for name in cls.fields)


DATACLASSES: dict[str, Any] = {
    "dataclass": HostFunction("dataclass", _dataclass, pure=True),
    "field": HostFunction("field", _field, pure=True),
    "asdict": HostFunction("asdict", _as_dict),
    "astuple": HostFunction("astuple", lambda ev, value: tuple(_as_dict(ev, value).values())),
    "replace": HostFunction("replace", _replace),
    "fields": HostFunction("fields", _names, pure=True),
    "is_dataclass": HostFunction(
        "is_dataclass", lambda value: getattr(getattr(value, "cls", value), "fields", None) is not None, pure=True
    ),
}


# -- named tuples ------------------------------------------------------------------------------------------------------


def named_tuple(_: Machine, name: str, fields: Any, *, defaults: Any = ()) -> ClassValue:
    """`collections.namedtuple(name, fields)`."""
    names = fields.replace(",", " ").split() if type(fields) is str else list(fields)
    if not all(type(one) is str and one.isidentifier() and not one.startswith("_") for one in names):
        raise CannotFollow("`namedtuple` with such fields")
    cls = ClassValue(name, (NAMED_TUPLE,))
    values = [_NONE] * (len(names) - len(defaults)) + list(defaults)
    cls.fields = dict(zip(names, values, strict=True))
    return cls


def make_named_tuple(cls: ClassValue, args: list[Any], named: dict[str, Any]) -> NamedTuple:
    """A call of a class of named tuples."""
    fields = cls.fields or {}
    values = {**fields, **dict(zip(fields, args, strict=False)), **named}
    twice = set(list(fields)[: len(args)]) & set(named)
    if len(args) > len(fields) or twice or list(values) != list(fields) or _NONE in values.values():
        raise TypeError(f"wrong fields for {cls.name}()")
    return NamedTuple(cls, values.values())


# -- enumerations ------------------------------------------------------------------------------------------------------


def finish_class(cls: ClassValue, annotated: tuple[str, ...]) -> None:
    """What Python makes of the body of a class by what it derives from."""
    cls.annotated = annotated
    if NAMED_TUPLE in cls.bases:
        cls.fields = {name: cls.attributes.pop(name, _NONE) for name in annotated}
    elif cls.derives_from(ENUM):
        _make_members(cls)


def _make_members(cls: ClassValue) -> None:
    cls.members, last = [], 0
    for name, given in list(cls.attributes.items()):
        value = last + 1 if isinstance(given, Auto) else given
        if name == "_missing_" or isinstance(value, Silent):
            raise CannotFollow(f"enumeration `{cls.name}`")
        if name.startswith("_") or type(value) not in {int, float, str, bool, tuple, list, dict, type(None)}:
            continue
        last = value if type(value) is int else last
        same = next((one for one in cls.members if one.attributes["value"] == value), None)
        member = same or Instance(cls, {"name": name, "value": value})
        cls.attributes[name] = member
        if same is None:
            cls.members.append(member)


def member_of(cls: ClassValue, args: list[Any]) -> Instance:
    """`Enumeration(value)`."""
    for member in cls.members or ():
        if len(args) == 1 and (member is args[0] or member.attributes["value"] == args[0]):
            return member
    raise ValueError(f"{args!r:.80} is not a valid {cls.name}")


def annotated_names(body: list[ast.stmt]) -> tuple[str, ...]:
    """The names that a class's body annotates, but for class variables."""
    return tuple(
        statement.target.id
        for statement in body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and "ClassVar" not in ast.dump(statement.annotation)
    )
