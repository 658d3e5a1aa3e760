"""An audit: every file of a catalog taken through the stages, those under the same settings together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from opscan.config import Settings
from opscan.journey import Audited, Journey
from opscan.judging import find
from opscan.model import Audit
from opscan.numerics import Classifier, Limits, Store
from opscan.opening import AnyFile, Catalog, open_catalog, path_of

__all__ = ["Audited", "audit_catalog", "audit_paths", "combined"]


def audit_paths(paths: Sequence[Path], settings: Settings) -> Audited:
    """Audit every file named by `paths` or below them. Bad input becomes findings; nothing is raised for it.

    Raises StandardsError for rules of the user's own that cannot be used.
    """
    (audited,) = audit_catalog(open_catalog(paths), lambda _: settings, paths)
    return audited


def audit_catalog(
    catalog: Catalog, settings_of: Callable[[Path], Settings], paths: Sequence[Path] = ()
) -> list[Audited]:
    """Audit the files that were asked for: one audit for all that lie under the same settings, at least one.

    `paths`: what the user named, a folder of which may hold nothing.
    """
    groups: dict[Settings, list[AnyFile]] = {}
    for file in catalog.asked:
        groups.setdefault(settings_of(path_of(file)), []).append(file)
    empty = [path for path in paths if path.is_dir() and not any(_lies_below(path_of(f), path) for f in catalog.asked)]
    for path in empty:
        groups.setdefault(settings_of(path), [])
    classifier = None
    audits = []
    for settings, files in groups.items() or [(settings_of(Path()), [])]:
        classifier = classifier or _classifier(settings)
        run = Journey(settings, catalog, classifier)
        for path in empty:
            if settings_of(path) == settings:
                shown = path.as_posix()
                run.add_finding(find("nothing-to-audit", shown, f"no file to audit below {shown}"))
        run.foresee(files)
        for file in files:
            run.add(file)
        audits.append(run.result())
    if classifier is not None:
        classifier.close()
    return audits


def combined(audits: Sequence[Audited]) -> Audit:
    """The audits of one command as one, the files in the order in which they were found."""
    if len(audits) == 1:
        return audits[0].audit
    order = {path_of(file).as_posix(): number for number, file in enumerate(audits[0].catalog.asked)}
    files = sorted((f for one in audits for f in one.audit.files), key=lambda file: order.get(file.path, len(order)))
    return Audit(
        audits[0].audit.atk_version,
        tuple(files),
        tuple(finding for one in audits for finding in one.audit.findings),
        tuple(finding for one in audits for finding in one.audit.suppressed),
    )


def _classifier(settings: Settings) -> Classifier:
    return Classifier(Store(), Limits(settings.jobs, settings.trace_seconds, settings.trace_mebibytes))


def _lies_below(path: Path, folder: Path) -> bool:
    return folder == path or folder in path.parents
