"""Configuration objects: fixed fields with defaults, and the few methods of pydantic's models that plugins call."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from opscan.pyread.atk_models import MODELS, new_fields


class Model:
    """An object with the fields of its class in `opscan.pyread.atk_models` and no others.

    As in ATK's models a keyword that names no field is ignored by the constructor, and assigning to one is a
    ValueError. Lists that the constructor is given are copied where the field is of a list's type; lists that are
    assigned are not.
    """

    FIELDS: ClassVar[Mapping[str, Any]] = {}
    model_fields: ClassVar[Mapping[str, Any]] = {}
    model_name: ClassVar[str] = ""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls) -> None:
        if cls.__name__ in MODELS:  # else it is a plugin's own, with the fields of its base
            cls.model_name = cls.__name__
            cls.FIELDS = cls.model_fields = MODELS[cls.__name__]

    def __init__(self, **values: Any) -> None:
        for name, value in new_fields(type(self).model_name, values).items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "model_fields_set", {name for name in values if name in self.FIELDS})

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.FIELDS and not isinstance(getattr(type(self), name, None), property):
            raise ValueError(f'"{type(self).__name__}" object has no field "{name}"')
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.model_dump() == other.model_dump()

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.FIELDS)
        return f"{type(self).__name__}({shown})"

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Any:
        made = copy.deepcopy(self) if deep else copy.copy(self)
        for name, value in (update or {}).items():
            object.__setattr__(made, name, value)
        return made

    def copy(self, **options: Any) -> Any:
        return self.model_copy(**options)

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return {name: dumped(getattr(self, name)) for name in self.FIELDS}

    def dict(self, **options: Any) -> Any:
        return self.model_dump(**options)

    @classmethod
    def model_validate(cls, values: Any) -> Any:
        return values if isinstance(values, cls) else cls(**values)


def dumped(value: Any) -> Any:
    """Models as dictionaries, also within lists."""
    if isinstance(value, Model):
        return value.model_dump()
    return [dumped(item) for item in value] if isinstance(value, list) else value
