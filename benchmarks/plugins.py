"""Following the text of generator plugins, against parsing it.

    python benchmarks/plugins.py [FOLDER...]

Each generator of the folders (of the sample catalog where none is named) is followed over the 64 cases that an audit
draws; parsing its file is the baseline. Both in processor time, the least of five.
"""

from __future__ import annotations

import ast
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from opscan import reading
from opscan.model import Plugin, Spec
from opscan.opening import open_catalog
from opscan.shapes import gather_evidence

CATALOG = Path(__file__).parents[1] / "catalog"
DRAWS = 64


def generators(folders: list[Path]) -> Iterator[tuple[Spec, Plugin]]:
    """A spec for each generator that can be followed."""
    seen = set()
    for path in sorted(path for folder in folders for path in folder.rglob("*.y*ml")):
        spec = reading.read_file(path)
        if not isinstance(spec, Spec) or spec.generate == "default":
            continue
        plugin = open_catalog([path]).links(spec).generator
        if plugin is None or (plugin.source.path, spec.generate) in seen:
            continue
        seen.add((plugin.source.path, spec.generate))
        if gather_evidence(spec, case_file=None, plugin=plugin, draws=DRAWS).source == "generator-static":
            yield spec, plugin


def least(function: Callable[[], object]) -> float:
    """Milliseconds of processor time."""
    times = []
    for _ in range(5):
        start = time.process_time()
        function()
        times.append((time.process_time() - start) * 1000)
    return min(times)


def main() -> None:
    pairs = list(generators([Path(name) for name in sys.argv[1:]] or [CATALOG]))
    if not pairs:
        sys.exit("no generator that can be followed")
    rows = []
    for spec, plugin in pairs:
        followed = least(partial(gather_evidence, spec, case_file=None, plugin=plugin, draws=DRAWS))
        rows.append((followed, least(partial(ast.parse, plugin.source.text)), plugin.source.path.name))
    rows.sort()
    ratio = sum(row[0] for row in rows) / sum(row[1] for row in rows)
    middle = statistics.median(row[0] for row in rows)
    print(f"{len(rows)} generators, {DRAWS} cases each: {middle:.1f} ms in the middle, "
          f"{rows[0][0]:.1f} to {rows[-1][0]:.1f} ms ({rows[-1][2]})")  # fmt: skip
    print(f"{ratio:.0f} times the time of ast.parse ({statistics.mean(row[1] for row in rows):.2f} ms a file), "
          f"{1000 * sum(row[0] for row in rows) / len(rows) / DRAWS:.0f} us a case")  # fmt: skip


if __name__ == "__main__":
    main()
