"""What did the engineer write, and where? Files to specs, cases, plugins, node files and run scripts, with spans."""

from opscan.reading.case_spans import CaseSpans, locate, located
from opscan.reading.comments import Comment, comments_of
from opscan.reading.files import ReadFile, discover, read_file, read_source

__all__ = [
    "CaseSpans",
    "Comment",
    "ReadFile",
    "comments_of",
    "discover",
    "locate",
    "located",
    "read_file",
    "read_source",
]
