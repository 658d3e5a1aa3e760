"""Name the strictest standard that correct kernels pass and wrong ones fail, per dtype, over all cases it serves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache, partial
from typing import Any

from opscan.dataclass import dataclass
from opscan.judging.adequacy import about, stepped, walk_ladder
from opscan.judging.assignments import ladder_of
from opscan.judging.derived import derive
from opscan.judging.drift_parameters import DriftParameters
from opscan.judging.expression import expression
from opscan.judging.floating import FORMATS, part_of
from opscan.judging.pass_rules import Rule
from opscan.judging.settings import Judge
from opscan.judging.sharpness import BLIND, BLUNT, FINER, bluntest, passing, sees
from opscan.judging.standards import Standards, registered
from opscan.judging.verdicts import CaseVerdict
from opscan.model import CLASS_ORDER

DERIVED = "derived"
MARGIN = 2.0
"""What is recommended must stay below the limit by this factor, for a prediction can be off by as much."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One dtype's standard.

    `rate`: share of cases that correct kernels fail; `passing`: per wrong result the share of cases that it passes;
    `finer`: the same of finer mistakes, where they were all weighed; `reason`: where derived thresholds come from,
    `note`: the same in short.
    """

    name: str
    rule: Rule | None
    rate: float = 0.0
    adequate: bool = True
    passing: Mapping[str, float] = field(default_factory=dict)
    finer: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    note: str = ""
    instead: Choice | None = None
    """The named standard that computed thresholds stand in for."""

    @property
    def measure(self) -> Rule | None:
        """What a written standard is held against: a named one that catches gross mistakes is good enough for that."""
        usual = self.instead
        return usual.rule if usual is not None and usual.adequate and usual.sharp else self.rule

    @property
    def why(self) -> tuple[str, str, float] | None:
        """Why no named standard is chosen: its name, the mistake that passes it ("" where correct kernels fail it), and
        in which share of the cases. None where a named one is chosen, or would do."""
        named = self.instead
        if named is None:
            return None
        if not named.adequate:
            return named.name, "", named.rate
        if not named.sharp:
            return named.name, *named.blunt
        return (named.name, *named.fine) if named.blind else None

    @property
    def blunt(self) -> tuple[str, float]:
        """The wrong result that passes most often, and in which share of the cases."""
        return bluntest(self.passing)

    @property
    def sharp(self) -> bool:
        return self.blunt[1] < BLUNT

    @property
    def fine(self) -> tuple[str, float]:
        """The finer mistake that passes most often, and in which share of the cases."""
        return bluntest(self.finer)

    @property
    def blind(self) -> bool:
        return self.fine[1] >= BLIND

    @property
    def merit(self) -> tuple[bool, float]:
        """Adequate first, then by how little passes."""
        return self.adequate, -sum(self.passing.values()) - sum(self.finer.values())


@dataclass(frozen=True, slots=True)
class Recommendation:
    """`standards` by dtype; `rate` is the predicted share of cases that correct kernels fail under them.

    `expression` is what to write under `standard.acc`, None with `reason` where it cannot be written. `adequate` is
    False where even the loosest standard fails correct kernels too often; `blunt` names per dtype the wrong result that
    passes all the same; `derivations` say where computed thresholds come from; `remedies` which inputs would help.
    """

    standards: Mapping[str, str]
    expression: Any
    reason: str
    rate: float = 0.0
    adequate: bool = True
    inadequate: Mapping[str, float] = field(default_factory=dict)
    registered: bool = True
    """Whether every build of the ATK version has the comparator that is to be written."""
    rules: Mapping[str, Rule] = field(default_factory=dict)
    blunt: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    derivations: tuple[str, ...] = ()
    measures: Mapping[str, Rule] = field(default_factory=dict)
    """By dtype, the rule that a written standard is held against; see `Choice.measure`."""
    note: str = ""
    """What derived thresholds hold for, as a comment."""
    why: Mapping[str, tuple[str, str, float]] = field(default_factory=dict)
    """By dtype, why they are derived; see `Choice.why`."""
    remedies: str = ""


def recommend(verdicts: Sequence[CaseVerdict], judge: Judge, declared: Sequence[str] = ()) -> Recommendation:
    """One standard for all of `verdicts`: equal where nothing needs a tolerance, else the strictest adequate step.

    `declared`: floating dtypes that the spec also draws; those without a case of their own are served as if the cases
    of the others had them.
    """
    dtypes = sorted({verdict.tensor.dtype for case in verdicts for verdict in case.tensors if verdict.need != "none"})
    needed = any(v.need == "tolerance" for case in verdicts for v in case.tensors)
    if not needed:
        exact = dict.fromkeys(dtypes, "value-equal")
        written, reason = expression(exact, judge.atk_version, standards=judge.rules.standards)
        return Recommendation(exact, written, reason, registered=_registered(written, judge.atk_version))
    if not any(part_of(dtype) in FORMATS for dtype in dtypes):
        declared = ()  # what is compared is no floating tensor, whatever is drawn
    all_parameters = {name: _all_parameters(verdicts, name, seen=name in dtypes) for name in (*dtypes, *declared)}
    known = judge.rules.standards
    writable = known.profile(judge.atk_version).comparators.get("mixed_tolerance_bm") is not False
    chosen = {
        name: _dispatched(verdicts, name, known)
        or choose(name, cases, judge, writable=writable, standards=_ladder(verdicts, name, judge))
        for name, cases in all_parameters.items()
    }
    standards = {name: choice.name for name, choice in chosen.items()}
    rules = {name: choice.rule for name, choice in chosen.items() if choice.rule is not None}
    inadequate = {name: choice.rate for name, choice in chosen.items() if not choice.adequate}
    written, reason = expression(standards, judge.atk_version, rules=rules, standards=known)
    blunt = {name: choice.blunt for name, choice in chosen.items() if not choice.sharp}
    weak = {name: all_parameters[name] for name in (*inadequate, *blunt)}
    from opscan.judging.remedies import remedies  # only where something has to be said

    return Recommendation(
        standards,
        written,
        reason,
        max((choice.rate for choice in chosen.values()), default=0.0),
        not inadequate,
        inadequate,
        _registered(written, judge.atk_version),
        rules,
        blunt,
        tuple(choice.reason for choice in chosen.values() if choice.reason),
        {name: choice.measure for name, choice in chosen.items() if choice.measure is not None},
        "; ".join(choice.note for choice in chosen.values() if choice.note),
        {name: choice.why for name, choice in chosen.items() if choice.why is not None},
        remedies(weak, partial(has_standard, judge=judge)) if weak else "",
    )


def _dispatched(verdicts: Sequence[CaseVerdict], dtype: str, known: Standards) -> Choice | None:
    """The step that ATK lets a dtype differ by, where a tensor of it needs a tolerance; None where it has no step."""
    name, _ = known.dispatch.get(dtype, ("", ""))
    rule = known.rule(name, dtype) if name else None
    needs = any(v.need == "tolerance" and v.tensor.dtype == dtype for case in verdicts for v in case.tensors)
    return Choice(name, rule) if needs and rule is not None and not rule.exact else None


def choose(
    dtype: str,
    cases: Sequence[Sequence[DriftParameters]],
    judge: Judge,
    *,
    writable: bool = True,
    standards: Standards | None = None,
) -> Choice:
    """The standard of one dtype over the parameters of each case.

    The strictest adequate named one if it is sharp too and not blind to a finer mistake; else derived thresholds, if
    the version can write them and they are better. `judge.standard` may ask for one of the two always. `standards`:
    those whose ladders are walked.
    """
    known = standards or judge.rules.standards
    if len(cases) == 1:  # a case file has a hundred thousand of them, and few different ones
        return _choose_once(dtype, tuple(map(_alike, cases[0])), judge, writable, known)
    return _choose(dtype, cases, judge, writable, known)


def has_standard(dtype: str, cases: Sequence[Sequence[DriftParameters]], judge: Judge) -> bool:
    """Whether some standard is adequate and sharp."""
    choice = choose(dtype, cases, judge)
    return choice.adequate and choice.sharp


def _alike(parameters: DriftParameters) -> DriftParameters:
    """The parameters that stand for all of about its size."""
    return replace(parameters, extent=stepped(parameters.extent), outputs=about(parameters.outputs), cause="")


@lru_cache(maxsize=65536)
def _choose_once(
    dtype: str, all_parameters: tuple[DriftParameters, ...], judge: Judge, writable: bool, known: Standards
) -> Choice:
    return _choose(dtype, [all_parameters], judge, writable, known)


def _choose(
    dtype: str, cases: Sequence[Sequence[DriftParameters]], judge: Judge, writable: bool, known: Standards
) -> Choice:
    name, rate, fits = walk_ladder(dtype, partial(_rate, cases), judge.limit / MARGIN, standards=known)
    rule = known.rule(name, dtype)
    named = Choice(name, rule, rate, fits)
    if not any(cases) or rule is None or rule.exact:
        return named
    named = replace(named, passing=passing(rule, cases))
    fits = named.adequate and named.sharp and all(sees(rule, cases, mistake) for mistake in FINER)
    if judge.standard == "named" or (judge.standard == "auto" and fits) or not writable:
        return named
    if dtype in known.dispatch:
        return named  # no threshold reaches this dtype
    found = derive(dtype, [parameters for all_parameters in cases for parameters in all_parameters], judge.limit)
    if found is None:
        return named
    named = replace(named, finer=passing(rule, cases, FINER))
    rate = _rate(cases, found.rule)
    computed = Choice(
        DERIVED,
        found.rule,
        rate,
        rate < judge.limit / MARGIN,
        passing(found.rule, cases),
        passing(found.rule, cases, FINER),
        found.reason,
        found.note,
        named,
    )
    return computed if judge.standard == DERIVED or computed.merit > named.merit else named


def _ladder(verdicts: Sequence[CaseVerdict], dtype: str, judge: Judge) -> Standards:
    """The standards with the ladder that is assigned to a dtype: that of its loosest tensor, for one serves all.

    A dtype of which no case has a tensor goes by the tensors of the others, as if they had it.
    """
    tensors = [v.tensor for case in verdicts for v in case.tensors if v.need == "tolerance"]
    known, own = judge.rules.standards, [tensor for tensor in tensors if tensor.dtype == dtype]
    if not tensors:
        return known
    loosest = max(own or tensors, key=lambda tensor: (CLASS_ORDER[tensor.numeric_class], tensor.extent))
    steps = ladder_of(loosest if own else replace(loosest, dtype=dtype), judge.scenario, judge.rules.assignments)
    return known if steps is None else _with_ladder(known, part_of(dtype), steps)


@lru_cache(maxsize=256)
def _with_ladder(known: Standards, dtype: str, steps: tuple[str, ...]) -> Standards:
    """One object per ladder, so that answers can be remembered by it."""
    return replace(known, ladders={**known.ladders, dtype: steps})


def _registered(written: Any, atk_version: str) -> bool:
    name = next(iter(written), "") if isinstance(written, dict) else str(written)
    return registered(name, atk_version) is True


def _all_parameters(verdicts: Sequence[CaseVerdict], dtype: str, *, seen: bool) -> list[list[DriftParameters]]:
    """The parameters of each case that compares `dtype`; of every case, as if it did, where none does."""
    cases = []
    for case in verdicts:
        if seen and all(verdict.tensor.dtype != dtype for verdict in case.tensors):
            continue
        all_parameters = [v.parameters for v in case.tensors if v.parameters is not None]
        cases.append(
            [
                parameters if seen else replace(parameters, dtype=dtype)
                for parameters in all_parameters
                if not seen or parameters.dtype == dtype
            ]
        )
    return cases


def _rate(cases: Sequence[Sequence[DriftParameters]], rule: Rule) -> float:
    known: dict[int, float] = {}  # by the parameters: a case file repeats them

    def failure(parameters: DriftParameters) -> float:
        found = known.get(id(parameters))
        if found is None:
            found = known[id(parameters)] = parameters.failure(rule)
        return found

    return mean_failure(map(failure, case) for case in cases)


def mean_failure(cases: Iterable[Iterable[float]]) -> float:
    """The mean over cases of the probability that any tensor fails."""
    total, count = 0.0, 0
    for failures in cases:
        passed = 1.0
        for failure in failures:
            passed *= 1.0 - failure
        total += 1.0 - passed
        count += 1
    return total / count if count else 0.0
