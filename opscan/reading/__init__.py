"""What did the engineer write, and where? Files to specs, cases, plugins, node files and run scripts, with spans."""

from opscan.reading.cases import CaseSpans, locate
from opscan.reading.comments import Comment, comments_of
from opscan.reading.files import ReadFile, discover, read_file, read_source

__all__ = ["CaseSpans", "Comment", "ReadFile", "comments_of", "discover", "locate", "read_file", "read_source"]
