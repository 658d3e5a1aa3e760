"""What to write under `standard.acc` so that ATK applies the recommended standards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from opscan.judging.effective import MIXED_KEYWORDS
from opscan.judging.floating import FORMATS, part_of
from opscan.judging.pass_rules import Rule
from opscan.judging.standards import Atk, Standards, load_standards


def expression(
    recommended: Mapping[str, str],
    atk_version: str,
    *,
    rules: Mapping[str, Rule] | None = None,
    standards: Standards | None = None,
) -> tuple[Any | None, str]:
    """The value of `standard.acc` for the standards recommended per dtype, and what must be said of it.

    Returns (None, reason) where the version cannot express them. Numbers are floats. dtypes without a threshold row are
    left out and named in the reason. `rules` holds the thresholds of a `derived` standard by dtype. Raises ValueError
    for a version without numbers, KeyError for an unknown standard.
    """
    data = standards or load_standards()
    profile = data.profile(atk_version)
    names = {name for name in recommended.values() if name == "derived" or data.standards[name]}
    if not names:
        return None, "nothing is recommended"
    if names == {"value-equal"}:
        return "equal", ""
    if names <= {"value-equal", "bit-equal"}:
        return _exact(names, profile)
    for name in ("run-to-run", "distribution", "dual-benchmark", "quantised"):
        if name in names:
            return _special(name, recommended, profile, data)
    return _tolerance(recommended, profile, data, rules or {})


def _exact(names: set[str], profile: Atk) -> tuple[Any | None, str]:
    if names == {"bit-equal"} and profile.comparators.get("md5"):
        return "md5", ""
    return "equal", f"{profile.title} has no certain md5; equal is nearest and does not tell +0 from -0"


def _special(name: str, recommended: Mapping[str, str], profile: Atk, data: Standards) -> tuple[Any | None, str]:
    """Standards that fill a whole case; they do not mix with others, but for integers that go by the dispatch."""
    others = {dtype for dtype, other in recommended.items() if other != name and dtype not in data.dispatch}
    if others:
        return (
            None,
            f"{name} cannot share a case with the standard of {', '.join(sorted(others))}: split the spec",
        )
    writing = data.standards[name].writings[profile.version]
    if writing.write is None:
        nearest = f"; nearest: {writing.nearest}" if writing.nearest else ""
        return None, f"{profile.title} cannot write {name}: {writing.note}{nearest}"
    if name == "dual-benchmark":
        return {writing.write: dict(data.standards[name].levels["L0"])}, writing.note
    return writing.write, writing.note


def _tolerance(
    recommended: Mapping[str, str], profile: Atk, data: Standards, given: Mapping[str, Rule]
) -> tuple[Any | None, str]:
    notes: list[str] = []
    kept: dict[str, str] = {}
    for dtype, name in recommended.items():
        note = _left_out(dtype, name, data)
        if note is None:
            kept[dtype] = name
        elif note:
            notes.append(note)
    if not kept:
        return None, "; ".join(notes) or "ATK compares all of these dtypes by torch.equal, whatever is written"
    names = set(kept.values())
    if names == {"single-benchmark"}:
        return "single_bm", "; ".join(notes)
    if "single-benchmark" in names:
        return None, "single-benchmark cannot stand beside another standard in one case: split the spec"
    there = profile.comparators.get("mixed_tolerance_bm")
    if there is False:
        lack = f"{profile.title} has no mixed_tolerance_bm; nearest is single_bm, but it has no absolute term, "
        return None, lack + "so correct sums that cancel fail it"
    if there is None:
        notes.append(f"some builds of {profile.title} lack mixed_tolerance_bm: a KeyError there")
    if names == {"mixed-tolerance"}:
        return "mixed_tolerance_bm", "; ".join(notes)
    rows = _rows(kept, data, given, notes)
    if isinstance(rows, str):
        return None, rows
    keywords = {key: value for row in FORMATS if row in rows for key, value in _keywords(row, rows[row]).items()}
    exact = ", ".join(sorted(row for row, rule in rows.items() if rule.exact))
    if exact:
        notes.append(f"zero tolerance stands for value-equal on {exact}, but a golden with NaN or Inf passes unread")
    return {"mixed_tolerance_bm": keywords}, "; ".join(notes)


def _rows(
    kept: Mapping[str, str], data: Standards, given: Mapping[str, Rule], notes: list[str]
) -> dict[str, Rule] | str:
    """The rule of each threshold row, or why there is none; complex64 shares the row of fp32."""
    rows: dict[str, Rule] = {}
    for dtype, name in kept.items():
        row = part_of(dtype)
        rule = given[dtype] if name == "derived" else data.rule(name, row)
        if rule is None:
            return f"{name} has no thresholds for {dtype}"
        if row in rows and rows[row] != rule:
            notes.append(f"complex64 and {row} share one row of thresholds, which takes the looser standard")
            rule = _loosest(rule, rows[row])
        rows[row] = rule
    return rows


def _loosest(one: Rule, other: Rule) -> Rule:
    """The thresholds that both pass."""
    pairs = {
        name: max(getattr(one, name), getattr(other, name)) for name in ("rtol", "atol", "share", "max_abs", "max_ulp")
    }
    return replace(one, **pairs)


def _left_out(dtype: str, name: str, data: Standards) -> str | None:
    """What to say of a dtype that no keyword can reach; None for one that has a row."""
    if dtype in data.dispatch:
        standard, how = data.dispatch[dtype]
        return "" if standard == name else f"{dtype} has no threshold row and is compared by {how}"
    if dtype != "complex64" and dtype not in data.standards["mixed-tolerance"].rules:
        return f"{dtype} has no threshold row; how ATK compares it is not known"
    return None


def _keywords(row: str, rule: Rule) -> dict[str, float]:
    """The five keywords of one row; an exact rule is written as zero tolerance on every element."""
    exact = rule.exact
    values = {
        "rtol": rule.rtol,
        "atol": rule.atol,
        "share": round(1 - rule.share, 12),
        "max_abs": 0.0 if exact else rule.max_abs,
        "max_ulp": 0.0 if exact else rule.max_ulp,
    }
    return {f"{row}_{suffix}": float(values[field]) for suffix, field in MIXED_KEYWORDS.items()}
