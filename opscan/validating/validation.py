"""The journey of every file: shapes, classes and standards as the audit finds them, then the runs that confirm them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from opscan.config import FolderSettings
from opscan.dataclass import dataclass
from opscan.judging.assignments import judged_as
from opscan.judging.judges import judge_under
from opscan.judging.messages import acc_text
from opscan.judging.scopes import judge_scope
from opscan.judging.settings import Judge
from opscan.judging.verdicts import judge_case
from opscan.model import Case, CaseFile, Confirmation, NumericClass, Plugin, Spec, Unread
from opscan.numerics import Classifier
from opscan.opening import AnyFile, Catalog, absolute, open_catalog, path_of
from opscan.shapes import evidence_of
from opscan.validating.bench import Answer, Bench, Progress
from opscan.validating.choosing import MAX_ELEMENTS, Choice, Facet, choose, facet_of
from opscan.validating.experiments import Counts, Experiment, Rules
from opscan.validating.tallies import Tally, confirm


@dataclass(frozen=True, slots=True)
class Series:
    """The experiments on one operator of a file. `skipped`: the answer, where there is nothing to run."""

    path: Path
    operator: str | None
    choice: Choice | None = None
    experiments: tuple[Experiment, ...] = ()
    standards: tuple[Mapping[str, tuple[str, str]], ...] = ()
    """By experiment and tensor, the written and the recommended standard in words."""
    skipped: str = ""


def validate(
    paths: Sequence[Path],
    settings: FolderSettings,
    device: str,
    *,
    runs: int,
    max_cases: int,
    seconds: float,
    resume: bool,
    progress: Progress,
) -> list[Confirmation]:
    """See `opscan.validating.validate_paths`."""
    first = settings.of(paths[0] if paths else Path())
    bench = Bench(device, first.hf32, [str(folder) for folder in first.rules], seconds=seconds, resume=resume)
    catalog = open_catalog(paths)
    planning = _Planning(settings, catalog, runs, max_cases)
    series = [each for file in catalog.asked for each in planning.of(file)]
    answers = iter(bench.run([one for each in series for one in each.experiments], progress))
    return [
        confirmation
        for each in series
        for confirmation in _confirmations(each, [next(answers) for _ in each.experiments], device)
    ]


class _Planning:
    """What all files of a run share; the classifier remembers across files."""

    def __init__(self, settings: FolderSettings, catalog: Catalog, runs: int, max_cases: int) -> None:
        self._runs = runs
        self._settings = settings
        self._catalog = catalog
        self._asked = frozenset(absolute(path_of(file)) for file in catalog.asked)
        self._max_cases = max_cases
        self._classifier = Classifier()

    def of(self, file: AnyFile) -> list[Series]:
        """What to run for one file; a case file whose spec is read too is answered with the spec."""
        if isinstance(file, Unread):
            meant = file.kind in ("spec", "cases") and file.faults
            return [Series(file.path, None, skipped=file.reason)] if meant else []
        path = file.source.path
        if isinstance(file, CaseFile):
            own = self._catalog.case_links(file)
            if own.owner is not None and absolute(own.owner.source.path) in self._asked:
                return []
            judge = self._judge(path, own.scenarios.names)
            return list(self._of_cases(path, file.cases, "the file holds no case", own.goldens, judge, alone=True))
        if not isinstance(file, Spec):
            return []
        links, settings = self._catalog.links(file), self._settings.of(path)
        evidence = evidence_of(file, links, draws=settings.draws, seed=settings.seed, folders=settings.import_folders)
        if not evidence.cases:
            reason = evidence.reason or "no case is known"
            return [Series(path, file.name, skipped=f"which shapes meet is not known: {reason}")]
        goldens = {file.api_type: links.golden} if links.golden is not None else {}
        judge = self._judge(path, links.scenarios.names)
        return list(self._of_cases(path, evidence.cases, evidence.reason, goldens, judge, alone=False))

    def _judge(self, path: Path, scenarios: Sequence[str]) -> Judge:
        judge = judge_under(self._settings.of(path))
        return replace(judge, scenario=judged_as(scenarios, judge.rules.assignments))

    def _of_cases(
        self,
        path: Path,
        cases: Sequence[Case],
        reason: str,
        goldens: Mapping[str, Plugin | str],
        judge: Judge,
        *,
        alone: bool,
    ) -> Iterator[Series]:
        """`alone`: each case has a standard of its own, where those of a spec share one."""
        by_operator: dict[tuple[str | None, str], list[Case]] = defaultdict(list)
        for case in cases:
            by_operator[case.name, case.api_type].append(case)
        if not by_operator:
            yield Series(path, None, skipped=reason)
        for (name, executor), group in by_operator.items():
            golden = goldens.get(executor)
            choice = choose(group, partial(self._classifier.classify, golden=golden), self._max_cases)
            if not choice.every:
                yield Series(path, name, skipped=choice.reason or "it returns nothing that is compared")
                continue
            settings = self._settings.of(path)
            held = _held_to(choice, judge, alone=alone)
            yield Series(
                path,
                name,
                choice,
                tuple(
                    Experiment(
                        one.case, one.classification, golden, self._runs, settings.seed, settings.upstream, rules
                    )
                    for one, (rules, _) in zip(choice.candidates, held, strict=True)
                ),
                tuple(words for _, words in held),
            )


def _held_to(choice: Choice, judge: Judge, *, alone: bool) -> list[tuple[dict[str, Rules], dict[str, tuple[str, str]]]]:
    """By candidate, the standards of each compared tensor, as rules and in words."""
    verdicts = {
        id(one): judge_case(one.case, one.classification, one.case.acc, judge)
        for one in (choice.candidates if alone else choice.every)
    }
    shared = None if alone else judge_scope(list(verdicts.values()), judge).recommendation
    found = []
    for one in choice.candidates:
        own = verdicts[id(one)]
        better = shared or judge_scope([own], judge).recommendation
        rules, words = {}, {}
        for verdict in own.tensors:
            name, dtype = verdict.tensor.name, verdict.tensor.dtype
            chosen = better.standards.get(dtype, "")
            named = judge.rules.standards.rule(chosen, dtype) if chosen in judge.rules.standards.standards else None
            rules[name] = Rules(verdict.effective.rule, better.rules.get(dtype) or named)
            words[name] = (acc_text(one.case.acc).strip("`"), chosen)
        found.append((rules, words))
    return found


def _confirmations(series: Series, answers: Sequence[Answer], device: str) -> list[Confirmation]:
    path = series.path.as_posix()
    if series.choice is None:
        unknown = NumericClass.UNKNOWN
        return [Confirmation(path, series.operator or "", "-", unknown, device, "skipped", reason=series.skipped)]
    tallies: dict[tuple[str, Facet], Tally] = {}
    for experiment, answer, words in zip(series.experiments, answers, series.standards, strict=True):
        for tensor in experiment.classification.tensors:
            tally = tallies.setdefault((tensor.name, facet_of(tensor)), Tally(tensor, Counts()))
            if tensor.extent > tally.tensor.extent:
                tally.tensor = tensor
            tally.counts.add(answer.get(tensor.name, Counts(refusal="the run says nothing of it")))
            tally.standards = words.get(tensor.name, tally.standards)
    _add_left_out(series.choice, tallies)
    by_tensor: dict[str, list[Tally]] = defaultdict(list)
    for (tensor_name, _), tally in tallies.items():
        by_tensor[tensor_name].append(tally)
    return [confirm(path, series.operator or "", device, group) for group in by_tensor.values()]


def _add_left_out(choice: Choice, tallies: dict[tuple[str, Facet], Tally]) -> None:
    """Classes that no run has shown, with the reason: their cases are too large, or too many came before them."""
    reason = "not among the cases that were run: raise --max-cases"
    if choice.too_large:
        reason = f"its cases have over {MAX_ELEMENTS} elements"
    for candidate in choice.every:
        for tensor in candidate.classification.tensors:
            tallies.setdefault((tensor.name, facet_of(tensor)), Tally(tensor, Counts(refusal=reason)))
