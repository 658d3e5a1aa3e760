"""Classify cases once per distinct operator, shapes, dtypes and attributes."""

from __future__ import annotations

import json
from typing import Any

from opscan.model import Case, CaseInput, Classification
from opscan.numerics.store import Store


class Classifier:
    """Remembers every answer: generated cases repeat their patterns, and so do runs. Close it to keep them."""

    def __init__(self, store: Store | None = None) -> None:
        self._known: dict[str, Classification] = {}
        self._store = store
        self.missing = ""
        """Why nothing can be traced, once a case has asked for it."""

    def classify(self, case: Case) -> Classification:
        """The classes of a case. Without torch only what an earlier run has learnt is known."""
        key = fingerprint(case)
        known = self._known.get(key)
        if known is None and self._store is not None:
            known = self._store.get(key)
        if known is None:
            known = self._trace(case, key)
        self._known[key] = known
        return known

    def _trace(self, case: Case, key: str) -> Classification:
        try:
            from opscan.numerics.classify import classify

            known = classify(case)
        except ImportError as problem:
            self.missing = f"tracing needs PyTorch (pip install 'opscan-ascend[torch]'): {problem}"
            return Classification((), "none", self.missing)
        if self._store is not None:
            self._store.put(key, known)
        return known

    def close(self) -> None:
        if self._store is not None:
            self._store.close()


def fingerprint(case: Case) -> str:
    """Everything of a case that its classes can depend on, as text. Ranges of float tensors are left out."""
    return json.dumps(
        [
            case.name,
            case.api,
            case.api_type,
            case.backward,
            case.outputs,
            _input(case.tensor_input) if case.tensor_input else None,
            [_input(given) for given in case.method_inputs],
            [_input(given) for given in case.inputs],
        ],
        default=str,
    )


def _input(given: CaseInput) -> list[Any]:
    floating = given.shape is not None and (given.dtype or "").startswith(("fp", "bf", "hf", "float", "complex"))
    return [
        given.name,
        given.kind,
        given.dtype,
        given.shape,
        None if floating else given.values,
        given.backward,
        given.required,
        None if given.members is None else [_input(member) for member in given.members],
    ]
