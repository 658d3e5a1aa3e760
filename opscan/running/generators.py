"""Inside the sandbox: import a generator plugin, draw cases, pass them through its hooks, and give them back."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from opscan.model import Case, Spec
from opscan.running.isolation import Watch
from opscan.running.loading import Failed, failure, load
from opscan.running.messages import ANSWER_BYTES, Generation, Trouble
from opscan.running.records import case_fields, plain
from opscan.shapes.atk_cases import boundary_cases, regular_cases
from opscan.shapes.draw import count_cases
from opscan.shapes.spaces import Unsatisfiable


@dataclass
class _Run:
    """The cases so far, and the first of the exceptions that ended others."""

    cases: list[dict[str, Any]] = field(default_factory=list)
    raised: list[Trouble] = field(default_factory=list)
    size: int = 0


def run(job: Generation, watch: Watch, part: Callable[..., None]) -> dict[str, Any]:
    """The answer for a job: `cases`, how many ATK makes (`counted`), and what went wrong."""
    del part  # the cases go back together: what a plugin makes before it fails is not what ATK gets
    made, counted, trouble = _Run(), 0, None
    try:
        generator = _create(job, watch)
        counted = _count(generator, job, watch)
        wanted = min(counted, job.ceiling or counted, job.count or counted)
        _regular(generator, job, wanted, made, watch)
        _boundary(generator, job, made, watch)
    except Failed as failed:
        trouble = failed.trouble
    except Unsatisfiable:
        trouble = Trouble("plugin-run-failed", "no shape of an input fits its max_length and the 64 axes of a tensor")
    except MemoryError:
        trouble = Trouble("plugin-stopped", f"needs more than {job.bounds.mebibytes} MiB")
    return {
        "cases": made.cases,
        "counted": counted,
        "raised": [_words(one) for one in made.raised[:1]],
        "dropped": len(made.raised),
        "trouble": _words(trouble) if trouble else None,
        "denials": [[denial.tried, denial.file, denial.line] for denial in watch.denials],
    }


def _words(trouble: Trouble) -> list[Any]:
    return [trouble.rule, trouble.message, trouble.file, trouble.line]


def _create(job: Generation, watch: Watch) -> Any:
    """The generator, made as ATK makes it. The plugin sees Python's random numbers from `seed` on."""
    random.seed(job.seed)
    module = load(job.plugin, watch, job.bounds)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(job.seed % 2**32)
    from atk._registry import GENERATORS
    from atk.case_generator.generator.base_generator import CaseGenerator
    from atk.configs.design_config import design_from

    cls = GENERATORS.get(job.generator) or getattr(module, job.generator, None)
    if not isinstance(cls, type):
        message = f"registers no generator `{job.generator}` when it is run"
        raise Failed(Trouble("plugin-run-failed", message, job.plugin))
    CaseGenerator.case_numbers = job.count or count_cases(job.spec)
    try:
        return cls(design_from(job.design))
    except BaseException as problem:
        raise failure(problem, watch, job.bounds) from None


def _count(generator: Any, job: Generation, watch: Watch) -> int:
    """How many cases ATK makes: by `self.length` where the plugin sets it, else by `_get_case_numbers`."""
    try:
        counted = vars(generator).get("length") or generator._get_case_numbers()
    except BaseException as problem:
        raise failure(problem, watch, job.bounds) from None
    if type(counted) is not int or counted < 1:
        message = f"says that there are {counted!r} cases, which is no number of cases"
        raise Failed(Trouble("plugin-run-failed", message, job.plugin))
    return counted


def _regular(generator: Any, job: Generation, wanted: int, made: _Run, watch: Watch) -> None:
    _feed(generator, job.spec, _endless(job.spec, wanted, random.Random(job.seed), job.invalid), job)
    _generate(generator, wanted, job, made, watch, boundary=False)


def _boundary(generator: Any, job: Generation, made: _Run, watch: Watch) -> None:
    drawn = boundary_cases(job.spec, random.Random(job.seed + 1))
    if drawn:
        generator.config.is_gen_extra = True
        _feed(generator, job.spec, iter(drawn), job)
        _generate(generator, len(drawn), job, made, watch, boundary=True)


def _endless(spec: Spec, wanted: int, rng: random.Random, invalid: tuple[str, ...]) -> Iterator[Case]:
    """The drawn cases, and then more of them: a plugin may take several for one of its own."""
    for _ in count():
        yield from regular_cases(spec, wanted, rng, invalid=invalid)


def _feed(generator: Any, spec: Spec, drawn: Iterator[Case], job: Generation) -> None:
    from atk.configs.case_config import CaseConfig

    type(generator).drawn = (CaseConfig(**case_fields(case, spec, job.design)) for case in drawn)


def _generate(generator: Any, wanted: int, job: Generation, made: _Run, watch: Watch, *, boundary: bool) -> None:
    first = getattr(generator, "index", 0)
    for place in range(wanted):
        try:
            case = generator.generate()
            fields = plain(case, len(made.cases))
        except Exception as problem:
            made.raised.append(failure(problem, watch, job.bounds).trouble)
            if made.raised[-1].rule != "plugin-run-failed":
                raise Failed(made.raised.pop()) from None
            if isinstance(getattr(generator, "index", None), int) and generator.index <= first + place:
                generator.index = first + place + 1
            continue
        except BaseException as problem:
            raise failure(problem, watch, job.bounds) from None
        fields["is_boundary"] = bool(fields.get("is_boundary")) or boundary
        made.size += len(json.dumps(fields))
        if made.size > ANSWER_BYTES // 2:
            raise Failed(Trouble("plugin-stopped", f"makes cases of more than {made.size >> 20} MiB", job.plugin))
        made.cases.append(fields)
    if wanted and not made.cases:
        raise Failed(made.raised[0])
