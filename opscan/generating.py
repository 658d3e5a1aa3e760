"""The cases that `atk case` would draw from a spec, as the text of a case file."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opscan import reading
from opscan.config import Settings
from opscan.judging import from_faults
from opscan.model import Fault, Source, Spec, Unread
from opscan.opening import open_catalog
from opscan.running.evidence import design_of, run_generator
from opscan.running.messages import Bounds
from opscan.running.records import case_fields
from opscan.shapes.atk_cases import INVALID_KINDS, boundary_cases, regular_cases
from opscan.shapes.draw import count_cases
from opscan.shapes.spaces import Unsatisfiable


class Refused(Exception):
    """No cases are drawn; the message says why, with the place, and what to do."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The cases as ATK writes them, and what is to be said of them."""

    fields: tuple[dict[str, Any], ...]
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """A case file in the layout of ATK's own."""
        return json.dumps(self.fields, indent=4, ensure_ascii=False) + "\n"


def draw(path: Path, settings: Settings, count: int | None) -> Drawn:
    """The cases of the spec in a file: `count` regular ones, or as many as ATK makes, and its boundary cases.

    Raises Refused for what is no sound spec, and where its plugin may not or cannot be run.
    """
    spec = _spec(path)
    if spec.generate == "default":
        return _without_plugin(spec, settings, count)
    if not settings.run_generators:
        raise Refused(f"{_place(spec)}: `generate: {spec.generate}` is the code of a plugin, and its cases come from "
                      "running that: add --run-generators, or write `generate: default`")  # fmt: skip
    links = open_catalog([path]).links(spec)
    if links.generator is None:
        raise Refused(f"{_place(spec)}: {links.generator_reason}")
    bounds = Bounds.of(settings)
    ran = run_generator(
        spec,
        links.generator,
        seed=settings.seed,
        count=count,
        invalid=INVALID_KINDS,
        bounds=bounds,
    )
    said = tuple(fault.message for fault in ran.faults)
    if ran.failed or not ran.cases:
        raise Refused("; ".join(said))
    return Drawn(_numbered(ran.fields), said)


def _spec(path: Path) -> Spec:
    file = reading.read_file(path)
    if isinstance(file, Unread):
        raise Refused(f"{path.as_posix()}: {file.reason}")
    if not isinstance(file, Spec):
        raise Refused(f"{path.as_posix()} is no case-design YAML")
    broken = [fault for fault in file.faults if _is_error(fault)]
    if broken:
        raise Refused(f"{_where(file.source, broken[0])}: {broken[0].message}")
    return file


def _is_error(fault: Fault) -> bool:
    return from_faults("", [fault])[0].severity == "error"


def _where(source: Source, fault: Fault) -> str:
    shown = source.path.as_posix()
    return shown if fault.span is None else f"{shown}:{fault.span.line}:{fault.span.column}"


def _place(spec: Spec) -> str:
    return _where(spec.source, Fault("", "", spec.spans.get(("generate",))))


def _without_plugin(spec: Spec, settings: Settings, count: int | None) -> Drawn:
    design = design_of(spec)
    try:
        cases = regular_cases(spec, count or count_cases(spec), random.Random(settings.seed))
        cases += boundary_cases(spec, random.Random(settings.seed + 1))
    except Unsatisfiable:
        shown = spec.source.path.as_posix()
        raise Refused(f"{shown}: no shape of an input fits its max_length and the 64 axes of a tensor") from None
    return Drawn(_numbered([case_fields(case, spec, design) for case in cases]))


def _numbered(fields: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    return tuple({**one, "id": number} for number, one in enumerate(fields))
