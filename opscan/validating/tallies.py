"""What the runs of one compared tensor add up to, and what that says of its class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opscan.model import CLASS_ORDER, Confirmation, NumericClass, TensorClass
from opscan.validating.choosing import Facet, facet_of


@dataclass(slots=True)
class Tally:
    """Grows while the cases of one file run. `tensor` is where the class shows best: at its largest extent."""

    tensor: TensorClass
    runs: int = 0
    differing: int = 0
    worst_ulp: float = 0.0
    removed_runs: int = 0
    removed_differing: int = 0
    removed_refusal: str = ""
    refusal: str = ""
    note: str = ""

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
    removed = tally.removed_runs > 0
    return Confirmation(
        path=path,
        operator=operator,
        tensor=tally.tensor.name,
        numeric_class=tally.tensor.numeric_class,
        device=device,
        verdict=verdict,
        runs=tally.runs,
        differing=tally.differing,
        worst_ulp=tally.worst_ulp,
        counterfactual_differing=tally.removed_differing if removed else None,
        counterfactual_runs=tally.removed_runs,
        reason="; ".join(text for text in (reason, tally.note, *others) if text),
    )


def _verdict(tally: Tally, device: str) -> tuple[str, str]:
    numeric_class, rounded_once, values = tally.facet
    if numeric_class in (NumericClass.RANDOM, NumericClass.UNKNOWN):
        random = numeric_class == NumericClass.RANDOM
        return "skipped", tally.tensor.reason or ("it draws random numbers" if random else "its class is unknown")
    if not tally.runs:
        return "skipped", tally.refusal or "no run was made"
    if numeric_class == NumericClass.SELECT_ONLY or rounded_once:
        if not tally.differing:
            return "confirmed", ""
        share = f"{tally.differing} of {tally.runs} runs differ"
        if values:
            return "not-shown", f"{share}: ties or duplicate indices may decide which value is taken"
        what = "one rounding of an exact result" if rounded_once else "a copied or exactly computed value"
        return "refuted", f"{share} by up to {tally.worst_ulp:.3g} ULP, but {what} is the same on every device"
    if tally.differing:
        return "confirmed", _removed(tally)
    return "not-shown", f"none of {tally.runs} runs differs: these data do not show it{_why_hidden(tally, device)}"


def _removed(tally: Tally) -> str:
    if tally.removed_refusal and not tally.removed_runs:
        return f"the broadcast cannot be removed: {tally.removed_refusal}"
    if tally.removed_differing:
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
    if not tally.differing:
        return f"where it is {name} none of {tally.runs} runs differs"
    return f"where it is {name} {tally.differing} of {tally.runs} runs differ"
