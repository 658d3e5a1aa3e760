"""What did the engineer write, and where? Files to specs, cases, plugins, node files and run scripts, with spans."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from opscan.reading.files import ReadFile, read_file, read_source

if TYPE_CHECKING:
    from opscan.reading.case_spans import CaseSpans, locate, located, values_of
    from opscan.reading.comments import Comment, comments_of

__all__ = [
    "CaseSpans",
    "Comment",
    "ReadFile",
    "comments_of",
    "locate",
    "located",
    "read_file",
    "read_source",
    "values_of",
]

_LATER = {"case_spans": ("CaseSpans", "locate", "located", "values_of"), "comments": ("Comment", "comments_of")}
"""What few runs need, by its module."""


def __getattr__(name: str) -> Any:
    for module, names in _LATER.items():
        if name in names:
            return getattr(import_module(f"opscan.reading.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
