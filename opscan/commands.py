"""What each command does, between the command line and the stages: run, render, write, choose the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opscan.config import FolderSettings, Settings
from opscan.interface import CLEAN, FOUND, UNUSABLE, reaches
from opscan.model import Case, Classification, Finding

if TYPE_CHECKING:
    from opscan.audit import Audited
    from opscan.fixing import Plan
    from opscan.judging.devices import Device
    from opscan.judging.rulebook import Rulebook
    from opscan.numerics import Limits
    from opscan.numerics.names import Origin


class Failure(click.ClickException):
    """What keeps a command from doing anything; one line, exit code 2."""

    exit_code = UNUSABLE


def run_audit(
    paths: Sequence[Path],
    settings: FolderSettings,
    form: str | None,
    output: Path | None,
    *,
    per_case: bool,
    export: str | None,
    baseline: Path | None,
    write_baseline: bool,
) -> int:
    """Audit, report, and return 1 if a finding is at or above its folder's `fail_on` and not in the baseline.

    `export`: the tool under whose names the standards that fit are written, instead of a report.
    """
    from opscan.audit import combined

    audits = _audit(paths, settings)
    if baseline is not None:
        audits = _without_known(audits, baseline, write_baseline)
    if export is None:
        _emit(audits, form, output, per_case=per_case)
    else:
        from opscan.reporting.exports import export as write_export

        _put(write_export(combined(audits), export, audits[0].judge.rules.folders), output)
    return _exit_code(audits)


def _without_known(audits: Sequence[Audited], path: Path, write: bool) -> list[Audited]:
    """The audits without the findings of the baseline; what the baseline does goes to stderr, never unsaid."""
    from opscan.baseline import BaselineError, compare
    from opscan.baseline import write as write_baseline

    findings = [finding for one in audits for finding in one.audit.findings]
    try:
        if write:
            write_baseline(findings, path)
        compared = compare(findings, path)
    except BaselineError as problem:
        raise click.UsageError(str(problem)) from None
    click.echo(f"baseline {path}: {compared.covered} findings are known", err=True)
    for entry in compared.stale:
        click.echo(f"stale baseline entry: {entry}", err=True)
    new = {id(finding) for finding in compared.new}
    return [_with_findings(one, [f for f in one.audit.findings if id(f) in new]) for one in audits]


def _with_findings(audited: Audited, findings: Sequence[Finding]) -> Audited:
    return replace(audited, audit=replace(audited.audit, findings=tuple(findings)))


def _audit(paths: Sequence[Path], settings: FolderSettings) -> list[Audited]:
    """The audits of all files, one for those that lie under the same settings; faulty settings and rules come first."""
    from opscan.audit import audit_catalog
    from opscan.config import ConfigError
    from opscan.opening import open_catalog, path_of

    catalog = open_catalog(paths)
    try:
        chosen = {settings.of(place): None for place in (*paths, *map(path_of, catalog.asked))}
    except ConfigError as problem:
        raise click.UsageError(str(problem)) from None
    for one in chosen:
        rules = _rulebook(one)
        _require_rules([*one.select, *one.ignore], rules)
        _require_version(one.atk_version)
        _require_device(one.device, rules.folders)
    return audit_catalog(catalog, settings.of, paths)


def _rulebook(settings: Settings) -> Rulebook:
    """The rules in force, all of them checked: what is wrong with one must not turn up in an audit."""
    from opscan.judging.rulebook import open_rulebook
    from opscan.judging.standards_file import StandardsError

    try:
        return open_rulebook(settings.rules, settings.profile)
    except StandardsError as problem:
        raise click.UsageError(str(problem)) from None


def _require_version(version: str) -> None:
    from opscan.judging.standards import load_standards

    try:
        load_standards().profile(version)
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None


def _require_device(name: str, own: tuple[Path, ...]) -> Device | None:
    """The device named, None for no name; a wrong name is a usage error that says which there are."""
    if not name:
        return None
    from opscan.judging.devices import find_device
    from opscan.judging.standards_file import StandardsError

    try:
        return find_device(name, own)
    except (StandardsError, ValueError) as problem:
        raise click.UsageError(str(problem)) from None


def _require_rules(patterns: Sequence[str], rules: Rulebook) -> None:
    """A misspelt rule would silence a run, or select nothing and look clean."""
    from opscan.judging.rules import rule_id, rule_names

    names = rule_names(rules.folders)
    for pattern in patterns:
        if pattern not in names and not any(rule_id(name, rules.folders).startswith(pattern) for name in names):
            raise click.UsageError(f"there is no rule {pattern!r}; `opscan rules` lists them")


def _exit_code(audits: Sequence[Audited]) -> int:
    """2 where a path does not exist, for that is a usage error; else 1 if a finding is at or above its `fail_on`."""
    if _has_missing(audits):
        return UNUSABLE
    failing = any(reaches(f.severity, one.settings.fail_on) for one in audits for f in one.audit.findings)
    return FOUND if failing else CLEAN


def _has_missing(audits: Sequence[Audited]) -> bool:
    return any(finding.name == "missing-path" for one in audits for finding in one.audit.findings)


def _emit(audits: Sequence[Audited], form: str | None, output: Path | None, *, per_case: bool) -> None:
    from opscan.audit import combined
    from opscan.reporting import render

    terminal = output is None and sys.stdout.isatty()
    audit = combined(audits)
    chosen = form or ("full" if terminal and len(audit.files) == 1 else "concise")
    if chosen in ("full", "html", "markdown"):
        from opscan.edits import with_diffs

        audit = combined([replace(one, audit=with_diffs(one)) for one in audits])
    _put(render(audit, chosen, color=terminal, width=_width(), per_case=per_case), output)


def _width() -> int:
    """The columns of the terminal, else 100; as `shutil.get_terminal_size`, whose module takes long to import."""
    try:
        chosen = int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        chosen = 0
    if chosen > 0:
        return chosen
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 100  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):
        return 100


def _put(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, encoding="utf-8", newline="")
    except OSError as problem:
        raise click.UsageError(f"cannot write {output}: {problem.strerror}") from None


def run_fix(
    paths: Sequence[Path], settings: FolderSettings, *, write: bool, unsafe: bool, split: str | None = None
) -> int:
    """Show or apply the edits. Without `write`: 1 if edits would be made; with it: 1 if some finding remains.

    `split`: how specs are split whose gradients need different standards, `twin` or `plugin`.
    """
    from opscan.fixing import merged, write_fixes

    audits = _audit(paths, settings)
    plan = merged([_planned(one, unsafe=unsafe, split=split) for one in audits])
    for reason in plan.unsplit:
        click.echo(f"not split: {reason}", err=True)
    for refusal in plan.refusals:
        click.echo(f"not edited: {refusal}", err=True)
    if not write:
        _put_diff(plan.diff)
        if plan.changes and plan.diff_folder != Path.cwd().resolve():
            click.echo(f"the paths of the diff begin at {plan.diff_folder}: apply it there", err=True)
        for note in plan.notes:
            click.echo(note, err=True)
        click.echo(plan.summary(), err=True)
        return UNUSABLE if _has_missing(audits) else FOUND if plan.changes else CLEAN
    written = write_fixes(plan)
    for problem in written.problems:
        click.echo(f"not written: {problem}", err=True)
    for note in plan.notes:
        click.echo(note, err=True)
    click.echo(plan.summary(written), err=True)
    return _exit_code(_audit(paths, settings))


def _planned(audited: Audited, *, unsafe: bool, split: str | None) -> Plan:
    from opscan.fixing import plan_fixes

    plan = plan_fixes(audited, unsafe=unsafe)
    if split is None:
        return plan
    from opscan.splitting import with_splits

    return with_splits(plan, audited, audited.settings, how=split, unsafe=unsafe)


def _put_diff(diff: str) -> None:
    """A diff goes out in the bytes that the files have: no other encoding, no other line ends, also of their names."""
    click.echo(diff if sys.stdout.isatty() else diff.encode("utf-8", "surrogateescape"), nl=False)


def run_explain(
    case: Case, patterns: Sequence[Case] | None, settings: Settings, form: str | None, output: Path | None
) -> int:
    """Classify one call and show why, or its broadcast patterns side by side; 1 if nothing is known of it.

    With a device the answer says what is documented of it for the call.
    """
    device = None
    if settings.device:
        device = _require_device(settings.device, _rulebook(settings).folders)
    from opscan.numerics import Classifier, Limits, Question
    from opscan.reporting import render_explanation, render_patterns

    limits = Limits(1, settings.trace_seconds, settings.trace_mebibytes)
    terminal = output is None and sys.stdout.isatty()
    width = _width()
    name, chosen = case.name or "", form or "full"
    if patterns:
        known = Classifier(limits=limits).classify_many([Question(one) for one in patterns])
        answers = list(zip(patterns, known, strict=True))
        _put(render_patterns(answers, name, chosen, color=terminal, width=width), output)
        return int(not known[0].tensors)
    answer = _answer(case, limits)
    origin = _origin(answer, name)
    _put(render_explanation(answer, name, chosen, color=terminal, width=width, origin=origin, device=device), output)
    return int(not answer.tensors)


def _answer(case: Case, limits: Limits) -> Classification:
    """The classes of the call as it is written, else as its operator takes it; what was given up is the reason."""
    from opscan.explaining import other_readings
    from opscan.numerics import Classifier

    classifier = Classifier(limits=limits)
    answer = classifier.classify(case)
    if answer.tensors or not answer.mismatch:
        return answer
    for reading, given_up in other_readings(case):
        other = classifier.classify(reading)
        if other.tensors:
            return replace(other, reason=f"{given_up}: {answer.reason}")
    return answer


def _origin(known: Classification, name: str) -> Origin | None:
    """The catalog's entry that an answer was taken from; None where PyTorch's own operator was asked."""
    from opscan.numerics.names import is_npu_name, origin_of

    return origin_of(name) if known.basis == "name" and is_npu_name(name) else None


def run_validate(
    paths: Sequence[Path],
    settings: FolderSettings,
    form: str | None,
    output: Path | None,
    *,
    device: str,
    runs: int,
    max_cases: int,
) -> int:
    """Run on two devices; 1 if a class was refuted, 2 if the device is not there."""
    from opscan.reporting import render_confirmations
    from opscan.validating import DeviceMissing, validate_paths

    for path in paths:
        if not path.exists():
            raise Failure(f"no such file or folder: {path}")
    if device.startswith("simulated:"):
        first = settings.of(paths[0])
        _require_device(device.partition(":")[2], _rulebook(first).folders)
    try:
        confirmations = validate_paths(paths, settings, device, runs=runs, max_cases=max_cases)
    except DeviceMissing as problem:
        raise Failure(str(problem)) from None
    terminal = output is None and sys.stdout.isatty()
    width = _width()
    _put(render_confirmations(confirmations, form or "full", device, color=terminal, width=width), output)
    return int(any(confirmation.verdict == "refuted" for confirmation in confirmations))


def run_cases(path: Path, settings: Settings, count: int | None, output: Path | None) -> int:
    """Write the cases of one spec; 2 where they cannot be drawn."""
    from opscan.generating import Refused, draw

    try:
        drawn = draw(path, settings, count)
    except Refused as problem:
        raise Failure(str(problem)) from None
    for note in drawn.notes:
        click.echo(f"note: {note}", err=True)
    _put(drawn.text(), output)
    if output is not None:
        click.echo(f"{len(drawn.fields)} cases in {output}", err=True)
    return 0


def list_rules(settings: Settings) -> str:
    """One line per rule under the profile: id, name, severity, summary."""
    from opscan.judging.profiles import load_profile
    from opscan.judging.rules import load_rule, rule_names

    own = _rulebook(settings).folders
    severities = load_profile(settings.profile, own).severities
    rules = [load_rule(name, own) for name in rule_names(own)]
    wide, long = max(len(rule.name) for rule in rules), max(len(rule.id) for rule in rules)
    return "".join(
        f"{rule.id:<{long}}  {rule.name:<{wide}}  {severities.get(rule.name, rule.severity):<7}  {rule.summary}\n"
        for rule in rules
    )


def explain_rule(name: str, settings: Settings) -> str:
    """The text of one rule with its examples. Raises a usage error for an unknown one."""
    import textwrap

    from opscan.judging.rules import load_rule

    own = _rulebook(settings).folders
    try:
        rule = load_rule(name, own)
    except KeyError:
        raise click.UsageError(f"there is no rule {name!r}; `opscan rules` lists them") from None
    lines = [f"{rule.id} {rule.name} ({rule.severity}{', fixable' if rule.fixes else ''})", "", rule.summary + ".", ""]
    lines += [textwrap.fill(rule.why, 100), "", *_in_profiles(rule.name, own)]
    for title, files in (("Bad", rule.bad), ("Good", rule.good)):
        for file, text in files:
            shown = text if isinstance(text, str) else "(see the rule's file)"
            lines += [f"{title}: {file}", "", textwrap.indent(shown.rstrip("\n"), "    "), ""]
    return "\n".join(lines)


def _in_profiles(name: str, own: tuple[Path, ...]) -> list[str]:
    """What the profiles make of a rule, where they do not leave it as it is."""
    from opscan.judging.profiles import load_profiles

    changed = [f"{p.name}: {p.severities[name]}" for p in load_profiles(own).values() if name in p.severities]
    return [f"In profile {', '.join(changed)}.", ""] if changed else []
