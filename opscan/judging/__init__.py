"""Which standard fits, and is it the one written? Verdicts, findings and what to write instead.

`judging.specs` judges specs and `judging.casefiles` case files; a run imports the one it needs.
"""

from opscan.judging.findings import find, from_faults
from opscan.judging.settings import Judge

__all__ = ["Judge", "find", "from_faults"]
