"""Planted mistakes are seen by the rows of expectations, and nothing of them is left. `mutants.py` plants all of them."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's operator database needs expecttest")

import sys  # noqa: E402
from pathlib import Path  # noqa: E402

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "numerics")]

from entry_mutants import of_entries  # noqa: E402
from mutants import all_mutants, verdict  # noqa: E402
from planting import Answers, Mutant, row_probes  # noqa: E402

MISTAKES = {
    "gradient missing": "entry where ",
    "operand left out": "entry mul ",
    "step left out": "entry softmax ",
    "attribute ignored": "entry sum ",
    "branch left out": "entry maybe_multiply ",
    "kind exchanged": "kind mm:",
    "extent halved": "rule sum:",
    "extent doubled": "rule sum:",
    "extent squared": "rule sum:",
    "correctly rounded set": "rule arithmetic:",
    "rounding forgotten": "rule sum-of-two:",
    "order forgotten": "rule matmul:",
    "values forgotten": "rule scatter",
    "broadcast forgotten": "rule sum:",
}


@pytest.fixture(scope="module")
def mutants() -> list[Mutant]:
    return all_mutants()


@pytest.fixture(scope="module")
def answers() -> Answers:
    return Answers(row_probes())


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_of_each_kind_is_caught(mistake: str, mutants: list[Mutant], answers: Answers) -> None:
    planted = [m for m in mutants if m.mistake == mistake and m.name.startswith(MISTAKES[mistake])]
    found = [verdict(mutant, answers) for mutant in planted]
    assert any(text.startswith("caught") for text in found), found


def test_nothing_is_left_of_a_mistake(answers: Answers) -> None:
    mutant = next(mutant for mutant in of_entries() if mutant.name.startswith("entry mul "))
    verdict(mutant, answers)
    again = Answers(answers.probes)
    assert all(again.before(probe) == answers.before(probe) for probe in answers.probes)
