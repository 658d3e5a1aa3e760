"""What the runs of one compared tensor add up to, and what that says of its class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opscan.model import CLASS_ORDER, Confirmation, NumericClass, Outcome, TensorClass
from opscan.validating.choosing import Facet, facet_of
from opscan.validating.experiments import Counts


@dataclass(slots=True)
class Tally:
    """Grows with the answers for the cases of a file. `tensor` is where its class shows best: at its largest extent."""

    tensor: TensorClass
    counts: Counts
    standards: tuple[str, str] = ("", "")
    """What the tensor is held to as it is written and as is recommended, in words."""

    @property
    def facet(self) -> Facet:
        return facet_of(self.tensor)


def confirm(path: str, operator: str, device: str, tallies: Sequence[Tally]) -> Confirmation:
    """One answer for a tensor: that of the class that is refuted, else that of the loosest of its classes."""
    ordered = sorted(
        tallies, key=lambda tally: (-CLASS_ORDER[tally.tensor.numeric_class], tally.tensor.correctly_rounded)
    )
    decided = [(tally, *_verdict(tally, device)) for tally in ordered]
    tally, verdict, reason = next((each for each in decided if each[1] == "refuted"), decided[0])
    others = [_other(*each) for each in decided if each[0] is not tally]
    whole = Counts()
    for each in tallies:
        whole.add(each.counts)
    counts = tally.counts
    return Confirmation(
        path=path,
        operator=operator,
        tensor=tally.tensor.name,
        numeric_class=tally.tensor.numeric_class,
        device=device,
        verdict=verdict,
        runs=counts.runs,
        differing=counts.differing,
        worst_ulp=counts.worst_ulp,
        counterfactual_differing=counts.removed_differing if counts.removed_runs else None,
        counterfactual_runs=counts.removed_runs,
        reason="; ".join(text for text in (reason, counts.note, *others, _unrepeated(whole)) if text),
        under=(
            Outcome(tally.standards[0], whole.runs, whole.written),
            Outcome(tally.standards[1], whole.runs, whole.recommended),
        ),
        repeats=whole.repeats,
        unrepeated=whole.unrepeated,
        peak=whole.peak or None,
    )


def _verdict(tally: Tally, device: str) -> tuple[str, str]:
    numeric_class, rounded_once, values = tally.facet
    if numeric_class in (NumericClass.RANDOM, NumericClass.UNKNOWN):
        random = numeric_class == NumericClass.RANDOM
        return "skipped", tally.tensor.reason or ("it draws random numbers" if random else "its class is unknown")
    if not tally.counts.runs:
        return "skipped", tally.counts.refusal or "no run was made"
    if numeric_class == NumericClass.SELECT_ONLY or rounded_once:
        if not tally.counts.differing:
            return "confirmed", ""
        share = f"{tally.counts.differing} of {tally.counts.runs} runs differ"
        if values:
            return "not-shown", f"{share}: ties or duplicate indices may decide which value is taken"
        what = "one rounding of an exact result" if rounded_once else "a copied or exactly computed value"
        return "refuted", f"{share} by up to {tally.counts.worst_ulp:.3g} ULP, but {what} is the same on every device"
    if tally.counts.differing:
        return "confirmed", _removed(tally)
    return (
        "not-shown",
        f"none of {tally.counts.runs} runs differs: these data do not show it{_why_hidden(tally, device)}",
    )


def _unrepeated(counts: Counts) -> str:
    if not counts.unrepeated:
        return ""
    share = f"{counts.unrepeated} of {counts.repeats} runs"
    return f"{share} give other bits when they are made again: the device is not deterministic here"


def _removed(tally: Tally) -> str:
    if tally.counts.removed_refusal and not tally.counts.removed_runs:
        return f"the broadcast cannot be removed: {tally.counts.removed_refusal}"
    if tally.counts.removed_differing:
        return "without the broadcast it differs too: the values are rounded before they are summed"
    return ""


def _why_hidden(tally: Tally, device: str) -> str:
    numeric_class, _, values = tally.facet
    if device == "simulated" and tally.tensor.dtype == "fp64" and numeric_class == NumericClass.ARITHMETIC:
        return " (the simulated device computes float64 elementwise as the CPU does)"
    if values:
        return " (values decide it: no two indices may have met)"
    return ""


def _other(tally: Tally, verdict: str, reason: str) -> str:
    """What the tensor's stricter classes showed, in one clause."""
    numeric_class, rounded_once, _ = tally.facet
    name = f"{numeric_class}{' (correctly rounded)' if rounded_once else ''}"
    if verdict == "skipped":
        return f"where it is {name}: skipped, {reason}"
    if not tally.counts.differing:
        return f"where it is {name} none of {tally.counts.runs} runs differs"
    return f"where it is {name} {tally.counts.differing} of {tally.counts.runs} runs differ"
