"""The journey of a file that was read and linked: find shapes, classify, judge, attach edits. Nothing here prints."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from opscan import reading
from opscan.config import Settings
from opscan.dataclass import dataclass
from opscan.judging import Judge, find, from_faults, profiles
from opscan.judging.judges import judge_under
from opscan.judging.rules import own_rules, rule_id, rule_names
from opscan.model import (
    Audit,
    Case,
    CaseFile,
    Classification,
    Evidence,
    FileReport,
    Finding,
    NodeFile,
    Plugin,
    RunScript,
    Source,
    Span,
    Spec,
    Unread,
)
from opscan.numerics import Classifier, Question
from opscan.opening import AnyFile, Catalog, path_of
from opscan.reading.texts import may_speak
from opscan.shapes import evidence_of
from opscan.twins import is_twin, original_path, twin_path

if TYPE_CHECKING:
    from opscan.judging.specs import Judged, Many
    from opscan.numerics import Plan

_MANY_CASES = 2000
KINDS = {Spec: "spec", CaseFile: "cases", NodeFile: "nodes", Plugin: "plugin", RunScript: "other"}


@dataclass(frozen=True, slots=True)
class Audited:
    """An audit with the text of every file that it reports on, by the path its report carries.

    `catalog`: those files and what was read beside them; `settings` and `judge`: what was judged under.
    """

    audit: Audit
    sources: dict[str, Source]
    catalog: Catalog
    settings: Settings
    judge: Judge


class Journey:
    """Collects reports and findings of files under the same settings; the classifier remembers across all."""

    def __init__(self, settings: Settings, catalog: Catalog, classifier: Classifier) -> None:
        self._judge = judge_under(settings)
        rules = self._judge.rules
        self._folders = rules.folders
        self._profile = profiles.load_profile(settings.profile, rules.folders)
        self._own_rules = own_rules(rules.folders)
        self._settings = settings
        self._catalog = catalog
        self._classifier = classifier
        self._evidence: dict[Path, Evidence] = {}
        self._reports: list[FileReport] = []
        self._findings: list[Finding] = []
        self._sources: dict[str, Source] = {}
        self._standards_at: dict[str, Span | None] = {}

    def add_finding(self, finding: Finding) -> None:
        self._findings.append(finding)

    def foresee(self, files: Sequence[AnyFile]) -> None:
        """Find the shapes of every file and classify all cases at once, so that several processes have work."""
        if self._settings.run_generators:
            from opscan.running import evidence_by_runs

            specs = [file for file in files if isinstance(file, Spec)]
            self._evidence = evidence_by_runs(specs, self._catalog, self._settings)
        asked = {path_of(file): self._questions(file) for file in files}
        self._classifier.classify_many([question for questions in asked.values() for question in questions])
        if self._settings.run_generators:
            self._run_goldens(asked)

    def _run_goldens(self, asked: Mapping[Path, Sequence[Question]]) -> None:
        """Run the goldens that cannot be followed; what goes wrong is reported on the files that need them."""
        from opscan.running import trace_goldens

        questions = [question for group in asked.values() for question in group if isinstance(question.golden, Plugin)]
        faults = trace_goldens(questions, self._classifier, self._settings)
        for path, group in asked.items():
            used = {(str(q.golden.source.path), q.case.api_type) for q in group if isinstance(q.golden, Plugin)}
            own = [fault for executor in sorted(used) for fault in faults.get(executor, ())]
            self._findings += from_faults(path.as_posix(), own)

    def _questions(self, file: AnyFile) -> list[Question]:
        if isinstance(file, CaseFile):
            if len(file.cases) > _MANY_CASES and not self._settings.run_generators:
                return []  # they are enough work by themselves, and too many to be asked about twice
            goldens = self._catalog.case_links(file).goldens
            return [Question(case, goldens.get(case.api_type)) for case in _kinds_of(file.cases)]
        if not isinstance(file, Spec):
            return []
        from opscan.judging.specs import foreign_name

        if file.source.path not in self._evidence:
            self._evidence[file.source.path] = self._gather(file)
        evidence = self._evidence[file.source.path]
        golden = self._catalog.links(file).golden
        if golden is None and foreign_name(file) is not None:
            return []
        if len(evidence.cases) > _MANY_CASES and not self._settings.run_generators:
            return []
        return [Question(case, golden) for case in evidence.cases]

    def _gather(self, spec: Spec) -> Evidence:
        return evidence_of(
            spec,
            self._catalog.links(spec),
            draws=self._settings.draws,
            seed=self._settings.seed,
            folders=self._settings.import_folders,
        )

    def add(self, file: AnyFile) -> None:
        """Report on one file; a fault of opscan itself is a finding on that file, and the run goes on."""
        try:
            self._add(file)
        except Exception as problem:
            if os.environ.get("OPSCAN_TRACEBACK"):
                raise
            shown, reason = path_of(file).as_posix(), f"{type(problem).__name__}: {problem}"
            self._reports.append(FileReport(shown, KINDS.get(type(file), "other"), "unknown", reason))
            self.add_finding(find("audit-failed", shown, f"opscan failed on this file: {reason}"))

    def _add(self, file: AnyFile) -> None:
        shown = path_of(file).as_posix()
        if not isinstance(file, Unread):
            self._sources[shown] = file.source
        faults = from_faults(shown, getattr(file, "faults", ()))
        broken = any(finding.severity == "error" for finding in faults)
        if isinstance(file, Spec):
            report, findings = self._spec(file, shown)
            findings += self._declared(file, shown)
        elif isinstance(file, CaseFile):
            report, findings = self._cases(file, shown)
            findings += self._declared(file, shown)
        else:
            report, findings = self._other(file, shown, broken), _of_plugin(file, shown)
        if broken and report.status not in ("not-applicable", "invalid"):
            first = next(finding for finding in faults if finding.severity == "error")
            report = replace(report, status="invalid", reason=first.message)
        self._reports.append(report)
        self._findings += [*faults, *findings]

    def _spec(self, spec: Spec, shown: str) -> tuple[FileReport, list[Finding]]:
        from opscan.judging.specs import judge_spec

        links = self._catalog.links(spec)
        evidence = self._evidence[spec.source.path]
        judged = judge_spec(
            spec,
            shown,
            evidence,
            links.scenarios,
            partial(self._classifier.classify, golden=links.golden),
            self._judge,
            executor_reason=links.executor_reason,
            has_golden=links.golden is not None,
            deterministic=_is_deterministic(links.node_files),
            many=self._many(lambda _: links.golden),
        )
        if self._settings.confirm:
            from opscan.confirming import confirmed

            judged = confirmed(judged, links.golden, self._judge, self._settings)
        judged = self._with_twin(spec, judged)
        self._standards_at[shown] = spec.spans.get(("standard", "acc")) or spec.spans.get(("standard",))
        findings = [*from_faults(shown, evidence.faults), *judged.findings, *_of_executor(spec, shown, links.executor)]
        if judged.proposal is None:
            return judged.report, findings
        from opscan import edits  # only where there is something to mend: a clean run is the hook's usual one

        return judged.report, edits.of_spec(spec, judged.proposal, findings, judged.note)

    def _with_twin(self, spec: Spec, judged: Judged) -> Judged:
        """A spec and its broadcast-free twin test together what neither tests alone, so no finding says that it is not.

        The twin is looked for only where there is such a finding.
        """
        found = {finding.name for finding in judged.findings} & {"standard-shared", "broadcast-not-tested"}
        path = spec.source.path
        if "standard-shared" in found and self._is_twin(twin_path(path, self._settings), path):
            name = twin_path(path, self._settings).name
            reason = f"{judged.report.reason}; its twin {name} compares bit by bit what only copies"
            judged = replace(judged, report=replace(judged.report, reason=reason))
        elif "broadcast-not-tested" not in found or not self._is_twin(path, original_path(path, self._settings)):
            return judged
        return replace(judged, findings=tuple(one for one in judged.findings if one.name not in found))

    @staticmethod
    def _is_twin(path: Path, original: Path | None) -> bool:
        if original is None or not original.is_file() or not path.is_file():
            return False
        spec = reading.read_file(original)
        return isinstance(spec, Spec) and is_twin(reading.read_file(path), spec)

    def _declared(self, file: Spec | CaseFile, shown: str) -> list[Finding]:
        """What the user's own rules find in a spec or a case file."""
        if not self._own_rules:
            return []
        from opscan.declaring import declared_findings, declared_in_cases

        if isinstance(file, CaseFile):
            return declared_in_cases(file, shown, self._own_rules)
        return declared_findings(file, shown, self._own_rules)

    def _cases(self, case_file: CaseFile, shown: str) -> tuple[FileReport, list[Finding]]:
        from opscan.judging.casefiles import judge_case_file

        links = self._catalog.case_links(case_file)
        goldens = links.goldens
        classify, plan_of = self._many(lambda case: goldens.get(case.api_type))
        judged = judge_case_file(case_file, shown, links.scenarios, classify, self._judge, plan_of, links.unowned)
        if not judged.problems:
            return judged.report, []
        from opscan.case_edits import with_places

        problems = judged.problems
        if self._settings.confirm:
            from opscan.confirming import confirmed_cases

            problems = confirmed_cases(case_file, problems, goldens, classify, self._judge, self._settings)
        return judged.report, with_places(case_file, problems)

    def _many(self, golden_of: Callable[[Case], Plugin | str | None]) -> Many:
        """How many cases are classified at once, and what is planned for cases that differ in their shapes only."""

        def classify(cases: Sequence[Case]) -> list[Classification]:
            return self._classifier.classify_many([Question(case, golden_of(case)) for case in cases])

        def plan_of(case: Case) -> Plan | None:
            return self._classifier.plan(Question(case, golden_of(case)))

        return classify, plan_of

    def _other(self, file: NodeFile | Plugin | RunScript | Unread, shown: str, broken: bool) -> FileReport:
        kind = file.kind if isinstance(file, Unread) else KINDS[type(file)]
        judged = isinstance(file, Unread) and file.kind in ("spec", "cases") and broken
        reason = file.reason if isinstance(file, Unread) else f"a {kind} file carries no standard"
        return FileReport(shown, kind, "invalid" if judged else "not-applicable", reason)

    def result(self) -> Audited:
        if self._classifier.missing:
            first = next((report.path for report in self._reports if report.kind in ("spec", "cases")), "")
            self.add_finding(find("torch-missing", first, self._classifier.missing))
        kept, suppressed = self._reported()
        device = self._judge.device.name if self._judge.device is not None else ""
        audit = Audit(self._settings.atk_version, tuple(self._reports), kept, suppressed, device)
        return Audited(audit, self._sources, self._catalog, self._settings, self._judge)

    def _reported(self) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
        """The findings that the settings, the profile and the comments leave, and those that comments silence."""
        if len(self._reports) > 1:
            from opscan.judging.consistency import unequal_standards

            self._findings += unequal_standards(self._reports, self._standards_at, self._judge.rules.assignments)
        by_name = {report.path for report in self._reports if report.basis == "name"}
        selected = [finding for finding in self._findings if _selected(finding.rule, finding.name, self._settings)]
        kept = tuple(profiles.apply(self._profile, selected, at_most_warnings=by_name, own=self._folders))
        if not any(map(may_speak, self._sources.values())):
            return kept, ()
        from opscan.judging.suppressions import suppress

        names = ((name, rule_id(name, self._folders)) for name in rule_names(self._folders))
        enabled = {name for name, known in names if _selected(known, name, self._settings)} - self._profile.off
        undecided = {report.path for report in self._reports if report.status in ("unknown", "invalid")}
        outcome = suppress(kept, self._sources, enabled, undecided, self._folders)
        return tuple(
            profiles.apply(self._profile, outcome.kept, at_most_warnings=by_name, own=self._folders)
        ), outcome.suppressed


