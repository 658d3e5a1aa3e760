"""Builds specs and plugins for the tests that run plugins, and reads the tables of plugin sources."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from opscan import reading
from opscan.model import Plugin, Source, Spec

HERE = Path(__file__).parent
PRELUDE = """\
import os
import random
import sys
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from atk.case_generator.generator.base_generator import CaseGenerator
from atk.configs.case_config import CaseConfig, InputCaseConfig

@GENERATOR_REGISTRY.register("g")
class G(CaseGenerator):
    def after_case_config(self, case_config):
"""
TENSOR = """\
  - name: {name}
    type: tensor
    dtypes: {{values: [fp32, fp16]}}
    ranges: {{valid: {{values: [[-5, 5]]}}, invalid: {{values: [[-5, 5]]}}}}
    shapes: {{dim_numbers: {{values: [1, 2, 3]}}, dim_values: {{values: [1, 2, 4, 8]}}}}
"""
SPEC = """\
name: torch.add
generate: g
dtype_numbers: 4
shape_distributions: [[0, 1.0]]
standard: {acc: equal, perf: not_key}
inputs:
"""


@dataclass(frozen=True)
class Section:
    """One plugin of a table, with what the table says of it."""

    title: str
    source: str
    facts: dict[str, str]

    @property
    def line(self) -> int | None:
        """The line that a message must name; None for none, 0 for any."""
        if "no line" in self.facts:
            return None
        marked = [n for n, text in enumerate(self.source.splitlines(), 1) if text.endswith("# here")]
        return marked[0] if marked else 0


def read_sections(name: str) -> list[Section]:
    parts = re.split(r"^=== (.*)$", (HERE / name).read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    sections = []
    for heading, body in zip(parts[::2], parts[1::2], strict=True):
        title, *marks = (m.strip() for m in heading.split("|"))
        facts = {key.strip(): value.strip() for key, _, value in (m.partition(":") for m in marks)}
        source = body.strip("\n") + "\n"
        sections.append(
            Section(title, source if "file" in facts else PRELUDE + textwrap.indent(source, " " * 8), facts)
        )
    return sections


def spec_text(**more: str) -> str:
    lines = "".join(f"{key}: {value}\n" for key, value in more.items())
    kept = "".join(line + "\n" for line in SPEC.splitlines() if line.partition(":")[0] not in more)
    return lines + kept + TENSOR.format(name="input") + TENSOR.format(name="other")


def lay_out(folder: Path, source: str, **more: str) -> tuple[Spec, Plugin]:
    """A spec of two tensors and a plugin beside it, on disk and read; `more`: other top-level keys of the spec."""
    folder.mkdir(exist_ok=True)
    (folder / "torch.add.yaml").write_text(spec_text(**more), encoding="utf-8")
    path = folder / "generate_g.py"
    path.write_text(source, encoding="utf-8")
    spec = reading.read_file(folder / "torch.add.yaml")
    assert isinstance(spec, Spec)
    assert not spec.faults
    return spec, Plugin(Source(path, source), ("g",), (), None)
