"""The evidence in words: what an engineer should read instead of a class name and a pair of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opscan.model import CLASS_ORDER, Audit, NumericClass, TensorClass, TensorReport
from opscan.reporting.order import status_rank
from opscan.reporting.text import one_word, plain

_CASES: Mapping[str, str] = {
    "generator-run": "generated case",
    "generator-static": "shape pattern",
    "declared": "declared case",
}
_SUMS: Mapping[str, str] = {
    "broadcast": "a sum over {n} (its input was broadcast)",
    "reduction": "a reduction over {n}",
    "contraction": "a sum of products over {n}",
    "scatter": "scattered into, with {n} meeting in one element",
    "window": "a sum over windows of {n}",
    "scan": "a running sum over {n}",
}
MEANINGS: Mapping[str, str] = {
    "select-only": "copies elements; nothing rounds, in any order",
    "arithmetic": "rounds, in an order that is fixed per element",
    "broadcast-reduced": "sums what a broadcast spread; the result depends on the order of the addends",
    "accumulated": "adds up many addends; the result depends on their order",
    "random": "draws random numbers; not comparable",
    "unknown": "cannot be told; treated as none of the others",
}
DECIDERS: Mapping[str, str] = {
    "shapes": "the shapes",
    "attributes": "the attributes",
    "values": "the values (ties, repeated indices)",
}


def digits(number: int) -> str:
    """`4096`, but `131,072`: separators from five digits on."""
    return f"{number:,}" if number >= 10_000 else str(number)


def span_of(extent: tuple[int, int]) -> str:
    """`1..4096`, or `7` where both ends agree."""
    low, high = extent
    return digits(low) if low == high else f"{digits(low)}..{digits(high)}"


def plural(number: int, noun: str) -> str:
    """`1 case`, `4096 cases`."""
    return f"{digits(number)} {noun}" if number == 1 else f"{digits(number)} {noun}s"


def listed(words: list[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}" if words else ""


def subject(name: str, role: str, index: int | None) -> str:
    """`gradient of input 2 (`other`)`, `output 0 (`self`)`."""
    bare = one_word(name).replace("`", "'")
    if role == "gradient":
        bare = bare.removeprefix("grad:")
        return f"gradient of `{bare}`" if index is None else f"gradient of input {index} (`{bare}`)"
    if bare.startswith("output:"):
        number, _, argument = bare.removeprefix("output:").partition("(")
        return f"output {number} (`{argument.removesuffix(')')}`)" if argument else f"output {number}"
    return f"output `{bare}`"


def what_happens(tensor: TensorReport | TensorClass) -> str:
    """The predicate of a sentence about the tensor: `is a sum over up to 4096 addends (its input was broadcast)`."""
    kind = tensor.numeric_class
    if kind is NumericClass.SELECT_ONLY:
        unless = " unless values tie or indices repeat" if "values" in tensor.depends_on else ""
        return f"copies elements without rounding in any order{unless}"
    if kind is NumericClass.ARITHMETIC:
        if tensor.correctly_rounded:
            return "is rounded once, to the same value on every IEEE device"
        return "is rounded in an order that is fixed per element"
    if kind is NumericClass.RANDOM:
        return "draws random numbers and cannot be compared"
    if kind is NumericClass.UNKNOWN:
        return "cannot be told" + (f": {one_word(tensor.reason)}" if tensor.reason else "")
    return "is " + _SUMS.get(tensor.cause or "", "an accumulation of {n}").format(n=_addends(tensor))


def _addends(tensor: TensorReport | TensorClass) -> str:
    low, high = tensor.extent if isinstance(tensor, TensorReport) else (tensor.extent, tensor.extent)
    return plural(high, "addend") if low == high else f"up to {plural(high, 'addend')}"


def share(tensor: TensorReport) -> str:
    """In how many of its cases the tensor has its class: `55 of 94 cases`."""
    if not tensor.present:
        return "no case"
    noun = _CASES.get(tensor.evidence, "case")
    return f"{digits(shares(tensor.cases).get(tensor.numeric_class.value, 0))} of {plural(tensor.present, noun)}"


def sentence(tensor: TensorReport) -> str:
    """`gradient of input 2 (`other`) is a sum over up to 4096 addends (...) in 55 of 94 cases`."""
    clauses = f"{subject(tensor.name, tensor.role, tensor.input)} {what_happens(tensor)}"
    return f"{clauses} in {share(tensor)}" if tensor.present else clauses


def shares(cases: Mapping[str, int]) -> dict[str, int]:
    """The classes that occur, loosest first."""
    counts = {str(name): count for name, count in cases.items() if count}
    rank = {kind.value: order for kind, order in CLASS_ORDER.items()}
    return {name: counts[name] for name in sorted(counts, key=lambda name: -rank.get(name, -1))}


def verdicts(counts: Mapping[str, int]) -> dict[str, int]:
    """The statuses that occur, worst first."""
    return {name: counts[name] for name in sorted(counts, key=lambda name: (status_rank(name), name)) if counts[name]}


def per_dtype(values: Mapping[str, str]) -> str:
    """`fp16: single-benchmark, fp32: value-equal`; one name where all dtypes agree."""
    names = set(values.values())
    if len(values) > 1 and len(names) == 1:
        return f"{', '.join(values)}: {names.pop()}"
    return ", ".join(f"{dtype}: {name}" for dtype, name in values.items())


def as_written(value: Any) -> str:
    """A standard as one line of flow YAML, near enough to what stands in the file."""
    if value is None:
        return "(none)"
    if isinstance(value, str):
        return one_word(value)
    import yaml

    return one_word(
        str(yaml.safe_dump(plain(value), default_flow_style=True, width=10_000, allow_unicode=True)).strip()
    )


def summary(audit: Audit) -> str:
    """The one line that ends every console report; it never passes over what was not checked."""
    if not audit.files and not audit.findings:
        return "Nothing was audited: no files."
    unknown = [report for report in audit.files if report.status == "unknown"]
    undecided = f"{plural(len(unknown), 'file')} could not be decided" if unknown else ""
    silenced = sum(finding.count for finding in audit.suppressed)
    clauses = [f"{plural(silenced, 'finding')} silenced by comments"] * bool(silenced)
    if not audit.findings:
        fine = sum(report.status == "ok" for report in audit.files)
        rest = sum(report.status == "not-applicable" for report in audit.files)
        parts = [f"The standard fits in {plural(fine, 'file')}"] if fine or not (unknown or clauses) else []
        parts += [undecided] * bool(unknown) + [f"{plural(rest, 'file')} without a standard to judge"] * bool(rest)
        return "; ".join([*parts, *clauses]) + f" (ATK {one_word(audit.atk_version)}, {judged_for(audit)})."
    found = [_found(audit), *[undecided] * bool(undecided), *clauses]
    return "; ".join(found) + f"{_mendable(audit)} ({judged_for(audit)})."


def judged_for(audit: Audit) -> str:
    """The device whose documented accuracy was judged by, or that it was none's."""
    return f"device {one_word(audit.device)}" if audit.device else "any device"


def _found(audit: Audit) -> str:
    counts = [
        plural(number, noun)
        for severity, noun in (("error", "error"), ("warning", "warning"), ("info", "note"))
        if (number := sum(finding.severity == severity for finding in audit.findings))
    ]
    touched = len({finding.path for finding in audit.findings})
    total = len({report.path for report in audit.files} | {finding.path for finding in audit.findings})
    return f"{', '.join(counts)} in {digits(touched)} of {plural(total, 'file')}"


def _mendable(audit: Audit) -> str:
    safe = sum(finding.fix == "safe" for finding in audit.findings)
    unsafe = sum(finding.fix == "unsafe" for finding in audit.findings)
    parts = [f"{digits(safe)} can be fixed (opscan fix)"] * bool(safe)
    parts += [f"{digits(unsafe)} need{'s' if unsafe == 1 else ''} --unsafe"] * bool(unsafe)
    return f"; {', '.join(parts)}" if parts else ""
