"""What a check says at its end: counts, then the first few of each kind as lines to paste."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from opscan.checking.crew import Result

FAILING = ("unsound", "differing", "refused-but-answered", "unequal-tensors")
"""Kinds of remarks for which a check fails."""
KINDS = (*FAILING, "loose", "died", "out-of-time")


@dataclass
class Tally:
    """What came of the calls so far."""

    outcomes: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    found: dict[str, dict[str, list[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))

    def add(self, result: Result) -> None:
        task, number, answer = result
        self.outcomes[answer["outcome"]] += 1
        self.answers.update(who for who in ("declared", "traced", "looked") if answer.get(who))
        place = f"{task.base} #{number}"
        if answer["outcome"] in ("died", "out-of-time"):
            self._remark(answer["outcome"], task.base, f"{place} {answer.get('line', '')}")
        for kind in {remark["kind"] for remark in answer["remarks"]}:
            self.kinds[kind] += 1
        for remark in answer["remarks"]:
            self._remark(remark["kind"], task.base, f"{_text(remark)}\n      {answer['line']}")

    def _remark(self, kind: str, base: str, text: str) -> None:
        self.found[kind][base].append(text)

    @property
    def failed(self) -> bool:
        return any(self.kinds[kind] for kind in FAILING)

    def lines(self, most: int) -> list[str]:
        """The report. `most`: entries shown of each kind."""
        calls = sum(self.outcomes.values())
        accepted = self.outcomes["accepted"]
        answer = [
            f"{calls} calls: {accepted} accepted, {self.outcomes['refused']} refused; "
            + ", ".join(
                f"{count} {name}" for name, count in self.outcomes.most_common() if name not in ("accepted", "refused")
            ),
            f"answered without torch {self.answers['declared']}, by a trace {self.answers['traced']}, "
            f"looked at by the oracles {self.answers['looked']}",
            "calls with remarks: " + ", ".join(f"{self.kinds[kind]} {kind}" for kind in (*FAILING, "loose")),
        ]
        for kind in KINDS:
            entries = sorted(self.found[kind].items(), key=lambda item: -len(item[1]))
            for base, texts in entries[:most]:
                answer.append(f"{kind} {base} ({len(texts)} times): {min(texts, key=len)}")
            if len(entries) > most:
                answer.append(
                    f"{kind}: {len(entries) - most} more operators: {', '.join(base for base, _ in entries[most:])}"
                )
        return answer


def _text(remark: dict[str, Any]) -> str:
    return f"{remark['tensor']} {remark['text']}".strip()
