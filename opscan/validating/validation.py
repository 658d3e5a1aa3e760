"""The journey of every file: shapes and classes as the audit finds them, then the runs that confirm or refute them."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch

from opscan import reading
from opscan.config import Settings
from opscan.model import Case, CaseFile, Confirmation, NumericClass, Spec, Unread
from opscan.numerics import Classifier
from opscan.shapes import Catalog, companions, evidence_of, link
from opscan.validating.choosing import MAX_ELEMENTS, Choice, choose, facet_of
from opscan.validating.devices import Device, open_device
from opscan.validating.tallies import Tally, confirm
from opscan.validating.trials import Tallies, Trial, try_candidate


def validate(
    paths: Sequence[Path], settings: Settings, device: str, *, runs: int, max_cases: int
) -> list[Confirmation]:
    """See `opscan.validating.validate_paths`."""
    opened = open_device(device, settings.hf32)
    found, missing = reading.discover(paths)
    files = [reading.read_file(path) for path in found]
    catalog = link([*files, *_beside(files)])
    validation = _Validation(opened, settings, catalog, runs, max_cases)
    with _one_thread():
        confirmations = [each for file in (*missing, *files) for each in validation.of(file)]
    return confirmations


@contextmanager
def _one_thread() -> Iterator[None]:
    """The CPU's own order must not depend on how many cores the machine has."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _beside(files: Sequence[reading.ReadFile]) -> list[reading.ReadFile]:
    """The case files and plugins that belong to the specs and were not named themselves."""
    known = {(file.path if isinstance(file, Unread) else file.source.path).resolve() for file in files}
    wanted = {path.resolve(): path for file in files if isinstance(file, Spec) for path in companions(file.source.path)}
    return [reading.read_file(path) for resolved, path in wanted.items() if resolved not in known]


class _Validation:
    """What all files of a run share; the classifier remembers across files."""

    def __init__(self, device: Device, settings: Settings, catalog: Catalog, runs: int, max_cases: int) -> None:
        self._trial = Trial(device, runs, settings.seed, settings.upstream)
        self._settings = settings
        self._catalog = catalog
        self._max_cases = max_cases
        self._classifier = Classifier()

    def of(self, file: reading.ReadFile) -> list[Confirmation]:
        """The answers for one file; a case file whose spec is read too is answered with the spec."""
        if isinstance(file, Unread):
            meant = file.kind in ("spec", "cases") and file.faults
            return [self._skipped(file.path, None, file.reason)] if meant else []
        path = file.source.path
        if isinstance(file, CaseFile):
            if self._catalog.owner(file) is not None:
                return []
            return self._of_cases(path, file.cases, "the file holds no case")
        if not isinstance(file, Spec):
            return []
        links = self._catalog.links(file)
        evidence = evidence_of(
            file,
            links,
            draws=self._settings.draws,
            seed=self._settings.seed,
            folders=self._settings.import_folders,
        )
        if not evidence.cases:
            reason = evidence.reason or "no case is known"
            return [self._skipped(path, file.name, f"which shapes meet is not known: {reason}")]
        return self._of_cases(path, evidence.cases, evidence.reason)

    def _of_cases(self, path: Path, cases: Sequence[Case], reason: str) -> list[Confirmation]:
        by_operator: dict[str | None, list[Case]] = defaultdict(list)
        for case in cases:
            by_operator[case.name].append(case)
        if not by_operator:
            return [self._skipped(path, None, reason)]
        return [each for name, group in by_operator.items() for each in self._of_operator(path, name, group)]

    def _of_operator(self, path: Path, name: str | None, cases: Sequence[Case]) -> list[Confirmation]:
        choice = choose(cases, self._classifier.classify, self._max_cases)
        if not choice.every:
            return [self._skipped(path, name, choice.reason or "it returns nothing that is compared")]
        tallies: Tallies = {}
        for candidate in choice.candidates:
            try_candidate(self._trial, candidate, tallies)
        _add_left_out(choice, tallies)
        by_tensor: dict[str, list[Tally]] = defaultdict(list)
        for (tensor, _), tally in tallies.items():
            by_tensor[tensor].append(tally)
        return [confirm(path.as_posix(), name or "", self._trial.device.name, group) for group in by_tensor.values()]

    def _skipped(self, path: Path, operator: str | None, reason: str) -> Confirmation:
        device = self._trial.device.name
        return Confirmation(
            path.as_posix(), operator or "", "-", NumericClass.UNKNOWN, device, "skipped", reason=reason
        )


def _add_left_out(choice: Choice, tallies: Tallies) -> None:
    """Classes that no run has shown, with the reason: their cases are too large, or too many came before them."""
    reason = "not among the cases that were run: raise --max-cases"
    if choice.too_large:
        reason = f"its cases have over {MAX_ELEMENTS} elements"
    for candidate in choice.every:
        for tensor in candidate.classification.tensors:
            tallies.setdefault((tensor.name, facet_of(tensor)), Tally(tensor, refusal=reason))
