"""Plan the splits of an audit: twins with their generators, or the choice of a standard in a generator."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from opscan.audit import Audited
from opscan.config import Settings
from opscan.editing import apply_edits, is_current, replace_acc, replace_generate
from opscan.editing.full_shapes import add_full_shapes, full_shapes_plugin, has_full_shapes, is_full_shapes_plugin
from opscan.editing.plugins import choose_per_case, sets_standard
from opscan.edits import unique_edits
from opscan.fixing import Change, Plan
from opscan.model import Edit, Finding, Plugin, Source, Spec
from opscan.reading import read_file, read_source
from opscan.splitting.candidates import Candidate, NotSplit, candidates
from opscan.splitting.places import full_shapes, tensors_text
from opscan.splitting.verifying import Verified, Verifier
from opscan.twins import generator_name, is_twin, twin_path

_GENERATE = re.compile(r"^generate[ \t]*:[ \t]*['\"]?([^\s'\"#]+)", re.MULTILINE)


def with_splits(plan: Plan, audited: Audited, settings: Settings, *, how: str, unsafe: bool) -> Plan:
    """The plan with the splits that can be verified, `how` being `twin` or `plugin`, and why the others cannot."""
    splitting = _Splitting(plan, audited, settings, unsafe)
    split = splitting.as_twin if how == "twin" else splitting.in_plugin
    unsplit = list(plan.unsplit)
    try:
        for candidate in candidates(audited):
            if not isinstance(candidate, Candidate):
                unsplit.append(": ".join(candidate))
                continue
            try:
                split(candidate)
            except NotSplit as reason:
                unsplit.append(f"{candidate.shown}: {reason}")
    finally:
        splitting.verifier.close()
    return replace(plan, changes=splitting.changes(), unsplit=tuple(unsplit), notes=tuple(splitting.notes))


class _Splitting:
    """The changes so far. Several specs can share a plugin, whose edits add up, and which is then written once."""

    def __init__(self, plan: Plan, audited: Audited, settings: Settings, unsafe: bool) -> None:
        self.verifier = Verifier(audited, settings)
        self.notes: list[str] = []
        self._plan, self._audited, self._settings, self._unsafe = plan, audited, settings, unsafe
        self._specs = {change.shown: change for change in plan.changes}
        self._plugins: dict[Path, Change] = {}
        self._twins: list[Change] = []

    def changes(self) -> tuple[Change, ...]:
        """In the order in which they are written: a catalog is sound after each of them.

        A generator that nothing uses yet does no harm, nor does a twin beside the spec as it was.
        """
        grouped = [*self._plugins.values(), *self._twins, *(c for c in self._specs.values() if c.group)]
        order = {group: place for place, group in enumerate(dict.fromkeys(change.group for change in grouped))}
        grouped.sort(key=lambda change: order[change.group])
        return (*grouped, *(change for change in self._specs.values() if not change.group))

    # -- a twin ------------------------------------------------------------------------------------------------------

    def as_twin(self, candidate: Candidate) -> None:
        """Plan a twin without broadcasts. Raises NotSplit; does nothing where there is one."""
        spec, path = candidate.spec, twin_path(candidate.spec.source.path, self._settings)
        if os.path.lexists(path):
            if is_twin(read_file(path), spec):
                return
            raise NotSplit(f"{path.name} exists already and is no twin of it; move it, or set `split-name`")
        if spec.generate == "default":
            name, plugin, after, is_there = self._plugin_of_its_own(candidate)
        else:
            name, plugin, after, is_there = self._plugin_extended(candidate)
        twin = self._twin(candidate, path, name)
        self._require_certain(self.verifier.check_twin(twin, after))
        shown = Path(candidate.shown).with_name(path.name).as_posix()
        group = self._keep(candidate, plugin, None if is_there else after)
        source = replace(twin.source, text="")
        needs = (spec.source, plugin.source) if plugin.tree is not None else (spec.source,)
        self._twins.append(Change(shown, source, twin.source.text, 0, Path(spec.source.path), group, needs=needs))
        copies = ", ".join(tensor.name for tensor in candidate.report.tensors)
        self.notes.append(f"{candidate.shown}: its twin {shown} compares {copies} bit by bit; draw its cases with "
                          f"-p {plugin.source.path.name}")  # fmt: skip

    def _plugin_extended(self, candidate: Candidate) -> tuple[str, Plugin, Plugin, bool]:
        """The generator of the twin, the plugin as it was read and as it will be, and whether it has that already."""
        spec, plugin = candidate.spec, candidate.generator()
        if sets_standard(plugin.tree, spec.generate):
            raise NotSplit(f"generator `{spec.generate}` sets the standard of each case itself; mend it there")
        self._require_tolerance(candidate)
        before = self._current(plugin)
        name = generator_name(spec.generate, self._settings)
        wanted = full_shapes(spec, candidate.reduced, name)
        if name not in before.generators:
            return name, plugin, self._edited(before, add_full_shapes(before.source, wanted)), False
        if has_full_shapes(before.source, wanted):
            return name, plugin, before, True
        raise NotSplit(f"{plugin.source.path.name} has a generator `{name}` already, and it is not what this twin "
                       "needs; rename it, or set `split-generator`")  # fmt: skip

    def _plugin_of_its_own(self, candidate: Candidate) -> tuple[str, Plugin, Plugin, bool]:
        """The same for a spec without a generator: the plugin is new, and its text empty as it was read."""
        self._require_tolerance(candidate)
        spec = candidate.spec
        name = generator_name(re.sub(r"\W+", "_", spec.source.path.stem), self._settings)
        wanted = full_shapes(spec, candidate.reduced, name)
        path = spec.source.path.with_name(f"generate_{name}.py")
        if path.resolve() in self._plugins:
            raise NotSplit(f"{path.name} is the plugin of another spec's twin already; rename one of the specs")
        if os.path.lexists(path):
            found = read_file(path)
            if isinstance(found, Plugin) and is_full_shapes_plugin(found.source, wanted):
                return name, found, found, True
            raise NotSplit(f"{path.name} exists already, and has not the generator that this twin needs; move it, or "
                           "set `split-generator`")  # fmt: skip
        text = full_shapes_plugin(wanted, spec.source.path.stem)
        text = text.replace("\n", "\r\n") if "\r\n" in spec.source.text else text
        return name, Plugin(Source(path, ""), (), (), None), _plugin(Source(path, text)), False

    def _twin(self, candidate: Candidate, path: Path, name: str) -> Spec:
        """The twin as it will be: the text of the spec, its other edits included, with a generator and a standard."""
        spec = candidate.spec
        kept = [edit for edit in self._planned(candidate) if edit.where[:1] != ("standard",)]
        source = replace(spec.source, path=path, text=apply_edits(spec.source, kept).text)
        source = _applied(source, replace_generate(_spec(source), name))
        twin = _spec(source)
        return twin if twin.acc == "equal" else _spec(_applied(source, replace_acc(twin, "equal")))

    def _require_tolerance(self, candidate: Candidate) -> None:
        """That the spec itself has a tolerance afterwards."""
        if candidate.report.status != "too-strict" or any(
            edit.where[:1] == ("standard",) for edit in self._planned(candidate)
        ):
            return
        findings = [one for one in self._findings(candidate) if one.rule.startswith("OPS1") and one.severity != "info"]
        if any(finding.fix == "unsafe" and finding.edits for finding in findings):
            raise NotSplit("the tolerance it would get is not certain: --unsafe writes it")
        why = findings[0].message if findings else candidate.report.expression_reason
        raise NotSplit(f"it cannot get a tolerance itself: {why}")

    # -- a choice in the plugin ---------------------------------------------------------------------------------------

    def in_plugin(self, candidate: Candidate) -> None:
        """Plan the choice of a standard per case. Raises NotSplit."""
        spec = candidate.spec
        plugin = candidate.generator()
        if sets_standard(plugin.tree, spec.generate):
            raise NotSplit(f"generator `{spec.generate}` sets the standard of each case already; mend it there")
        if candidate.links.case_file is not None:
            drawn = candidate.links.case_file.source.path.name
            raise NotSplit(f"its cases are drawn already and carry its standard: remove {drawn}, or make a twin "
                           "(--split)")  # fmt: skip
        if others := self._others(candidate, plugin):
            raise NotSplit(f"generator `{spec.generate}` serves {', '.join(others[:3])} too, whose standards would "
                           "change; make a twin (--split)")  # fmt: skip
        tolerance = self._tolerance(candidate)
        before = self._current(plugin)
        after = self._edited(before, choose_per_case(before.source, spec.generate, tolerance, tensors_text(spec)))
        verified = self.verifier.check_choice(spec, after)
        self._require_certain(verified)
        self._drop_standard(candidate)
        self._keep(candidate, plugin, after)
        name = plugin.source.path.name
        self.notes.append(f"{candidate.shown}: {name} chooses the standard per case: {verified.remark}")

    def _tolerance(self, candidate: Candidate) -> object:
        """The standard of the cases that broadcast: what the spec would get, or has."""
        if candidate.report.status == "too-strict":
            self._require_tolerance(candidate)
        edits = [edit for edit in self._planned(candidate) if edit.where[:1] == ("standard",)]
        if edits:
            value = edits[0].value
            return value["acc"] if edits[0].where == ("standard",) else value
        return candidate.spec.acc

    def _drop_standard(self, candidate: Candidate) -> None:
        """The generator says now what the spec's own standard would have been changed for."""
        if candidate.shown not in self._specs:
            return
        kept = [edit for edit in self._planned(candidate) if edit.where[:1] != ("standard",)]
        edited = apply_edits(candidate.spec.source, kept)
        del self._specs[candidate.shown]
        if edited.applied:
            self._specs[candidate.shown] = Change(
                candidate.shown, candidate.spec.source, edited.text, len(edited.applied)
            )

    def _others(self, candidate: Candidate, plugin: Plugin) -> list[str]:
        """Other specs that name the generator, in the folders of the spec and of its plugin or read by this run."""
        own = candidate.spec.source.path.resolve()
        specs = [file for file in self._audited.catalog.files if isinstance(file, Spec)]
        found = {file.source.path.resolve(): file.generate for file in specs}
        for folder in {own.parent, plugin.source.path.resolve().parent}:
            for path in (*folder.glob("*.yaml"), *folder.glob("*.yml")):
                named = _GENERATE.search(path.read_text(encoding="utf-8", errors="replace")) if path.is_file() else None
                found.setdefault(path.resolve(), named[1] if named else "")
        return sorted(path.name for path, name in found.items() if name == candidate.spec.generate and path != own)

    # -- what both do --------------------------------------------------------------------------------------------------

    def _findings(self, candidate: Candidate) -> list[Finding]:
        return [finding for finding in self._audited.audit.findings if finding.path == candidate.shown]

    def _planned(self, candidate: Candidate) -> list[Edit]:
        """The edits of the spec that the plan makes."""
        allowed = ("safe", "unsafe") if self._unsafe else ("safe",)
        findings = [finding for finding in self._findings(candidate) if finding.fix in allowed]
        return list(apply_edits(candidate.spec.source, unique_edits(findings)).applied)

    def _require_certain(self, verified: Verified) -> None:
        if verified.unsure and not self._unsafe:
            raise NotSplit(f"it needs --unsafe: {verified.unsure}")

    def _current(self, plugin: Plugin) -> Plugin:
        """The plugin with the edits so far."""
        change = self._plugins.get(plugin.source.path.resolve())
        if change is None:
            if not is_current(plugin.source):
                raise NotSplit(f"{plugin.source.path.name} is not written in UTF-8, or has changed since it was read")
            return plugin
        return _plugin(replace(plugin.source, text=change.text))

    def _edited(self, plugin: Plugin, edit: Edit | str) -> Plugin:
        if isinstance(edit, str):
            raise NotSplit(f"{plugin.source.path.name}: {edit}")
        return _plugin(_applied(plugin.source, edit))

    def _keep(self, candidate: Candidate, plugin: Plugin, after: Plugin | None) -> str:
        """Note the new text of the plugin, if any, and that the spec goes with it. The name of their group."""
        path = plugin.source.path.resolve()
        group = path.as_posix()
        if after is not None:
            shown, made = self._shown(candidate, plugin), self._plugins.get(path)
            like = candidate.spec.source.path if plugin.tree is None else None
            edits = (made.edits if made else 0) + int(like is None)
            needs = (*(made.needs if made else ()), candidate.spec.source)
            self._plugins[path] = Change(shown, plugin.source, after.source.text, edits, like, group, needs=needs)
        if candidate.shown in self._specs:
            self._specs[candidate.shown] = replace(self._specs[candidate.shown], group=group)
        return group

    def _shown(self, candidate: Candidate, plugin: Plugin) -> str:
        """The plugin's path as the user would name it: like the spec's, absolute or not."""
        path = plugin.source.path
        if path.as_posix() in self._audited.sources or Path(candidate.shown).is_absolute():
            return path.as_posix()
        return Path(os.path.relpath(path)).as_posix()


def _applied(source: Source, edit: Edit | str) -> Source:
    """The source with one verified edit. Raises NotSplit."""
    if isinstance(edit, str):
        raise NotSplit(edit)
    edited = apply_edits(source, [edit])
    if edited.refused:
        raise NotSplit(f"{source.path.name}: {edited.refused[0].reason}")
    return replace(source, text=edited.text)


def _spec(source: Source) -> Spec:
    file = read_source(source)
    if not isinstance(file, Spec):
        raise NotSplit(f"{source.path.name} would be no spec")
    return file


def _plugin(source: Source) -> Plugin:
    file = read_source(source)
    if not isinstance(file, Plugin):
        raise NotSplit(f"{source.path.name} would be no plugin")
    return file
