"""Which specs need two standards, and what must be known of one before it is split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from opscan.audit import Audited
from opscan.editing.plugins import sets_standard
from opscan.judging.assignments import compares_values
from opscan.judging.safety import inputs_of
from opscan.model import FileReport, NumericClass, Plugin, Spec, TensorReport
from opscan.opening import Links

_FLOATING = ("fp", "bf", "hf", "float", "double", "complex")


class NotSplit(Exception):
    """A spec that stays whole; the message says why."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A spec in which some tensors only copy and others are summed because an input was broadcast."""

    spec: Spec
    report: FileReport
    links: Links
    reduced: tuple[TensorReport, ...]

    @property
    def shown(self) -> str:
        return self.report.path

    def generator(self) -> Plugin:
        """The plugin with the spec's generator. Raises NotSplit."""
        if self.spec.generate == "default":
            raise NotSplit("no generator plugin sets its shapes, so none can choose; make a twin (--split)")
        if self.links.generator is None:
            raise NotSplit(self.links.generator_reason)
        return self.links.generator


def candidates(audited: Audited) -> Iterator[Candidate | tuple[str, str]]:
    """The specs of an audit that need two standards; as (path, reason) those of which that cannot be told."""
    specs = {file.source.path.as_posix(): file for file in audited.catalog.files if isinstance(file, Spec)}
    for report in audited.audit.files:
        spec = specs.get(report.path)
        if spec is None or not spec.backward or not compares_values(report.scenarios, audited.judge.rules.assignments):
            continue
        links = audited.catalog.links(spec)
        if report.status in ("unknown", "invalid"):
            if sum(given.kind.startswith("tensor") for given in inputs_of(spec)) < 2:
                continue
            yield report.path, report.reason
            continue
        reduced = tuple(tensor for tensor in report.tensors if _is_broadcast(tensor))
        if not reduced or not any(_copies(tensor) for tensor in report.tensors) or _chooses(spec, report, links):
            continue
        yield Candidate(spec, report, links, reduced)


def _is_broadcast(tensor: TensorReport) -> bool:
    return tensor.role == "gradient" and str(NumericClass.BROADCAST_REDUCED) in tensor.cases


def _copies(tensor: TensorReport) -> bool:
    """Whether the bits of a floating tensor must agree in some case."""
    return str(NumericClass.SELECT_ONLY) in tensor.cases and any(dtype.startswith(_FLOATING) for dtype in tensor.dtypes)


def _chooses(spec: Spec, report: FileReport, links: Links) -> bool:
    """Whether the generator chooses the standard of each case already, and well."""
    plugin = links.generator
    return report.status == "ok" and plugin is not None and sets_standard(plugin.tree, spec.generate)
