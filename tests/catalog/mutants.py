"""Plant mistakes in the catalog and in the rules, one at a time, and say which of them the suite's catalog tests miss.

    python -m tests.catalog.mutants [--only REGEX] [--seed S] [--calls N] [--more N] [--most N]

A mistake counts where it changes an answer: to a row of `tests/numerics/expected.yaml`, or to a fresh call.
It is caught where a row is not as expected any more, or where the answer to one of the fresh calls that the suite
examines is no longer that of the trace, or stricter than the oracles saw. Kinds of mistakes: an entry's gradient
missing, its formula with an operand, a call, a branch or an attribute left out; the kind of a packet exchanged; the
extents of a rule halved, doubled or squared, `correctly_rounded` set, a broadcast or the dependence on values forgotten.
"""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import SystemRandom

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "numerics")]

from entry_mutants import of_entries
from planting import Answers, Mutant, Probe, fresh_probes, row_probes
from rule_mutants import of_kinds, of_rules


VERDICTS = ("caught", "late", "missed", "silent", "equivalent")


def verdict(mutant: Mutant, answers: Answers) -> str:
    """What becomes of a mutant, and by which call.

    `caught` by what the suite looks at; `late` where only other calls of a longer check show it; `missed` where an
    answer changes and no test says so; `silent` where calls are left to a trace; `equivalent` where nothing changes.
    """
    touched = [probe for probe in answers.probes if mutant.touches(answers.seen(probe))]
    told: dict[str, str] = {}
    with mutant.planted():
        for probe in touched:
            word, why = _looked_at(probe, mutant, answers)
            if word == "caught":
                return f"caught by {probe.text}: {why}"
            if word:
                told.setdefault(word, f"{word}: {probe.text}: {why}")
    return next((told[word] for word in ("late", "missed", "silent") if word in told), "equivalent")


def _looked_at(probe: Probe, mutant: Mutant, answers: Answers) -> tuple[str, str]:
    try:
        now = answers.now(probe, mutant)
    except Exception as problem:
        return "caught", f"{type(problem).__name__}: {problem}"
    changed = answers.difference(probe, now)
    if not changed or changed == "unanswered":
        return ("silent" if changed else ""), changed
    if problem := answers.problem(probe, now):
        return ("caught" if probe.suite else "late"), problem
    return "missed", changed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="mutants whose name matches")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--calls", type=int, default=2500, help="fresh calls, as many as the suite examines")
    parser.add_argument("--more", type=int, default=4000, help="further calls, by which changes are noticed")
    parser.add_argument("--most", type=int, default=None, help="so many mutants, drawn by the seed")
    options = parser.parse_args()
    seed = SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    print(f"seed {seed}")
    started = time.monotonic()
    more = fresh_probes(options.more, seed + 1, suite=False) if options.more else []
    answers = Answers([*row_probes(), *fresh_probes(options.calls, seed), *more])
    print(f"{len(answers.probes)} calls, {time.monotonic() - started:.0f} s")
    return report(run(all_mutants(options.only, options.most, seed), answers))


def all_mutants(only: str = "", most: int | None = None, seed: int = 0) -> list[Mutant]:
    """Those whose name matches, `most` of them drawn by the seed."""
    from random import Random

    found = [mutant for mutant in (*of_entries(), *of_kinds(), *of_rules()) if re.search(only, mutant.name)]
    return found if most is None or most >= len(found) else Random(seed).sample(found, most)


def run(mutants: Iterable[Mutant], answers: Answers) -> Iterator[tuple[Mutant, str]]:
    for mutant in mutants:
        yield mutant, verdict(mutant, answers)


def report(verdicts: Iterable[tuple[Mutant, str]]) -> int:
    """Print every mutant that is missed, then the counts of each kind of mistake; 1 where one is missed."""
    counts: Counter[tuple[str, str]] = Counter()
    for mutant, found in verdicts:
        word = found.partition(":")[0].split()[0]
        counts[mutant.mistake, word] += 1
        if word in ("late", "missed"):
            print(f"{mutant.name}: {found}", flush=True)
    print(f"{'mistake':28}" + "".join(f"{word:>12}" for word in VERDICTS))
    for mistake in dict.fromkeys(mistake for mistake, _ in counts):
        print(f"{mistake:28}" + "".join(f"{counts[mistake, word]:12}" for word in VERDICTS))
    return int(any(word == "missed" for _, word in counts))


if __name__ == "__main__":
    raise SystemExit(main())
