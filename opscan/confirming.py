"""What emulation says of a standard that is called inadequate, before it is said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from opscan.config import Settings
from opscan.emulating.confirming import CASES, Emulation, emulate
from opscan.judging import Judge
from opscan.judging.case_tally import CaseProblem
from opscan.judging.messages import doubtful
from opscan.judging.specs import Judged
from opscan.judging.verdicts import judge_case
from opscan.model import Case, CaseFile, Classification, Finding, Plugin

_INADEQUATE = "standard-inadequate"


def confirmed(judged: Judged, golden: Plugin | str | None, judge: Judge, settings: Settings) -> Judged:
    """A spec's judgement: the finding goes where emulation does not bear it out, and says the count where it does."""
    if not any(one.name == _INADEQUATE for one in judged.findings):
        return judged
    found = emulate(judged.verdicts, golden, judge, settings.seed)
    if not found.refutes(settings.limit):
        after = _emulated_after(judged, golden, judge, settings) if found.draws and judged.doubt else None
        settled = after if judged.certain and after is not None and after.refutes(settings.limit) else None
        changed = [_confirmed(one, judged.doubt, found, settled) for one in judged.findings]
        return replace(judged, findings=tuple(changed))
    left = tuple(one for one in judged.findings if one.name != _INADEQUATE)
    tensors = tuple(replace(one, status="ok") if one.status == "too-strict" else one for one in judged.report.tensors)
    reason = f"predicted to be too strict, but {found.text}"
    report = replace(judged.report, status="ok", reason=reason, tensors=tensors)
    return replace(judged, report=report, findings=left, proposal=None)


def _emulated_after(judged: Judged, golden: Plugin | str | None, judge: Judge, settings: Settings) -> Emulation:
    """What emulated devices do under what is to be written, so that both sides of the edit are run."""
    verdicts = [judge_case(one.case, one.classification, judged.proposal, judge) for one in judged.verdicts]
    return emulate(verdicts, golden, judge, settings.seed)


def _confirmed(finding: Finding, doubt: str, found: Emulation, after: Emulation | None) -> Finding:
    """The finding with what was counted. `after`: the same under what is to be written, where that settles it."""
    if finding.name != _INADEQUATE:
        return finding
    if after is None:
        return replace(finding, message=f"{finding.message}; {found.text}")
    message = finding.message.replace(doubtful(doubt), "")
    changed = f"{message}; {found.text}, {after.failed} of {after.draws} under the standard that fits"
    return replace(finding, message=changed, severity="error", fix="safe")


def confirmed_cases(
    case_file: CaseFile,
    problems: Sequence[CaseProblem],
    goldens: Mapping[str, Plugin | str],
    classify: Callable[[Sequence[Case]], Sequence[Classification]],
    judge: Judge,
    settings: Settings,
) -> tuple[CaseProblem, ...]:
    """The problems of a case file: one that emulation does not bear out is a note without an edit."""

    def confirm(problem: CaseProblem) -> CaseProblem:
        if problem.finding.name != _INADEQUATE:
            return problem
        wanted = set(problem.indices[:: max(len(problem.indices) // CASES, 1)])
        cases = [case for case in case_file.cases if case.index in wanted]
        known = zip(cases, classify(cases), strict=True)
        verdicts = [judge_case(case, changed, case.acc, judge) for case, changed in known]
        golden = goldens.get(cases[0].api_type) if cases else None
        found = emulate(verdicts, golden, judge, settings.seed)
        changed = replace(problem.finding, message=f"{problem.finding.message}; {found.text}")
        if not found.refutes(settings.limit):
            return replace(problem, finding=changed)
        return replace(problem, finding=replace(changed, severity="info", fix="none"), chosen=(), proposals=())

    return tuple(map(confirm, problems))
