"""The base class of generators: takes the next drawn case and passes it through the two hooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class CaseGenerator:
    """`index` counts the cases; in `after_case_config` it is already that of the next one, and the case's id is 0."""

    config: Any = None
    index = 0
    case_numbers = 0
    """How many cases the spec asks for."""
    drawn: Iterator[Any] = iter(())
    """The cases as they were drawn; the sandbox puts them here."""

    def __init__(self, config: Any = None, *_: Any, **__: Any) -> None:
        self.config = config
        self.index = 0

    @property
    def is_gen_extra(self) -> bool:
        """Whether boundary cases are being generated."""
        return bool(getattr(self.config, "is_gen_extra", False))

    def after_input_config(self, index: int, input_case: Any) -> Any:
        del index
        return input_case

    def after_case_config(self, case_config: Any) -> Any:
        return case_config

    def _get_case_numbers(self) -> int:
        return self.case_numbers

    def generate(self) -> Any:
        """The next case after both hooks; a hook that returns nothing has changed what it was given."""
        case = next(self.drawn)
        for place, given in enumerate(case.inputs or []):
            changed = self.after_input_config(place, given)
            case.inputs[place] = given if changed is None else changed
        self.index += 1
        changed = self.after_case_config(case)
        return case if changed is None else changed
