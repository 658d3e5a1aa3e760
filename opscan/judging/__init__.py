"""Which standard fits, and is it the one written? Verdicts, findings and what to write instead."""

from opscan.judging.casefiles import CaseProblem, JudgedCases, judge_case_file
from opscan.judging.findings import from_faults
from opscan.judging.specs import Judged, judge_spec
from opscan.judging.verdicts import Judge

__all__ = ["CaseProblem", "Judge", "Judged", "JudgedCases", "from_faults", "judge_case_file", "judge_spec"]
