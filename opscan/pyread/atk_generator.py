"""ATK's base class of generators: it takes the next drawn case and passes it through the two hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opscan.pyread.stops import CannotFollow
from opscan.pyread.values import ClassValue, FunctionValue, HostFunction, Instance

if TYPE_CHECKING:
    from opscan.pyread.machine import Machine

_STEPS = 50
"""What a drawn case costs: a plugin may take one after the other until one fits."""


def _init(generator: Instance, config: Any = None, *_: Any, **__: Any) -> None:
    generator.attributes.setdefault("index", 0)
    generator.attributes["config"] = config


def _generate(ev: Machine, generator: Instance) -> Any:
    """The next case after both hooks; a hook that returns nothing has changed what it was given."""
    ev.budget.left -= _STEPS
    if ev.budget.left < 0:
        raise ev.budget.exhausted()
    record = next(ev.drawn)
    inputs = record.fields["inputs"]
    hook = ev.attribute(generator, "after_input_config")
    if _is_overridden(generator, "after_input_config"):
        for position, given in enumerate(inputs):
            changed = ev.call(hook, [position, given])
            inputs[position] = given if changed is None else changed
    index = generator.attributes.get("index", 0)
    if type(index) is not int:
        raise CannotFollow("`self.index` that is no number")
    generator.attributes["index"] = index + 1
    changed = ev.call(ev.attribute(generator, "after_case_config"), [record])
    return record if changed is None else changed


def _is_overridden(generator: Instance, name: str) -> bool:
    return isinstance(generator.cls.find(name), FunctionValue) or name in generator.attributes


def _count(ev: Machine, _: Instance) -> int:
    return ev.case_numbers


def _is_gen_extra(_: Machine, generator: Instance) -> Any:
    """Whether boundary cases are being generated."""
    config = generator.attributes.get("config")
    return getattr(config, "fields", {}).get("is_gen_extra", False)


BASE_GENERATOR = ClassValue(
    "CaseGenerator",
    attributes={
        "__init__": HostFunction("__init__", _init, pure=True, method=True),
        "after_input_config": HostFunction("after_input_config", lambda _, __, given: given, pure=True, method=True),
        "after_case_config": HostFunction("after_case_config", lambda _, case: case, pure=True, method=True),
        "generate": HostFunction("generate", _generate, method=True),
        "_get_case_numbers": HostFunction("_get_case_numbers", _count, method=True),
        "is_gen_extra": HostFunction("is_gen_extra", _is_gen_extra, method=True, property=True),
    },
)
