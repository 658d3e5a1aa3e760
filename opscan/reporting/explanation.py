"""The answer of `opscan explain`: the class of every compared tensor of one operator, and the way to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from opscan.judging.drift_parameters import ORDERED
from opscan.judging.drifts.exactness import aten_name
from opscan.judging.drifts.functions import ULPS
from opscan.judging.floating import part_of
from opscan.model import Classification, NumericClass, StageReport, TensorClass, TensorReport
from opscan.reporting.json_format import dumps, tensor_object
from opscan.reporting.look import Look
from opscan.reporting.palette import faint, paint, sign, strong
from opscan.reporting.paths import path_lines
from opscan.reporting.text import columns, one_line, one_word, wrap
from opscan.reporting.words import DECIDERS, MEANINGS, listed, plural, subject, what_happens

if TYPE_CHECKING:
    from opscan.judging.devices import Device
    from opscan.numerics.names import Origin


def write(
    classification: Classification,
    operator: str,
    format: str,
    look: Look,
    origin: Origin | None = None,
    device: Device | None = None,
) -> str:
    if format == "json":
        return dumps(explanation_object(classification, operator, origin, device))
    tell = _TELLERS[format]
    lines = [_title(classification, operator, look), *_origin_lines(origin, format, look)]
    if classification.reason or not classification.tensors:
        lines += wrap(_opening(classification) + (classification.reason or "no reason given"), look.width)
    for tensor in classification.tensors:
        lines += ["", *tell(tensor, look)]
        lines += wrap(documented(device, tensor), look.width, "  ") if device is not None else []
    return "\n".join(lines) + "\n"


def _opening(classification: Classification) -> str:
    """What a reason answers, where it does not say that itself."""
    if classification.tensors or " refuses these inputs: " in classification.reason:
        return ""
    return "The operator refuses these inputs: " if classification.mismatch else "Not known: "


def documented(device: Device, tensor: TensorClass) -> str:
    """What the documents of a device say of a tensor: how exact its functions are, and in which order its sums add."""
    if tensor.numeric_class is NumericClass.SELECT_ONLY:
        return f"on {device.name}: the same bits"
    form, functions = part_of(tensor.dtype), sorted({step[0] for step in tensor.formula} & ULPS.keys())
    bounds = [
        f"{name} within {bound:g} ULP{' (subnormals flushed)' if aten_name(name) in device.flushed else ''}"
        if (bound := device.ulp(aten_name(name), form, 0.0))
        else f"{name} not documented"
        for name in functions
    ]
    order = device.order if tensor.cause in ORDERED else None
    sums = [] if tensor.numeric_class is NumericClass.ARITHMETIC else ["sums in an order that is not documented"]
    if order is not None:
        over = " or ".join(order.ways)
        cores = " or ".join(map(str, order.cores))
        sums = [f"sums of {order.repeat} by a tree, these by {over}, on {cores} cores"]
    return f"on {device.name}: " + "; ".join([*bounds, *sums] or ["rounds as every IEEE device"])


def explanation_object(
    classification: Classification, operator: str, origin: Origin | None = None, device: Device | None = None
) -> dict[str, Any]:
    """`operator` and `tensors` under the contract's keys; `reason` where something is not known.

    `origin` where the catalog's own entry was asked: its name, where it stands, its ATen overload or its formula.
    """
    source = {"origin": asdict(origin)} if origin else {}
    reason = {"reason": classification.reason} if classification.reason else {}
    return {
        "operator": operator,
        **source,
        **reason,
        **({"device": device.name} if device is not None else {}),
        "tensors": [
            tensor_object(_one_case(tensor))
            | ({"documented": documented(device, tensor)} if device is not None else {})
            for tensor in classification.tensors
        ],
    }


def _origin_lines(origin: Origin | None, format: str, look: Look) -> list[str]:
    """What the operator was taken for; in full also the formula itself."""
    if origin is None:
        return []
    meant = f"aten.{origin.aten}" if origin.aten else f"the formula of {origin.entry}"
    lines = [faint(f"taken as {meant}: {origin.path}:{origin.line}", look.color)]
    if origin.formula and format == "full":
        lines += [faint(f"  {line}", look.color) for line in origin.formula.rstrip().splitlines()]
    return lines


def _one_case(tensor: TensorClass) -> TensorReport:
    """A class at one shape, as a report over one declared case; no standard is judged here."""
    return TensorReport(
        name=tensor.name,
        role=tensor.role,
        input=tensor.input,
        dtypes=(tensor.dtype,),
        numeric_class=tensor.numeric_class,
        correctly_rounded=tensor.correctly_rounded,
        cause=tensor.cause,
        depends_on=tensor.depends_on,
        extent=(tensor.extent, tensor.extent),
        cases={tensor.numeric_class.value: 1},
        present=1,
        effective={},
        status="not-applicable",
        path=tensor.path,
        evidence="declared",
        reason=tensor.reason,
        stages=tuple(StageReport(stage.cause, (stage.extent, stage.extent)) for stage in tensor.stages),
        traced=tensor.traced,
    )


def _title(classification: Classification, operator: str, look: Look) -> str:
    asked = ", traced with PyTorch" if any(tensor.traced for tensor in classification.tensors) else ""
    basis = f"  (basis {classification.basis}{asked})" if classification.basis != "none" else ""
    return strong(one_word(operator), look.color) + faint(basis, look.color)


def _concise(tensor: TensorClass, look: Look) -> list[str]:
    kind = tensor.numeric_class.value
    shape = f"{tensor.dtype}[{','.join(map(str, tensor.shape))}]"
    head = f"{one_word(tensor.name)}  {shape}  "
    title = f"{strong(one_word(tensor.name), look.color)}  {shape}  {paint(f'{sign(kind)} {kind}', kind, look.color)}"
    lines = [title] if columns(head) else []
    lines += wrap(f"{subject(tensor.name, tensor.role, tensor.input)} {what_happens(tensor)}", look.width, "  ")
    if tensor.correctly_rounded:
        lines.append("  correctly rounded: equal across IEEE devices all the same")
    if tensor.products and tensor.numeric_class in _SUMS:
        lines.append("  the addends are products or other rounded values, not copies")
    if tensor.depends_on:
        extra = listed([DECIDERS.get(word, word) for word in tensor.depends_on])
        lines += wrap(f"decided by {extra}", look.width, "  ")
    return lines + path_lines(tensor.path, "  ", look)


def _full(tensor: TensorClass, look: Look) -> list[str]:
    kind = tensor.numeric_class.value
    facts: Mapping[str, str] = {
        "class": f"{kind}: {MEANINGS[kind]}",
        "cause": tensor.cause or "",
        "extent": plural(tensor.extent, "addend") if tensor.extent > 1 else "",
        "role": tensor.role if tensor.input is None else f"{tensor.role} of input {tensor.input}",
        "reason": one_line(tensor.reason),
    }
    lines = _concise(tensor, look)
    extra = [line for name, fact in facts.items() if fact for line in wrap(f"{name}: {fact}", look.width, "  ")]
    return [lines[0], *extra, *lines[1:]]


_SUMS = (NumericClass.BROADCAST_REDUCED, NumericClass.ACCUMULATED)
_TELLERS: Mapping[str, Callable[[TensorClass, Look], list[str]]] = {"concise": _concise, "full": _full}
