"""The journey of every file: read, link, find shapes, classify, judge, attach edits. Nothing here prints or writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from opscan import reading
from opscan.config import Settings
from opscan.judging import Judge, find, from_faults
from opscan.model import Audit, CaseFile, Edit, FileReport, Finding, NodeFile, Plugin, RunScript, Source, Spec, Unread
from opscan.numerics import Classifier, Store
from opscan.shapes import Catalog, companions, gather_evidence, link, scenarios

if TYPE_CHECKING:
    from opscan.judging.casefiles import CaseProblem

KINDS = {Spec: "spec", CaseFile: "cases", NodeFile: "nodes", Plugin: "plugin", RunScript: "other"}


@dataclass(frozen=True, slots=True)
class Audited:
    """An audit with the text of every file that was read, by the path its reports carry."""

    audit: Audit
    sources: dict[str, Source]


def audit_paths(paths: Sequence[Path], settings: Settings, progress: Callable[[str], None] | None = None) -> Audited:
    """Audit every file named by `paths` or below them. Bad input becomes findings; nothing is raised for it."""
    found, missing = reading.discover(paths)
    files = [reading.read_file(path) for path in found]
    known = {_path_of(file).resolve() for file in files}
    beside = [
        reading.read_file(path)
        for file in files
        if isinstance(file, Spec)
        for path in companions(file.source.path)
        if path.resolve() not in known and not known.add(path.resolve())  # type: ignore[func-returns-value]
    ]
    catalog = link([*files, *beside])
    run = _Run(settings, catalog)
    for path in paths:
        if path.is_dir() and not any(_lies_below(_path_of(file), path) for file in files):
            run.add_finding(find("nothing-to-audit", path.as_posix(), f"no file to audit below {path.as_posix()}"))
    for file in (*missing, *files):
        if progress:
            progress(str(_path_of(file)))
        run.add(file)
    return run.result()


class _Run:
    """Collects reports and findings; the classifier remembers across files."""

    def __init__(self, settings: Settings, catalog: Catalog) -> None:
        self._settings = settings
        self._catalog = catalog
        self._judge = Judge(settings.atk_version, settings.upstream, settings.limit)
        self._classifier = Classifier(Store())
        self._reports: list[FileReport] = []
        self._findings: list[Finding] = []
        self._sources: dict[str, Source] = {}

    def add_finding(self, finding: Finding) -> None:
        self._findings.append(finding)

    def add(self, file: reading.ReadFile) -> None:
        shown = _path_of(file).as_posix()
        if not isinstance(file, Unread):
            self._sources[shown] = file.source
        faults = from_faults(shown, getattr(file, "faults", ()))
        broken = any(finding.severity == "error" for finding in faults)
        if isinstance(file, Spec):
            report, findings = self._spec(file, shown)
        elif isinstance(file, CaseFile):
            report, findings = self._cases(file, shown)
        else:
            report, findings = self._other(file, shown, broken), []
        if broken and report.status not in ("not-applicable", "invalid"):
            first = next(finding for finding in faults if finding.severity == "error")
            report = replace(report, status="invalid", reason=first.message)
        self._reports.append(report)
        self._findings += [*faults, *findings]

    def _spec(self, spec: Spec, shown: str) -> tuple[FileReport, list[Finding]]:
        from opscan.judging.specs import judge_spec

        links = self._catalog.links(spec)
        evidence = gather_evidence(
            spec,
            case_file=links.case_file,
            plugin=links.generator,
            draws=self._settings.draws,
            seed=self._settings.seed,
        )
        if not evidence.cases and links.generator_reason:
            evidence = replace(evidence, reason=links.generator_reason)
        judged = judge_spec(
            spec,
            shown,
            evidence,
            scenarios(spec, self._catalog),
            self._classifier.classify,
            self._judge,
            executor_reason=links.executor_reason,
        )
        findings = [*from_faults(shown, evidence.faults), *judged.findings]
        if judged.proposal is None:
            return judged.report, findings
        from opscan import editing  # only where there is something to mend: a clean run is the hook's usual one

        edit = editing.replace_acc(spec, judged.proposal)
        return judged.report, [_with_edit(finding, edit) for finding in findings]

    def _cases(self, case_file: CaseFile, shown: str) -> tuple[FileReport, list[Finding]]:
        from opscan.judging.casefiles import judge_case_file

        owner = self._catalog.owner(case_file)
        served = scenarios(owner, self._catalog) if owner else ("accuracy",)
        judged = judge_case_file(case_file, shown, served, self._classifier.classify, self._judge)
        return judged.report, _place_problems(case_file, judged.problems)

    def _other(self, file: NodeFile | Plugin | RunScript | Unread, shown: str, broken: bool) -> FileReport:
        kind = file.kind if isinstance(file, Unread) else KINDS[type(file)]
        judged = isinstance(file, Unread) and file.kind in ("spec", "cases") and broken
        reason = file.reason if isinstance(file, Unread) else f"a {kind} file carries no standard"
        return FileReport(shown, kind, "invalid" if judged else "not-applicable", reason)

    def result(self) -> Audited:
        if self._classifier.missing:
            first = next((report.path for report in self._reports if report.kind in ("spec", "cases")), "")
            self.add_finding(find("torch-missing", first, self._classifier.missing))
        self._classifier.close()
        kept = tuple(finding for finding in self._findings if _selected(finding, self._settings))
        return Audited(Audit(self._settings.atk_version, tuple(self._reports), kept), self._sources)


def _lies_below(path: Path, folder: Path) -> bool:
    return folder == path or folder in path.parents


def _path_of(file: reading.ReadFile) -> Path:
    return file.path if isinstance(file, Unread) else file.source.path


def _selected(finding: Finding, settings: Settings) -> bool:
    def matches(patterns: Sequence[str]) -> bool:
        return any(finding.rule.startswith(pattern) or finding.name == pattern for pattern in patterns)

    return (not settings.select or matches(settings.select)) and not matches(settings.ignore)


def _with_edit(finding: Finding, edit: Edit | str) -> Finding:
    """The edit of `standard.acc` on the findings that it mends; a refused edit leaves the reason in the message."""
    if finding.fix not in ("safe", "unsafe") or finding.edits or not finding.rule.startswith("OPS1"):
        return finding
    if isinstance(edit, str):
        return replace(finding, fix="manual", message=f"{finding.message} (not edited: {edit})")
    return replace(finding, edits=(edit,))


def _place_problems(case_file: CaseFile, problems: Sequence[CaseProblem]) -> list[Finding]:
    """Find the text of the cases that have problems, and write their edits."""
    if not problems:
        return []
    from opscan import editing

    wanted = sorted({index for problem in problems for index in problem.indices})
    spans = reading.locate(case_file, wanted)
    findings = []
    for problem in problems:
        places, edits = [], []
        for index, proposal in zip(problem.indices, problem.proposals, strict=True):
            if index not in spans:
                continue
            place = spans[index]
            places.append(place.acc or place.standard or place.case)
            if proposal is not None:
                edit = editing.replace_case_acc(case_file, index, proposal, place)
                edits += [edit] if not isinstance(edit, str) else []
        finding = replace(problem.finding, span=places[0] if places else None, places=tuple(places), edits=tuple(edits))
        findings.append(finding)
    return findings


def with_diffs(audited: Audited) -> Audit:
    """The audit with each file's edits as a diff: only reports that show diffs pay for verifying them."""
    by_file: dict[str, list[Finding]] = {}
    for finding in audited.audit.findings:
        if finding.edits:
            by_file.setdefault(finding.path, []).append(finding)
    files = tuple(
        replace(report, diff=_diff(report.path, audited.sources[report.path], by_file[report.path]))
        if report.path in by_file
        else report
        for report in audited.audit.files
    )
    return replace(audited.audit, files=files)


def _diff(shown: str, source: Source, findings: Sequence[Finding]) -> str:
    from opscan import editing

    edited = editing.apply_edits(source, unique_edits(findings))
    return editing.unified_diff(shown, editing.with_bom(source, source.text), editing.with_bom(source, edited.text))


def unique_edits(findings: Sequence[Finding]) -> list[Edit]:
    """The edits of all findings, each once: several findings can be mended by the same edit."""
    return list({(edit.start, edit.end, edit.text): edit for finding in findings for edit in finding.edits}.values())
