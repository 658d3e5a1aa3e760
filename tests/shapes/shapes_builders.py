"""Builds specs and plugins for the tests of the shapes, and reads the tables of plugin sources."""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opscan.model import Choices, Plugin, Source, Spec, SpecInput

HERE = Path(__file__).parent
PRELUDE = """\
import copy
import itertools
import logging
import math
import random
import numpy as np
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from atk.case_generator.generator.base_generator import CaseGenerator
from atk.configs.case_config import CaseConfig, InputCaseConfig
from atk.configs.design_config import StandardConfig

@GENERATOR_REGISTRY.register("g")
class G(CaseGenerator):
"""


@dataclass(frozen=True)
class Section:
    """One plugin of a table, with what the table says of it."""

    title: str
    source: str
    facts: dict[str, str]


def read_sections(name: str) -> list[Section]:
    parts = re.split(r"^=== (.*)$", (HERE / name).read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    sections = []
    for heading, body in zip(parts[::2], parts[1::2], strict=True):
        title, *marks = (m.strip() for m in heading.split("|"))
        facts = {key.strip(): value.strip() for key, _, value in (m.partition(":") for m in marks)}
        source = body.strip("\n") + "\n"
        sections.append(Section(title, source if "file" in facts else PRELUDE + textwrap.indent(source, "    "), facts))
    return sections


def tensor(
    name: str | None,
    ranks: tuple[Any, ...] = (1, 2, 3),
    axes: tuple[Any, ...] = (1, 2, 3, 8, [16, 32]),
    dtypes: tuple[str, ...] = ("fp32", "fp16"),
    **more: Any,
) -> SpecInput:
    dim_values = (Choices(axes),) if axes else ()
    fields: dict[str, Any] = {"ranges": Choices(([-1, 1],)), "dim_values": dim_values, "kind": "tensor", **more}
    return SpecInput(name, dtypes=Choices(dtypes), dim_numbers=Choices(ranks), **fields)


def attribute(name: str, values: tuple[Any, ...], dtype: str = "int", kind: str = "attr", **more: Any) -> SpecInput:
    return SpecInput(name, kind, dtypes=Choices((dtype,)), ranges=Choices(values), **more)


def make_spec(*inputs: SpecInput, path: str = "cat/torch.add.yaml", **fields: Any) -> Spec:
    return Spec(Source(Path(path), ""), "torch.add", inputs, **fields)


def make_plugin(source: str, path: str = "cat/generate_g.py", name: str = "g") -> Plugin:
    return Plugin(Source(Path(path), source), (name,), (), ast.parse(source))


def pattern(x: tuple[int, ...], y: tuple[int, ...]) -> str:
    """How two shapes meet: same, axis, rank or unrelated."""
    if x == y:
        return "same"
    if any(a != b and 1 not in (a, b) for a, b in zip(reversed(x), reversed(y), strict=False)):
        return "unrelated"
    return "axis" if len(x) == len(y) else "rank"
