"""What fits each compared tensor, under the names of other tools: `opscan audit --export ttk|atb|msprobe`.

Other tools route a standard to each output, so a tensor that only copies keeps its bitwise comparison here even where
it shares the tolerance of a whole ATK case.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from opscan import __version__
from opscan.judging.exports import Entry, entry_for, load_entries
from opscan.model import CLASS_ORDER, Audit, FileReport, NumericClass, TensorReport
from opscan.reporting.json_format import dumps


def export(audit: Audit, tool: str, own: tuple[Path, ...] = ()) -> str:
    """The mapping of every spec and case file of an audit, as JSON. Raises StandardsError for a broken exports.yaml."""
    entries = load_entries(tool, own)
    files = [_file(report, tool, entries) for report in sorted(audit.files, key=lambda report: report.path)
             if report.kind in ("spec", "cases")]  # fmt: skip
    return dumps({"schema": 1, "opscan": __version__, "tool": tool, "files": files})


def _file(report: FileReport, tool: str, entries: tuple[Entry, ...]) -> dict[str, Any]:
    tensors = {tensor.name: dict(_dtypes(tensor, report, entries)) for tensor in report.tensors}
    whole: dict[str, Any] = {"path": report.path, "operator": report.operator, "tensors": tensors}
    if not report.tensors:
        return {**whole, "reason": report.reason}
    if tool == "atb":
        loosest = max(report.tensors, key=lambda tensor: (CLASS_ORDER[tensor.numeric_class], tensor.extent[1]))
        kinds = tensors[loosest.name].values()
        whole["op_type"] = next((kind["is"] for kind in kinds), None)
        whole["compute_times"] = loosest.extent[1]
    return whole


def _dtypes(
    tensor: TensorReport, report: FileReport, entries: tuple[Entry, ...]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for dtype in tensor.dtypes:
        standard = _standard(tensor, report, dtype)
        entry = entry_for(entries, tensor.numeric_class, standard, dtype)
        named = {"standard": standard, "is": entry.name if entry else None}
        yield dtype, {**named, **({"note": entry.note} if entry and entry.note else {})}


def _standard(tensor: TensorReport, report: FileReport, dtype: str) -> str | None:
    """The standard that fits one tensor by itself; None where its class is not known."""
    if tensor.numeric_class is NumericClass.UNKNOWN:
        return None
    if tensor.numeric_class is NumericClass.RANDOM:
        return "distribution"
    if tensor.numeric_class is NumericClass.SELECT_ONLY and "values" not in tensor.depends_on:
        return "value-equal"
    return (report.recommended or {}).get(dtype)
