"""Which shapes can meet in a spec: from its case file, its generator plugin, or what it declares."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from opscan.dataclass import dataclass
from opscan.model import Case, CaseFile, Evidence, Fault, Plugin, Spec, SpecInput
from opscan.shapes.draw import (
    count_cases,
    draw_cases,
    is_plural,
    labels,
    tensor_inputs,
    varies,
    with_shape,
)
from opscan.shapes.spaces import Unsatisfiable, corner_shapes, shape_space


def gather_evidence(
    spec: Spec,
    *,
    case_file: CaseFile | None,
    plugin: Plugin | None,
    draws: int = 64,
    seed: int = 1234,
    folders: Sequence[Path] = (),
) -> Evidence:
    """The concrete cases that stand for a spec, in order of trust, and where they come from.

    A case file with cases is `cases`; a plugin that provides `spec.generate` and can be followed is `generator-static`;
    a spec that names no generator, and whose tensors cannot meet in more than one way, is `declared`; all else is
    `none` with the reason, never a guess: what a generator that is not followed makes of the declared shapes, nobody
    knows. `draws` cases are drawn by `seed`; the same arguments give the same evidence. Modules that the plugin imports
    may lie in `folders` too. Never raises for bad input.
    """
    if case_file is not None and case_file.cases:
        cases = case_file.cases if _sets_standards(plugin) else _under_the_spec(spec, case_file.cases)
        return Evidence("cases", cases, True, True, origin=case_file.source.path)
    try:
        return _gather(spec, plugin, _Draw(max(draws, 1), seed, tuple(folders)))
    except Unsatisfiable:
        return Evidence("none", reason="no shape of an input fits its max_length and the 64 axes of a tensor")


@dataclass(frozen=True, slots=True)
class _Draw:
    """How many cases to draw, and by which seed. Many specs need none, and drawing takes milliseconds.

    `folders`: where the modules may lie that a plugin imports.
    """

    count: int
    seed: int
    folders: tuple[Path, ...] = ()

    def cases(self, spec: Spec) -> list[Case]:
        return draw_cases(spec, self.count, random.Random(self.seed))


def _gather(spec: Spec, plugin: Plugin | None, draw: _Draw) -> Evidence:
    if spec.generate == "default":
        return _declare(spec, draw) or Evidence("none", reason=_unrelated(spec))
    if plugin is None or spec.generate not in plugin.generators:
        return Evidence("none", reason=f"generator `{spec.generate}` is not in any plugin beside the spec")
    if plugin.tree is None:
        return _unfollowed(plugin, f"{plugin.source.path.as_posix()} is no readable Python")
    return _follow_plugin(spec, plugin, draw)


def _follow_plugin(spec: Spec, plugin: Plugin, draw: _Draw) -> Evidence:
    # The interpreter is most of what this stage imports, and few specs need it.
    from opscan.shapes.generator import Refusal, follow

    drawn = draw.cases(spec)
    followed = follow(plugin, spec, drawn, count_cases(spec), draw.seed, draw.folders)
    if isinstance(followed, Refusal):
        place = f"{plugin.source.path.as_posix()}:{followed.line}" if followed.line else plugin.source.path.as_posix()
        return _unfollowed(plugin, f"{place}: {followed.reason}")
    notes = _assumptions(spec)
    if followed.dropped:
        notes.append(f"{followed.dropped} of {len(drawn)} drawn cases left out: {followed.raised}")
    if followed.unfinished:
        notes.append(f"{followed.unfinished} of {len(drawn)} cases not followed: the plugin takes too many steps")
    free = followed.random or followed.dropped or followed.unfinished or spec.extra_numbers != 0
    complete = not free and not any(varies(i) for i in _all_inputs(spec))
    return Evidence("generator-static", followed.cases, True, complete, "; ".join(notes), plugin.source.path)


def _under_the_spec(spec: Spec, cases: Sequence[Case]) -> Sequence[Case]:
    """The shapes of generated cases under the spec's own standard: theirs is what it said when they were drawn."""
    from opscan.reading.case_table import CaseTable

    if isinstance(cases, CaseTable):
        return cases.with_acc(spec.acc)
    return tuple(replace(case, acc=spec.acc) for case in cases)


def _sets_standards(plugin: Plugin | None) -> bool:
    """Whether a generator gives single cases a standard of their own, so that the spec's does not count for them."""
    if plugin is None or plugin.tree is None:
        return False
    import ast

    return any(isinstance(node, ast.Attribute) and node.attr == "standard" for node in ast.walk(plugin.tree))


def _unfollowed(plugin: Plugin, reason: str) -> Evidence:
    return Evidence("none", reason=reason, origin=plugin.source.path, faults=(Fault("plugin-unreadable", reason),))


def _declare(spec: Spec, draw: _Draw) -> Evidence | None:
    """The drawn cases, where independent drawing leaves no doubt about how shapes meet, else None.

    That is so with at most one tensor, where all but one are fixed to a single element, and where all shapes are fixed.
    """
    tensors = tensor_inputs(spec)
    spaces = [shape_space(i) for i in tensors]
    fixed = [s.fixed for s in spaces]
    if any(is_plural(i.kind) and varies(i) for i in tensors) or (_tensor_count(spec) > len(tensors) and None in fixed):
        return None
    single = [shape is not None and all(n == 1 for n in shape) for shape in fixed]
    if len(tensors) > 1 and sum(not s for s in single) > 1 and None in fixed:
        return None
    free = [s for s, shape in zip(spaces, fixed, strict=True) if shape is None]
    drawn = draw.cases(spec)
    corners = _corners(spec, drawn) if free and len(tensors) == 1 else []
    complete = not free and spec.extra_numbers == 0 and not any(varies(i, dtypes=False) for i in _all_inputs(spec))
    notes = _assumptions(spec)
    return Evidence("declared", (*drawn, *corners), not notes, complete, "; ".join(notes), spec.source.path)


def _corners(spec: Spec, drawn: list[Case]) -> list[Case]:
    """The least and the largest shape of the only tensor, which chance may miss."""
    shapes = corner_shapes(shape_space(tensor_inputs(spec)[0]))
    return [replace(with_shape(drawn[0], s), index=k, id=k) for k, s in enumerate(shapes, start=len(drawn))]


def _unrelated(spec: Spec) -> str:
    tensors = tensor_inputs(spec)
    names = labels(spec, tensors)
    listed = [f"`{names[id(i)]}`" for i in tensors]
    if len(listed) == 1:
        return f"the tensors in {listed[0]} are drawn independently; no generator plugin relates them"
    shown = f"{', '.join(listed[:-1])} and {listed[-1]}" if len(listed) < 5 else f"{listed[0]}, {listed[1]} and others"
    return f"shapes of {shown} are drawn independently; no generator plugin relates them"


def _tensor_count(spec: Spec) -> int:
    """How many tensors a case can have; a list of tensors counts as two where it can hold several."""
    return sum(2 if is_plural(i.kind) and i.tuple_numbers.values not in {(), (1,)} else 1 for i in tensor_inputs(spec))


def _assumptions(spec: Spec) -> list[str]:
    names = labels(spec, tensor_inputs(spec))
    assumed = [f"`{names[id(i)]}`" for i in tensor_inputs(spec) if shape_space(i).assumed]
    return [f"dim_values of {', '.join(assumed[:3])} absent, ATK's default axes assumed"] if assumed else []


def _all_inputs(spec: Spec) -> Sequence[SpecInput]:
    receiver = (spec.tensor_input,) if spec.tensor_input else ()
    return (*receiver, *spec.method_inputs, *spec.inputs)
