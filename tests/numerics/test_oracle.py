"""The classes of a seeded part of the operator database and of held-out calls, against the three oracles.

`python -m tests.numerics.sweep` does the same over everything.
"""

from collections import Counter

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's operator database needs expecttest")

from numerics_claims import claims_of, contradiction  # noqa: E402
from numerics_held_out import held_out  # noqa: E402
from numerics_samples import of_database  # noqa: E402

from opscan.checking.comparing import explained, is_explained  # noqa: E402
from opscan.checking.described import entries  # noqa: E402
from opscan.checking.reordering import GIVEN, ORDERS, Reordered, add_up, split  # noqa: E402
from opscan.checking.runs import Subject, full_mantissa, run, same, subject  # noqa: E402
from opscan.checking.truths import observe  # noqa: E402

SHARDS = 12
"""One in so many held-out calls is checked here."""


def refuted(what: Subject, fan_limit: int = 0) -> list[str]:
    """The claims about `what` that an oracle contradicts and nobody has explained."""
    try:
        truths = observe(what, fan_limit=fan_limit)
    except (RuntimeError, AssertionError, NotImplementedError):  # no kernel for these inputs on this machine
        return []
    claims = claims_of(what)
    found = [
        f"{what.name} {what.label}: the order oracle is blind: {truth.blind}"
        for truth in truths.values()
        if truth.blind
    ]
    for name, truth in truths.items():
        reason = contradiction(claims[name], truth) if truth.numel else ""
        if reason and not is_explained(reason, what.name):
            found.append(f"{what.name} {what.label} {name}: {reason}; {claims[name]}; {truth}")
    return found


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_no_class_is_stricter_than_the_oracles_on_the_database(dtype):
    """One sample of every ninth operator, another ninth for each dtype."""
    problems = []
    shard = [torch.float32, torch.float16, torch.bfloat16].index(dtype)
    for what in of_database(dtype, 1, shard=shard, shards=9):
        if "3d" not in what.name:
            problems += refuted(what, fan_limit=12 if dtype == torch.float32 else 0)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_no_class_is_stricter_than_the_oracles_on_held_out_calls(dtype):
    shard = [torch.float32, torch.float16, torch.bfloat16].index(dtype)
    problems = []
    for number, what in enumerate(held_out(dtype, seeds=(3,))):
        if number % SHARDS == shard:
            problems += refuted(what)
    assert not problems, "\n".join(problems)


def test_every_explanation_is_used_for_a_known_operator():
    """Operators of the database by their names there, functions as `torch` has them, ATen's own, and aclnn names."""
    from torch.testing._internal.common_methods_invocations import op_db

    names = {operator.name for operator in op_db}
    named = {name for operators in explained().values() for name in operators} - names
    lacking = {name for name in named if not hasattr(torch.ops.aten, name) and f"aclnn{name}" not in entries()}
    assert all(name.startswith("torch.") and hasattr(torch, name.removeprefix("torch.")) for name in lacking), lacking


# -- the oracles themselves -------------------------------------------------------------------------------------------


def draw(*shape, dtype=torch.float32, seed=5):
    return full_mantissa(shape, dtype, torch.Generator().manual_seed(seed)).requires_grad_()


SUMS = [
    subject("sum", torch.sum, draw(40)),
    subject("mm", torch.mm, draw(3, 9), draw(9, 4)),
    subject("cumsum", torch.cumsum, draw(12), 0),
    subject("cumprod", torch.cumprod, draw(12), 0),
    subject("prod", torch.prod, draw(12)),
    subject("index_add", torch.index_add, draw(2), 0, torch.tensor([0, 1] * 5), draw(10)),
    subject("index_put", torch.index_put, draw(2), [torch.tensor([0, 1] * 5)], draw(10), True),
    subject("avg_pool2d", torch.nn.functional.avg_pool2d, draw(1, 2, 6, 6), 3),
    subject("conv2d", torch.nn.functional.conv2d, draw(1, 3, 5, 5), draw(2, 3, 3, 3)),
    subject("conv2d with bias", torch.nn.functional.conv2d, draw(1, 3, 5, 5), draw(2, 3, 3, 3), draw(2)),
    subject("softmax", torch.softmax, draw(4, 17), 1),
    subject("layer_norm", torch.nn.functional.layer_norm, draw(6, 9), (9,)),
    subject("mse_loss", torch.nn.functional.mse_loss, draw(30), draw(30, seed=6).detach()),
]


@pytest.mark.parametrize("what", SUMS, ids=[what.name for what in SUMS])
def test_the_order_oracle_sees_accumulation(what):
    assert observe(what)["output:0"].order


@pytest.mark.parametrize("name", ["neg", "exp", "relu", "t", "sort", "square"])
def test_the_order_oracle_sees_nothing_elsewhere(name):
    truth = observe(subject(name, getattr(torch, name), draw(6, 7)))
    assert not any(seen.order or seen.split or seen.moved for seen in truth.values())


def test_two_addends_are_rounded_once_and_have_no_order():
    truth = observe(subject("sum", torch.sum, draw(50, 2), 1), fan_limit=0)["output:0"]
    assert (truth.order, truth.exact, truth.rounded_once) == (False, False, True)


def test_a_broadcast_gradient_depends_on_the_order():
    truths = observe(subject("where", torch.where, draw(9, 5) > 0, draw(5), draw(9, 5)))
    assert truths["grad:1"].order
    assert truths["grad:1"].split
    assert truths["grad:2"].exact


def test_fan_in_counts_the_elements_that_meet():
    assert observe(subject("sum", torch.sum, draw(4, 3), 1), fan_limit=40)["output:0"].fan == 3


def test_parts_add_up_and_calls_are_redone():
    tensor = draw(5, 7).detach()
    for order in (GIVEN, *ORDERS):
        assert same(add_up(split(tensor, order)), tensor)
        mode = Reordered(order)
        run(SUMS[0], mode=mode)
        assert mode.redone == 1


def test_the_database_draws_cover_the_classes():
    rows = Counter(
        claim.row for what in of_database(torch.float32, 1, shard=7, shards=30) for claim in claims_of(what).values()
    )
    assert {"select", "once", "arithmetic", "accumulated"} <= set(rows)
