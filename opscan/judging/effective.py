"""What ATK really applies to an output of some dtype, given what `standard.acc` says.

Between the text and the comparison stand four silent steps: `default` stands for another comparator in each version,
only the first key of a mapping counts, some keywords have no effect, and some dtypes are judged by another rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from opscan.dataclass import dataclass
from opscan.judging.floating import PARTS, part_of
from opscan.judging.pass_rules import Rule
from opscan.judging.standards import Atk, Standards, did_you_mean, load_standards

MIXED_KEYWORDS = {
    "rtol": "rtol",
    "atol": "atol",
    "required_matched_ratio": "share",
    "max_abs_error_limit": "max_abs",
    "max_ulp_multiple": "max_ulp",
}
"""The suffixes of mixed_tolerance_bm's keywords, and the threshold each sets (the ratio is 1 - share)."""


@dataclass(frozen=True, slots=True)
class Effective:
    """The rule in force. `known`: ATK certainly applies it; else `rule` is the likeliest one, or None.

    `ignored`: keywords without effect. `text_numbers`: keywords whose number is text. `crash`: why the run would fail.
    """

    name: str
    rule: Rule | None
    detail: str
    known: bool
    ignored: tuple[str, ...] = ()
    text_numbers: tuple[str, ...] = ()
    crash: str = ""


def effective(acc: Any, dtype: str, atk_version: str, *, standards: Standards | None = None) -> Effective:
    """The rule that an ATK version applies to an output of `dtype` under `acc` (None, a name, or a mapping).

    Names: a canonical standard, or `unknown`. Raises ValueError for a version without numbers.
    """
    data = standards or load_standards()
    if acc is None or isinstance(acc, str):
        return _effective_by_name(acc, dtype, atk_version, data)
    return _effective(acc, dtype, atk_version, data)


@lru_cache(maxsize=4096)
def _effective_by_name(acc: str | None, dtype: str, atk_version: str, data: Standards) -> Effective:
    return _effective(acc, dtype, atk_version, data)


def _effective(acc: Any, dtype: str, atk_version: str, data: Standards) -> Effective:
    profile = data.profile(atk_version)
    written, keywords, ignored, problem = _parse(acc)
    if problem:
        return Effective("unknown", None, f"fails at run time: {problem}", False, crash=problem)
    name, certain, note = _resolve_default(written, profile)
    if not certain and dtype in data.dispatch:
        return replace(_dispatched(dtype, data), ignored=ignored)
    if name is None:
        return Effective("unknown", None, note, False, ignored)
    standard = data.comparators.get(name)
    if standard is None:
        hint = did_you_mean(name)
        text = f"{name} is no comparator of ATK; a plugin may register it" + (f"; did you mean {hint}?" if hint else "")
        return Effective("unknown", None, text, False, ignored)
    there = profile.comparators.get(name)
    if there is None:
        note = _join(note, f"whether this build of {profile.title} registers {name} is not certain")
    found = _apply(name, keywords, dtype, profile, data)
    detail = _join(note, found.detail)
    found = replace(found, detail=detail, known=found.known and certain, ignored=(*ignored, *found.ignored))
    if there is False:
        crash = f"{name} is not registered in {profile.title}: a KeyError at run time"
        return replace(found, detail=_join(crash, detail), known=False, crash=crash)
    return found


def _parse(acc: Any) -> tuple[str, Mapping[str, Any], tuple[str, ...], str]:
    """Comparator, keywords, keys without effect, and why ATK cannot use it at all."""
    if acc is None:
        return "default", {}, (), ""
    if isinstance(acc, str):
        return acc, {}, (), ""
    if not isinstance(acc, Mapping) or not acc:
        return "", {}, (), "standard.acc must be a comparator's name, or a mapping from a name to its keywords"
    first, *others = acc
    keywords = acc[first]
    if not isinstance(first, str):
        return "", {}, (), f"{first!r} is no comparator's name"
    if keywords is None:
        keywords = {}
    if not isinstance(keywords, Mapping):
        return "", {}, (), f"the value of {first} must be a mapping of keywords"
    return first, {str(key): value for key, value in keywords.items()}, tuple(map(str, others)), ""


def _resolve_default(name: str, profile: Atk) -> tuple[str | None, bool, str]:
    """The comparator that a name stands for, whether that is certain, and what to say of it."""
    if name != "default":
        return name, True, ""
    if profile.default is None:
        return None, False, f"default is a tolerance comparator in {profile.title}; which one is not known"
    if not profile.default_certain:
        note = f"default means {profile.default} in builds of {profile.title} that lack mixed_tolerance_bm"
        return profile.default, False, note
    return profile.default, True, f"default means {profile.default} in {profile.title}"


def _apply(name: str, keywords: Mapping[str, Any], dtype: str, profile: Atk, data: Standards) -> Effective:
    if name in ("equal", "md5", "random_bm"):
        standard = data.comparators[name]
        return Effective(standard, data.rule(standard, dtype), "", True, tuple(keywords))
    if name in ("cv_fused_double_benchmark", "double_benchmark"):
        return _dual(name, keywords, dtype, profile, data)
    found = _single(keywords, dtype, profile, data) if name == "single_bm" else _mixed(keywords, dtype, data)
    if dtype in data.dispatch and found.known:
        return replace(_dispatched(dtype, data), ignored=found.ignored)
    return found


