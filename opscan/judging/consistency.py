"""Do the specs of a catalog that are alike carry the same standard? Standards typed by hand drift apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from opscan.judging.assignments import Assignments, compares_values, judged_as
from opscan.judging.findings import find
from opscan.model import CLASS_ORDER, FileReport, Finding, Span

_NAMED = 3

Key = tuple[str, bool, str, tuple[str, ...]]


def unequal_standards(
    reports: Sequence[FileReport], spans: Mapping[str, Span | None], known: Assignments
) -> list[Finding]:
    """One finding per kind of spec that is compared in several ways; it stands at the first that differs from most.

    Alike are specs of one scenario, all forward or all backward, with the same loosest class over the same dtypes, for
    which the same standard is recommended. `spans`: where each spec writes its standard.
    """
    groups: dict[Key, list[FileReport]] = {}
    for report in reports:
        if report.kind != "spec" or not report.tensors or not compares_values(report.scenarios, known):
            continue
        if _effective(report):
            groups.setdefault(_key(report, known), []).append(report)
    return [finding for key, same in groups.items() if (finding := _finding(key, same, spans)) is not None]


def _key(report: FileReport, known: Assignments) -> Key:
    loosest = max(report.tensors, key=lambda tensor: CLASS_ORDER[tensor.numeric_class])
    recommended = tuple(f"{dtype} {name}" for dtype, name in sorted((report.recommended or {}).items()))
    return judged_as(report.scenarios, known), report.backward, str(loosest.numeric_class), recommended


def _effective(report: FileReport) -> tuple[str, ...]:
    """The standards in effect, one per dtype; empty where one of them is not known."""
    found = {dtype: name for tensor in report.tensors for dtype, name in tensor.effective.items()}
    return () if "unknown" in found.values() else tuple(f"{name} on {dtype}" for dtype, name in sorted(found.items()))


def _finding(key: Key, same: Sequence[FileReport], spans: Mapping[str, Span | None]) -> Finding | None:
    counts = Counter(_effective(report) for report in same)
    if len(counts) < 2:
        return None
    usual = max(counts, key=lambda ways: (counts[ways], ways == _wanted(same)))
    others = [report for report in same if _effective(report) != usual]
    listed = "; ".join(
        f"{', '.join(ways)} in {_names([r.path for r in same if _effective(r) == ways])}"
        for ways, _ in counts.most_common()
    )
    kind = f"{'backward' if key[1] else 'forward'} specs whose loosest tensor is {key[2]}"
    first = others[0]
    message = f"{len(same)} {kind} are compared in {len(counts)} ways: {listed}"
    return find("unequal-standards", first.path, message, spans=[spans.get(first.path)], count=len(others))


def _wanted(same: Sequence[FileReport]) -> tuple[str, ...]:
    return tuple(f"{name} on {dtype}" for dtype, name in sorted((same[0].recommended or {}).items()))


def _names(paths: Sequence[str]) -> str:
    names = [path.rsplit("/", 1)[-1] for path in paths[:_NAMED]]
    more = len(paths) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")
