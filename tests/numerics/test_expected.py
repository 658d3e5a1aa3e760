"""Every row of expected.yaml: class, rounding, cause, extent and dependence of each compared tensor.

What is declared and what a trace says are held against the row one by one, so that neither leans on the other.
"""

import numerics_rows
import pytest
from numerics_rows import Row, case_of, disagreement

from opscan.model import Classification
from opscan.numerics.declared.answering import declare

ROWS = numerics_rows.load_rows()


def hold(row: Row, answer: Classification) -> None:
    found = {tensor.name: tensor for tensor in answer.tensors}
    assert set(row.claims) <= set(found), f"{answer.reason} {sorted(found)}"
    problems = {name: disagreement(claim, found[name]) for name, claim in row.claims.items()}
    assert not {name: problem for name, problem in problems.items() if problem}


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_a_row_as_it_is_traced(row: Row) -> None:
    pytest.importorskip("torch")
    from opscan.numerics.classify import classify

    hold(row, classify(case_of(row.operator, row.inputs)))


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_a_row_as_it_is_declared(row: Row) -> None:
    answer = declare(case_of(row.operator, row.inputs))
    if answer is None:
        pytest.skip("no steps answer it")
    hold(row, answer)


def test_most_rows_are_declared() -> None:
    answers = [declare(case_of(row.operator, row.inputs)) for row in ROWS]
    assert sum(answer is not None for answer in answers) >= 0.93 * len(ROWS)


def test_there_is_no_row_twice() -> None:
    assert len({row.id for row in ROWS}) == len(ROWS) >= 120