def _kinds_of(cases: Sequence[Case]) -> Sequence[Case]:
    """One case of each kind."""
    from opscan.reading.case_table import CaseTable

    return [cases.kind(number) for number in range(len(cases.firsts))] if isinstance(cases, CaseTable) else cases


def _of_plugin(file: AnyFile, shown: str) -> list[Finding]:
    """What an executor does with gradients; the syntax tree is looked at only where there is one."""
    if not isinstance(file, Plugin) or not file.executors:
        return []
    from opscan.judging.executors import plugin_findings

    return plugin_findings(file, shown)


def _of_executor(spec: Spec, shown: str, executor: Plugin | None) -> list[Finding]:
    if executor is None:
        return []
    from opscan.judging.executors import benchmark_findings

    return list(benchmark_findings(spec, shown, executor))


def _is_deterministic(node_files: Sequence[NodeFile]) -> bool:
    """Whether a node file runs a device in the deterministic mode."""
    modes = (mode for file in node_files for node in file.nodes for mode in node.run_modes)
    return any("determin" in mode.lower() for mode in modes)


def _selected(identifier: str, name: str, settings: Settings) -> bool:
    def matches(patterns: Sequence[str]) -> bool:
        return any(identifier.startswith(pattern) or name == pattern for pattern in patterns)

    return (not settings.select or matches(settings.select)) and not matches(settings.ignore)
