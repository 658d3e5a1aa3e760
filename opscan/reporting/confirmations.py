"""The answer of `opscan validate`: which classes two devices confirm, refute, or do not show."""

from __future__ import annotations

from collections import Counter
from typing import Any

from opscan import __version__
from opscan.model import Confirmation
from opscan.reporting.json_format import dumps
from opscan.reporting.look import Look
from opscan.reporting.palette import paint, strong
from opscan.reporting.tables import Cell, table
from opscan.reporting.text import one_word, wrap
from opscan.reporting.words import digits, plural

VERDICTS: tuple[str, ...] = ("refuted", "not-shown", "skipped", "confirmed")
"""Worst first."""

SIMULATED = "SIMULATED device: shows order dependence, not NPU accuracy"
_DOCUMENTED = "SIMULATED device {}: does what is documented of its accuracy and order; measured on none"

_SCREEN = 40
_HEAD = ("tensor", "class", "runs", "differ", "ULP", "no broadcast", "as written", "recommended", "verdict")


def write(confirmations: tuple[Confirmation, ...], format: str, device: str, look: Look) -> str:
    """A headline that names the device, the table worst first, why a class was not confirmed, the counts."""
    ordered = sorted(confirmations, key=lambda one: (_rank(one.verdict), one.path, one.tensor, one.operator))
    if format == "json":
        return dumps(confirmations_object(ordered, device))
    kept = ordered if format == "full" else _one_screen(ordered)
    lines = [strong(headline(device), look.color), ""]
    for (path, operator), group in _by_file(kept).items():
        lines += [f"{strong(one_word(path), look.color)}  ({one_word(operator)})"]
        lines += table(_HEAD, [_row(one) for one in group], width=look.width, color=look.color)
        for one in group:
            if one.reason and (format == "full" or one.verdict != "confirmed"):
                lines += wrap(f"{one_word(one.tensor)}: {one.reason}", look.width)
        lines.append("")
    if len(kept) < len(ordered):
        lines.append(f"and {digits(len(ordered) - len(kept))} more (use --format full)")
    return "\n".join([*lines, _summary(ordered, look)]) + "\n"


def _by_file(confirmations: list[Confirmation]) -> dict[tuple[str, str], list[Confirmation]]:
    """Files in the order of their worst tensor."""
    groups: dict[tuple[str, str], list[Confirmation]] = {}
    for one in confirmations:
        groups.setdefault((one.path, one.operator), []).append(one)
    return groups


def headline(device: str) -> str:
    """The device, and for a simulated one what its answer is worth."""
    if device.startswith("simulated:"):
        return _DOCUMENTED.format(one_word(device.partition(":")[2]))
    return SIMULATED if device == "simulated" else f"Compared with device {one_word(device)}"


def confirmations_object(confirmations: list[Confirmation], device: str) -> dict[str, Any]:
    return {
        "schema": 1,
        "opscan": __version__,
        "device": device,
        "simulated": device.startswith("simulated"),
        "confirmations": [_confirmation(one) for one in confirmations],
        "summary": _counts(confirmations),
    }


def _confirmation(one: Confirmation) -> dict[str, Any]:
    counterfactual = None
    if one.counterfactual_differing is not None:
        counterfactual = {"runs": one.counterfactual_runs, "differing": one.counterfactual_differing}
    return {
        "path": one.path,
        "operator": one.operator,
        "tensor": one.tensor,
        "class": one.numeric_class.value,
        "device": one.device,
        "verdict": one.verdict,
        "runs": one.runs,
        "differing": one.differing,
        "worst_ulp": one.worst_ulp,
        "counterfactual": counterfactual,
        "standards": [
            {"standard": each.standard, "runs": each.runs, "failed": each.failed} for each in one.under if each.standard
        ],
        "repeats": {"runs": one.repeats, "differing": one.unrepeated},
        "peak_bytes": one.peak,
        "reason": one.reason,
    }


def _row(one: Confirmation) -> list[Cell]:
    removed = one.counterfactual_differing
    kind = one.numeric_class.value
    ran = one.runs > 0
    return [
        Cell(one_word(one.tensor)),
        Cell(kind, kind),
        Cell(digits(one.runs)),
        Cell(digits(one.differing) if ran else ""),
        Cell(f"{one.worst_ulp:.3g}" if ran else ""),
        Cell("" if removed is None else f"{digits(removed)} of {digits(one.counterfactual_runs)}"),
        *[_outcome(one, place) for place in range(2)],
        Cell(one.verdict, one.verdict),
    ]


def _outcome(one: Confirmation, place: int) -> Cell:
    """How many runs fail the written or the recommended standard."""
    under = one.under[place] if place < len(one.under) else None
    if under is None or not under.standard or not under.runs:
        return Cell("")
    failed = f"{digits(under.failed)} of {digits(under.runs)} fail" if under.failed else "passes"
    return Cell(failed, "refuted" if under.failed else "")


def _one_screen(ordered: list[Confirmation]) -> list[Confirmation]:
    """All that were refuted, and of the rest what fits on one screen."""
    refuted = sum(one.verdict == "refuted" for one in ordered)
    return ordered[: max(_SCREEN, refuted)]


def _summary(confirmations: list[Confirmation], look: Look) -> str:
    counts = {verdict: count for verdict, count in _counts(confirmations).items() if count}
    if not counts:
        return "Nothing was compared: no tensor to validate."
    counted = ", ".join(f"{digits(count)} {verdict}" for verdict, count in counts.items())
    return paint(f"{plural(len(confirmations), 'tensor')}: {counted}.", next(iter(counts)), look.color, bold=True)


def _counts(confirmations: list[Confirmation]) -> dict[str, int]:
    counts = Counter(one.verdict for one in confirmations)
    return {verdict: counts[verdict] for verdict in (*VERDICTS, *sorted(set(counts) - set(VERDICTS)))}


def _rank(verdict: str) -> int:
    return VERDICTS.index(verdict) if verdict in VERDICTS else len(VERDICTS)
