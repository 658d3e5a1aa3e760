"""Whether a split does what it should: the cases of the new texts are drawn, classified and judged before any write."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from opscan.config import Settings
from opscan.judging.assignments import judged_as
from opscan.judging.safety import all_dtypes_drawn, inputs_of, nan_possible
from opscan.judging.scopes import judge_scope
from opscan.judging.verdicts import CaseVerdict, judge_case
from opscan.model import Evidence, NumericClass, Plugin, Spec, TensorClass
from opscan.numerics import Classifier, Limits, Question, Store
from opscan.opening import Catalog, link, path_of
from opscan.shapes import evidence_of
from opscan.shapes.draw import varies
from opscan.splitting.candidates import NotSplit

if TYPE_CHECKING:
    from opscan.audit import Audited


@dataclass(frozen=True, slots=True)
class Verified:
    """What was found: `unsure` says why the answer is not certain, empty where it is."""

    cases: int
    unsure: str = ""
    remark: str = ""


class Verifier:
    """Judges specs and plugins as they would be, among the other files of their catalog."""

    def __init__(self, audited: Audited, settings: Settings) -> None:
        self._files = audited.catalog.files
        self._settings = settings
        self._judge = audited.judge
        self._classifier = Classifier(Store(), Limits(settings.jobs, settings.trace_seconds, settings.trace_mebibytes))

    def close(self) -> None:
        self._classifier.close()

    def check_twin(self, twin: Spec, plugin: Plugin) -> Verified:
        """That all tensors of all cases of a twin only copy. Raises NotSplit with the first that does more."""
        evidence, verdicts = self._verdicts(twin, plugin)
        for verdict in verdicts:
            for judged in verdict.tensors:
                if (why := _no_copy(judged.tensor)) is not None:
                    raise NotSplit(f"also without a broadcast {why}; a twin holds only what copies")
                if judged.status != "ok":
                    raise NotSplit(f"`equal` does not fit {judged.tensor.name} of the twin ({judged.status})")
        return Verified(len(verdicts), _doubts(twin, evidence, verdicts))

    def check_choice(self, spec: Spec, plugin: Plugin) -> Verified:
        """That the standard a generator chooses fits each case. Raises NotSplit."""
        evidence, verdicts = self._verdicts(spec, plugin)
        chosen = Counter("equal" if verdict.case.acc == "equal" else "tolerance" for verdict in verdicts)
        for verdict in verdicts:
            for judged in verdict.tensors:
                if judged.status in ("too-strict", "unknown", "invalid"):
                    seen = verdict.case.acc if isinstance(verdict.case.acc, str) else "the tolerance"
                    raise NotSplit(f"shapes do not tell the cases apart: {judged.tensor.name} would be {judged.status} "
                                   f"under {seen}")  # fmt: skip
        if not chosen["equal"]:
            raise NotSplit(f"all {len(verdicts)} drawn cases broadcast, so there is nothing to choose; --split makes a "
                           "twin that does not")  # fmt: skip
        if judge_scope(verdicts, self._judge).status == "too-strict":
            raise NotSplit("the tolerance is not adequate")
        loose = sum(_only_copies(verdict) and verdict.case.acc != "equal" for verdict in verdicts)
        remark = f"; {loose} of these only copy all the same" if loose else ""
        remark = f"{chosen['equal']} of {len(verdicts)} drawn cases keep `equal`, the others get the tolerance{remark}"
        return Verified(len(verdicts), _doubts(spec, evidence, verdicts, nan=False), remark)

    def _verdicts(self, spec: Spec, plugin: Plugin) -> tuple[Evidence, list[CaseVerdict]]:
        catalog = self._catalog_with(spec, plugin)
        links = replace(catalog.links(spec), generator=plugin, case_file=None)
        evidence = self._evidence(spec, plugin, catalog)
        if not evidence.cases or not evidence.certain:
            hint = "" if self._settings.run_generators else " (--run-generators runs it)"
            raise NotSplit(f"the shapes that its generator makes are not certain: {evidence.reason}{hint}")
        questions = [Question(case, links.golden) for case in evidence.cases]
        judge = replace(self._judge, scenario=judged_as(links.scenarios.names, self._judge.rules.assignments))
        verdicts = []
        for case, known in zip(evidence.cases, self._classifier.classify_many(questions), strict=True):
            if not known.tensors:
                how = "cannot run" if known.mismatch else "is unknown"
                raise NotSplit(f"case {case.index} of the new generator {how}: {known.reason}")
            verdicts.append(judge_case(case, known, case.acc, judge))
        return evidence, verdicts

    def _catalog_with(self, spec: Spec, plugin: Plugin) -> Catalog:
        """The catalog with these two files as they would be."""
        changed = {spec.source.path.resolve(), plugin.source.path.resolve()}
        others = [file for file in self._files if path_of(file).resolve() not in changed]
        return link([spec, plugin, *others])

    def _evidence(self, spec: Spec, plugin: Plugin, catalog: Catalog) -> Evidence:
        if self._settings.run_generators:
            return _run(spec, plugin, self._settings)
        links = replace(catalog.links(spec), generator=plugin, case_file=None)
        return evidence_of(
            spec,
            links,
            draws=self._settings.draws,
            seed=self._settings.seed,
            folders=self._settings.import_folders,
        )


def _run(spec: Spec, plugin: Plugin, settings: Settings) -> Evidence:
    """The cases that a plugin makes which is not on disk yet: it runs in a copy of its folder's Python files."""
    from opscan.running.evidence import CEILING, run_generator
    from opscan.running.messages import Bounds

    folder = plugin.source.path.parent
    with tempfile.TemporaryDirectory(prefix="opscan-split-") as made:
        for one in folder.glob("*.py"):
            if one.is_file():
                Path(made, one.name).write_bytes(one.read_bytes())
        path = Path(made, plugin.source.path.name)
        path.write_text(plugin.source.text, encoding="utf-8", newline="")
        moved = replace(plugin, source=replace(plugin.source, path=path))
        bounds = Bounds(settings.run_seconds, settings.run_mebibytes)
        ran = run_generator(spec, moved, seed=settings.seed, ceiling=CEILING, bounds=bounds)
    if ran.failed or not ran.cases:
        seen = "; ".join(fault.message for fault in ran.faults).replace(f"{made}/", "")
        return Evidence("none", reason=f"its run fails: {seen}")
    step = max(len(ran.cases) / settings.run_cases, 1)
    kept = [ran.cases[int(place * step)] for place in range(min(settings.run_cases, len(ran.cases)))]
    cases = tuple(replace(case, index=place) for place, case in enumerate(kept))
    return Evidence("generator-run", cases, True, False, "; ".join(ran.notes))


