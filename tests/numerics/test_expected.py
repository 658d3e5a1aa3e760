"""Every row of expected.yaml: class, rounding, cause, extent and dependence of each compared tensor."""

import numerics_rows
import pytest
from numerics_rows import Row, case_of, disagreement

pytest.importorskip("torch")

ROWS = numerics_rows.load_rows()


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_row(row: Row) -> None:
    from opscan.numerics.classify import classify

    answer = classify(case_of(row.operator, row.inputs))
    found = {tensor.name: tensor for tensor in answer.tensors}
    assert set(row.claims) <= set(found), f"{answer.reason} {sorted(found)}"
    problems = {name: disagreement(claim, found[name]) for name, claim in row.claims.items()}
    assert not {name: problem for name, problem in problems.items() if problem}


def test_there_is_no_row_twice() -> None:
    assert len({row.id for row in ROWS}) == len(ROWS) >= 120
