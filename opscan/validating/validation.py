"""The journey of every file: shapes and classes as the audit finds them, then the runs that confirm or refute them."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import torch

from opscan.config import FolderSettings
from opscan.model import Case, CaseFile, Confirmation, NumericClass, Plugin, Spec, Unread
from opscan.numerics import Classifier
from opscan.opening import AnyFile, Catalog, absolute, open_catalog, path_of
from opscan.shapes import evidence_of
from opscan.validating.choosing import MAX_ELEMENTS, Choice, choose, facet_of
from opscan.validating.devices import Device, open_device
from opscan.validating.tallies import Tally, confirm
from opscan.validating.trials import Tallies, Trial, try_candidate


def validate(
    paths: Sequence[Path], settings: FolderSettings, device: str, *, runs: int, max_cases: int
) -> list[Confirmation]:
    """See `opscan.validating.validate_paths`."""
    first = settings.of(paths[0] if paths else Path())
    opened = open_device(device, first.hf32, tuple(first.rules))
    catalog = open_catalog(paths)
    validation = _Validation(opened, settings, catalog, runs, max_cases)
    with _one_thread():
        return [each for file in catalog.asked for each in validation.of(file)]


@contextmanager
def _one_thread() -> Iterator[None]:
    """The CPU's own order must not depend on how many cores the machine has."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class _Validation:
    """What all files of a run share; the classifier remembers across files."""

    def __init__(self, device: Device, settings: FolderSettings, catalog: Catalog, runs: int, max_cases: int) -> None:
        self._device = device
        self._runs = runs
        self._settings = settings
        self._catalog = catalog
        self._asked = frozenset(absolute(path_of(file)) for file in catalog.asked)
        self._max_cases = max_cases
        self._classifier = Classifier()

    def of(self, file: AnyFile) -> list[Confirmation]:
        """The answers for one file; a case file whose spec is read too is answered with the spec."""
        if isinstance(file, Unread):
            meant = file.kind in ("spec", "cases") and file.faults
            return [self._skipped(file.path, None, file.reason)] if meant else []
        path = file.source.path
        if isinstance(file, CaseFile):
            own = self._catalog.case_links(file)
            if own.owner is not None and absolute(own.owner.source.path) in self._asked:
                return []
            return self._of_cases(path, file.cases, "the file holds no case", own.goldens)
        if not isinstance(file, Spec):
            return []
        links, settings = self._catalog.links(file), self._settings.of(path)
        evidence = evidence_of(file, links, draws=settings.draws, seed=settings.seed, folders=settings.import_folders)
        if not evidence.cases:
            reason = evidence.reason or "no case is known"
            return [self._skipped(path, file.name, f"which shapes meet is not known: {reason}")]
        goldens = {file.api_type: links.golden} if links.golden is not None else {}
        return self._of_cases(path, evidence.cases, evidence.reason, goldens)

    def _of_cases(
        self, path: Path, cases: Sequence[Case], reason: str, goldens: Mapping[str, Plugin | str]
    ) -> list[Confirmation]:
        by_operator: dict[tuple[str | None, str], list[Case]] = defaultdict(list)
        for case in cases:
            by_operator[case.name, case.api_type].append(case)
        if not by_operator:
            return [self._skipped(path, None, reason)]
        return [
            each
            for (name, executor), group in by_operator.items()
            for each in self._of_operator(path, name, group, goldens.get(executor))
        ]

    def _of_operator(
        self, path: Path, name: str | None, cases: Sequence[Case], golden: Plugin | str | None
    ) -> list[Confirmation]:
        choice = choose(cases, partial(self._classifier.classify, golden=golden), self._max_cases)
        if not choice.every:
            return [self._skipped(path, name, choice.reason or "it returns nothing that is compared")]
        tallies: Tallies = {}
        settings = self._settings.of(path)
        trial = Trial(self._device, self._runs, settings.seed, settings.upstream)
        for candidate in choice.candidates:
            try_candidate(trial, candidate, tallies, golden)
        _add_left_out(choice, tallies)
        by_tensor: dict[str, list[Tally]] = defaultdict(list)
        for (tensor, _), tally in tallies.items():
            by_tensor[tensor].append(tally)
        return [confirm(path.as_posix(), name or "", self._device.name, group) for group in by_tensor.values()]

    def _skipped(self, path: Path, operator: str | None, reason: str) -> Confirmation:
        device = self._device.name
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