def _no_copy(tensor: TensorClass) -> str | None:
    """Why a tensor is more than a copy of bits that nothing but shapes decides."""
    kind = tensor.numeric_class
    if kind is not NumericClass.SELECT_ONLY:
        how = f"{kind} ({tensor.cause})" if tensor.cause else str(kind)
        return f"{tensor.name} is {how}" + (f" over {tensor.extent} addends" if tensor.extent > 1 else "")
    if "values" in tensor.depends_on:
        return f"which values {tensor.name} copies is decided by values (ties, repeated indices)"
    return None


def _only_copies(verdict: CaseVerdict) -> bool:
    return all(_no_copy(judged.tensor) is None for judged in verdict.tensors)


def _doubts(spec: Spec, evidence: Evidence, verdicts: list[CaseVerdict], *, nan: bool = True) -> str:
    """Why other cases than those drawn could have another class, or `equal` could fail a correct copy."""
    bases = {verdict.classification.basis for verdict in verdicts}
    attributes = [one.name or one.kind for one in inputs_of(spec) if not one.kind.startswith("tensor") and varies(one)]
    if "name" in bases:
        return "what the operator does is taken from its name alone"
    if attributes:
        return f"the attribute `{attributes[0]}` varies, and not all of its values were seen"
    if not all_dtypes_drawn(spec, evidence):
        return "no case was drawn for one of the dtypes"
    if nan and nan_possible(spec, evidence):
        return "some case can be NaN in part, and that never equals itself: switch has_infnan and nan ranges off"
    return ""
