"""What an audit asks the processes that trace for it, and what they answer."""

from __future__ import annotations

from dataclasses import replace

from opscan.dataclass import dataclass
from opscan.model import Case, Classification, Plugin

OUT_OF_MEMORY = "needs more memory than there is for a trace"
"""How the reason of a case ends that could not allocate what it needs."""
NEEDS_TORCH = "tracing needs PyTorch"
"""How the reason begins where nothing can be traced at all."""


@dataclass(frozen=True, slots=True)
class Question:
    """A case to classify. `golden`: the plugin whose executor holds its golden, or why that cannot be read.

    Only where no plugin is at hand (None) the name of the case decides.
    """

    case: Case
    golden: Plugin | str | None = None

    def without_tree(self) -> Question:
        """The same without the plugin's syntax tree, larger than its text and at times too deep to pickle."""
        golden = self.golden
        return replace(self, golden=replace(golden, tree=None) if isinstance(golden, Plugin) else golden)


@dataclass(frozen=True, slots=True)
class Answer:
    """`lasting`: it holds for the next run too. `missing`: PyTorch cannot be imported, and why."""

    classification: Classification
    lasting: bool = True
    missing: str = ""


def missing_torch(problem: Exception | str) -> Answer:
    """The answer where PyTorch cannot be imported."""
    reason = f"{NEEDS_TORCH} (pip install 'opscan-ascend[torch]'): {problem}"
    return Answer(Classification((), "none", reason), lasting=False, missing=reason)
