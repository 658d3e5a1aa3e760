"""The evidence for a spec from a run of its generator; where the plugin cannot be run, from what its text shows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from opscan.config import Settings
from opscan.model import Case, Evidence, Fault, Plugin, Spec
from opscan.opening import Catalog
from opscan.reading.case_values import case_from
from opscan.reading.values import Tree, read_tree
from opscan.running.apart import run_apart
from opscan.running.messages import Bounds, Generation, Trouble
from opscan.running.telling import Telling, trouble_of
from opscan.shapes import evidence_of

_AT_ONCE = 4
CEILING = 2000
"""An audit runs no more cases of one spec; what a plugin does at later ones is then not seen."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A run. `fields`: the cases as ATK writes them, of which `cases` are those that can be read, in the same order."""

    fields: tuple[dict[str, Any], ...] = ()
    cases: tuple[Case, ...] = ()
    counted: int = 0
    """How many cases ATK makes."""
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()
    failed: bool = False
    """The cases, if there are any, are not what ATK would get."""
    lines: tuple[str, ...] = ()


def run_generator(
    spec: Spec,
    plugin: Plugin,
    *,
    seed: int,
    count: int | None = None,
    ceiling: int | None = None,
    invalid: tuple[str, ...] = ("tensor",),
    bounds: Bounds | None = None,
    without: Sequence[str] = (),
) -> Ran:
    """Run generator `spec.generate` of a plugin on drawn cases. Whatever the plugin does, the answer says so."""
    job = Generation(
        plugin=os.path.realpath(plugin.source.path),
        bounds=bounds or Bounds(),
        without=tuple(without),
        generator=spec.generate,
        spec=replace(spec, spans={}, key_spans={}, faults=(), source=replace(spec.source, text="")),
        design=design_of(spec),
        seed=seed,
        count=count,
        ceiling=ceiling,
        invalid=invalid,
    )
    ended = run_apart(job)
    telling = Telling(plugin, spec.spans.get(("generate",)))
    if ended.answer is None:
        trouble = ended.trouble or Trouble("plugin-run-failed", "gives no answer")
        return Ran(faults=(telling.fault(trouble),), failed=True, lines=ended.lines)
    try:
        return replace(_read(ended.answer, spec, telling), lines=ended.lines)
    except (KeyError, TypeError, ValueError, IndexError):
        trouble = Trouble("plugin-run-failed", "gives an answer that cannot be read")
        return Ran(faults=(telling.fault(trouble),), failed=True, lines=ended.lines)


def design_of(spec: Spec) -> dict[str, Any]:
    """The YAML value of a spec."""
    tree = read_tree(spec.source)
    return dict(tree.value) if isinstance(tree, Tree) and isinstance(tree.value, dict) else {}


def _read(answer: dict[str, Any], spec: Spec, telling: Telling) -> Ran:
    faults: list[Fault] = []
    notes: list[str] = []
    failed = False
    if answer["trouble"] is not None:
        faults.append(telling.fault(trouble_of(answer["trouble"])))
        failed = True
    if denials := telling.denials(answer["denials"]):
        faults += denials
        failed = True
    dropped = int(answer["dropped"])
    if dropped and not failed:
        first = trouble_of(answer["raised"][0])
        total = dropped + len(answer["cases"])
        faults.append(telling.fault(first, f" in {dropped} of {total} cases, which are left out"))
        notes.append(f"{dropped} of {total} cases left out: {telling.place(first.file, first.line)} {first.message}")
    fields: list[dict[str, Any]] = []
    cases: list[Case] = []
    unusable = ""
    for entry in answer["cases"]:
        case = _case_of(entry, len(cases), spec)
        if isinstance(case, str):
            unusable = unusable or case
            continue
        fields.append(entry)
        cases.append(case)
    if unusable:
        lost = len(answer["cases"]) - len(cases)
        message = f"makes {lost} cases that ATK could not run: {unusable}"
        faults.append(telling.fault(Trouble("plugin-run-failed", message)))
        failed = failed or not cases
    return Ran(tuple(fields), tuple(cases), int(answer["counted"]), tuple(faults), tuple(notes), failed)


def _case_of(fields: Any, place: int, spec: Spec) -> Case | str:
    """The frozen case of a dictionary from the sandbox, or why it is none. ATK fills in `default` for a missing acc."""
    case = case_from(place, fields)
    untouched = not isinstance(case, str) and spec.acc is None and case.acc == "default"
    return replace(case, acc=None) if untouched and not isinstance(case, str) else case


def by_runs(specs: Sequence[Spec], catalog: Catalog, settings: Settings) -> dict[Path, Evidence]:
    """The evidence of each spec by its path; several generators run at once."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(settings.jobs or min(_AT_ONCE, os.cpu_count() or 1)) as pool:
        found = pool.map(lambda spec: by_run(spec, catalog, settings), specs)
        return {spec.source.path: evidence for spec, evidence in zip(specs, found, strict=True)}


def by_run(spec: Spec, catalog: Catalog, settings: Settings) -> Evidence:
    """As `shapes.evidence_of`, with the generator run instead of read where there is one and no case file.

    `settings.run_cases` cases are kept, spread over all that were run, the boundary cases among them. Where the run
    fails the reading of the plugin's text is left, and the fault says why the run failed.
    """
    links = catalog.links(spec)
    bounds = Bounds.of(settings)
    read = evidence_of(
        spec,
        links,
        draws=settings.draws,
        seed=settings.seed,
        folders=settings.import_folders,
    )
    if read.source == "cases" or spec.generate == "default":
        return read
    if links.generator is None:
        return read
    ran = run_generator(spec, links.generator, seed=settings.seed, ceiling=CEILING, bounds=bounds)
    if ran.failed or not ran.cases:
        return replace(read, faults=(*read.faults, *ran.faults))
    kept = _spread(ran.cases, settings.run_cases)
    notes = list(ran.notes)
    if ran.counted > CEILING:
        notes.append(f"the first {CEILING} of {ran.counted} cases were run")
    # the text shows that nothing varies: then one case is as good as all
    complete = read.source == "generator-static" and read.complete
    return Evidence(
        "generator-run",
        tuple(replace(case, index=place) for place, case in enumerate(kept)),
        True,
        complete,
        "; ".join(notes),
        links.generator.source.path,
        ran.faults,
    )


def _spread(cases: Sequence[Case], most: int) -> list[Case]:
    """At most so many cases, from all over; of boundary cases, which are few and unlike each other, up to a half."""
    border = [case for case in cases if case.is_boundary]
    regular = [case for case in cases if not case.is_boundary]
    shown = _every_nth(border, max(most // 2, most - len(regular)))
    return [*_every_nth(regular, most - len(shown)), *shown]


def _every_nth(cases: Sequence[Case], most: int) -> list[Case]:
    step = max(len(cases) / most, 1) if most else 1
    return [cases[int(place * step)] for place in range(min(most, len(cases)))]