def _dispatched(dtype: str, data: Standards) -> Effective:
    """What every tolerance comparator applies to a dtype without thresholds."""
    name, how = data.dispatch[dtype]
    return Effective(name, data.rule(name, dtype), f"a {dtype} output is compared by {how}", True)


def _mixed(keywords: Mapping[str, Any], dtype: str, data: Standards) -> Effective:
    """mixed_tolerance_bm refuses unknown keywords, and breaks on a number that is text, for every dtype."""
    rows = data.standards["mixed-tolerance"].rules
    allowed = {f"{row}_{suffix}": (row, field) for row in rows for suffix, field in MIXED_KEYWORDS.items()}
    text = tuple(key for key in keywords if key in allowed and not _is_number(keywords[key]))
    for key in keywords:
        if key not in allowed:
            hint = did_you_mean(key, tuple(allowed))
            return _crash(f"ValueError: unknown keyword {key}" + (f", did you mean {hint}?" if hint else ""), text)
    if text:
        shown = ", ".join(f"{key}: {keywords[key]!r}" for key in text)
        return _crash(f"a threshold that is no number fails every case ({shown})", text)
    row = part_of(dtype) if dtype == "complex64" else dtype
    if row not in rows:
        return _without_row(dtype, "mixed_tolerance_bm", data)
    given = {field: float(keywords[key]) for key, (own, field) in allowed.items() if own == row and key in keywords}
    base = rows[row]
    rule = Rule(
        base.passes,
        row,
        rtol=given.get("rtol", base.rtol),
        atol=given.get("atol", base.atol),
        share=round(1 - given["share"], 12) if "share" in given else base.share,
        max_abs=given.get("max_abs", base.max_abs),
        max_ulp=given.get("max_ulp", base.max_ulp),
    )
    how = f"the {row} row on the real and the imaginary part: " if dtype in PARTS else ""
    return Effective(_named(rule, data), rule, f"{how}{rule}", True)


def _named(rule: Rule, data: Standards) -> str:
    """The canonical name of a tolerance whose rtol, atol and share a standard has; bounds of an element may differ."""
    if rule.exact:
        return "value-equal"
    for name, standard in data.standards.items():
        row = standard.rules.get(rule.dtype)
        if (
            standard.passes == rule.passes
            and row
            and all(
                abs(a - b) <= 1e-6 * b
                for a, b in ((rule.rtol, row.rtol), (rule.atol, row.atol), (rule.share, row.share))
            )
        ):
            return name
    return "mixed-tolerance"


def _single(keywords: Mapping[str, Any], dtype: str, profile: Atk, data: Standards) -> Effective:
    formula = [key for key in keywords if key in profile.unpublished.get("single_bm", ())]
    if formula:
        return Effective("unknown", None, f"the formula of single_bm with {formula[0]} is not published", False)
    live = profile.effective.get("single_bm", ())
    ignored = tuple(key for key in keywords if key not in live)
    row = data.standards["single-benchmark"].rules.get(dtype)
    ratio = keywords.get("mare_ratio", 10)
    if not _is_number(ratio):
        return replace(_crash(f"mare_ratio must be a number, not {ratio!r}", ("mare_ratio",)), ignored=ignored)
    if row is None:
        return replace(_without_row(dtype, "single_bm", data), ignored=ignored)
    rule = replace(row, peak=row.mean * float(ratio))
    return Effective("single-benchmark", rule, str(rule), True, ignored)


def _without_row(dtype: str, comparator: str, data: Standards) -> Effective:
    if dtype == "complex64":
        return Effective("value-equal", Rule("value-equal", dtype), "torch.equal: no complex row (unverified)", True)
    if dtype in data.dispatch:
        return _dispatched(dtype, data)
    return Effective("unknown", None, f"{comparator} has no row for {dtype}; what it applies is not known", False)


def _dual(name: str, keywords: Mapping[str, Any], dtype: str, profile: Atk, data: Standards) -> Effective:
    standard = data.comparators[name]
    live = profile.effective.get("cv_fused_double_benchmark", ())
    ignored = tuple(key for key in keywords if key not in live)
    text = tuple(key for key in keywords if key in live and not _is_number(keywords[key]))
    if text:
        return replace(_crash(f"{text[0]} must be a number, not {keywords[text[0]]!r}", text), ignored=ignored)
    if name == "double_benchmark":
        return Effective(standard, None, "the formula of double_benchmark is not published", False, ignored)
    rule = data.rule(standard, dtype)
    if rule is None:
        return Effective("unknown", None, f"{name} covers fp16, bf16 and fp32 only, not {dtype}", False, ignored)
    ratios = {**data.standards[standard].levels["L0"], **{key: float(keywords[key]) for key in live if key in keywords}}
    shown = ", ".join(f"{key} {value:g}" for key, value in ratios.items())
    hints = [f"{key} is ignored, did you mean {hint}?" for key in ignored if (hint := did_you_mean(key, live))]
    return Effective(standard, rule, _join(f"ratios to the benchmark: {shown}", *hints), True, ignored)


def _crash(reason: str, text_numbers: tuple[str, ...]) -> Effective:
    return Effective("unknown", None, f"fails at run time: {reason}", False, (), text_numbers, reason)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _join(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
