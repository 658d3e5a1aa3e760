"""Plugins in the usual styles: the patterns of shapes that must occur over the drawn cases, and those that must not."""

from __future__ import annotations

import pytest
from shapes_builders import PRELUDE, Section, attribute, make_plugin, make_spec, pattern, read_sections, tensor

from opscan.model import Case, CaseFile, Choices, Evidence, Source
from opscan.shapes import gather_evidence

SECTIONS = read_sections("followed_plugins.txt")


def follow(body: str, *inputs: object, **fields: object) -> Evidence:
    source = PRELUDE + "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    spec = make_spec(*(inputs or (tensor("x"), tensor("y"))), generate="g", **fields)  # type: ignore[arg-type]
    return gather_evidence(spec, case_file=None, plugin=make_plugin(source))


def patterns(evidence: Evidence) -> set[str]:
    shapes = [[i.shape for i in case.inputs] for case in evidence.cases]
    return {pattern(s[0], s[1]) for s in shapes if s[0] is not None and s[1] is not None}


@pytest.mark.parametrize("section", SECTIONS, ids=[s.title for s in SECTIONS])
def test_patterns_of_a_plugin(section: Section) -> None:
    spec = make_spec(tensor("x"), tensor("y"), generate="g")
    evidence = gather_evidence(spec, case_file=None, plugin=make_plugin(section.source))
    assert evidence.source == "generator-static", evidence.reason
    assert evidence.certain
    found = patterns(evidence)
    assert set(section.facts["must"].split()) <= found
    assert not set(section.facts["never"].split()) & found


def test_the_table_covers_enough_styles() -> None:
    assert len(SECTIONS) >= 25


def test_same_arguments_give_the_same_evidence() -> None:
    body = "def after_case_config(self, c):\n    c.inputs[1].shape = [random.choice(list({'a': 1, 'b': 2}.values()))]"
    assert follow(body) == follow(body)
    names = "def after_case_config(self, c):\n    c.inputs[0].dtype = random.choice(list({'fp16', 'fp32', 'bf16'}))"
    assert follow(names) == follow(names)


def test_another_seed_draws_other_cases() -> None:
    spec = make_spec(tensor("x"))
    one, two = (gather_evidence(spec, case_file=None, plugin=None, seed=s) for s in (1, 2))
    assert one.cases != two.cases


def test_standard_set_per_case() -> None:
    evidence = follow(
        """
def after_case_config(self, case_config):
    case_config.inputs[1].shape = case_config.inputs[0].shape
    if case_config.inputs[0].dtype == "fp32":
        case_config.standard.acc = "equal"
    return case_config
""",
        acc={"single_bm": {"type": "high_precision"}},
    )
    by_dtype = {c.inputs[0].dtype: c.acc for c in evidence.cases}
    assert by_dtype == {"fp32": "equal", "fp16": {"single_bm": {"type": "high_precision"}}}


def test_standard_replaced_by_an_object() -> None:
    body = "def after_case_config(self, c):\n    c.standard = StandardConfig(acc={'single_bm': {'fp32_rtol': 1.0}})"
    assert {str(c.acc) for c in follow(body).cases} == {"{'single_bm': {'fp32_rtol': 1.0}}"}


def test_changing_the_standard_in_place_stays_in_its_case() -> None:
    body = "def after_case_config(self, c):\n    c.standard.acc['single_bm']['max'] = self.index"
    evidence = follow(body, acc={"single_bm": {}}, dtype_numbers=32)
    assert len({c.acc["single_bm"]["max"] for c in evidence.cases}) == len(evidence.cases) == 64


def test_untouched_standard_is_the_one_of_the_spec() -> None:
    assert {c.acc for c in follow("def after_case_config(self, c):\n    return c").cases} == {None}


def test_attributes_and_fields_of_a_case_are_kept() -> None:
    evidence = follow(
        """
def after_case_config(self, case_config):
    case_config.backward = True
    case_config.aclnn_name = "Sum"
    case_config.inputs[1].range_values = len(case_config.inputs[0].shape) - 1
""",
        tensor("x"),
        attribute("dim", ([0, 7],)),
    )
    for case in evidence.cases:
        assert (case.backward, case.aclnn_name) == (True, "Sum")
        assert case.inputs[0].shape is not None
        assert case.inputs[1].values == len(case.inputs[0].shape) - 1


def test_members_of_a_plural_input() -> None:
    evidence = follow(
        """
def after_case_config(self, case_config):
    dims = case_config.inputs[1]
    dims[:] = dims[:2]
    for slot, value in zip(dims, (0, -1)):
        slot.range_values = value
    for member in case_config.inputs[2]:
        member.shape = case_config.inputs[0].shape
""",
        tensor("x"),
        attribute("dims", (9,), kind="attrs", tuple_numbers=Choices((3,))),
        tensor("others", kind="tensors", tuple_numbers=Choices(([2, 4],))),
    )
    assert evidence.source == "generator-static", evidence.reason
    for case in evidence.cases:
        x, dims, others = case.inputs
        assert [m.values for m in dims.members or ()] == [0, -1]
        assert len(others.members or ()) in {2, 3, 4}
        assert {m.shape for m in others.members or ()} == {x.shape}


def test_index_never_leaves_the_generated_range() -> None:
    body = "def after_case_config(self, c):\n    c.inputs[1].shape = [self.index]"
    few = follow(body, tensor("x", dtypes=("fp32",)), tensor("y", dtypes=("fp32",)), dtype_numbers=5)
    assert [c.inputs[1].shape for c in few.cases] == [(1,), (2,), (3,), (4,), (5,)]
    many = follow(body, dtype_numbers=1000)
    reached = [c.inputs[1].shape[0] for c in many.cases if c.inputs[1].shape]
    assert len(reached) == 64
    assert max(reached) > 1000
    assert max(reached) <= 2000


@pytest.mark.parametrize("counting", ["def _get_case_numbers(self):\n    return 3", "length = 3"])
def test_a_plugin_may_count_the_cases_itself(counting: str) -> None:
    setup = (
        "" if "def" in counting else "def __init__(self, config):\n    super().__init__(config)\n    self.length = 3\n"
    )
    body = f"{counting}\n{setup}def after_case_config(self, c):\n    c.inputs[1].shape = [self.index]"
    assert len(follow(body).cases) == 3


def test_cases_that_raise_are_left_out_and_counted() -> None:
    evidence = follow(
        """
def after_case_config(self, case_config):
    if len(case_config.inputs[0].shape) > 2:
        raise ValueError("rank")
    case_config.inputs[1].shape = case_config.inputs[0].shape
"""
    )
    assert evidence.source == "generator-static"
    assert 0 < len(evidence.cases) < 64
    assert {len(c.inputs[0].shape or ()) for c in evidence.cases} == {1, 2}
    assert f"{64 - len(evidence.cases)} of 64" in evidence.reason
    assert "ValueError: rank" in evidence.reason
    assert not evidence.complete


def test_negative_axes_are_left_out() -> None:
    body = "def after_case_config(self, c):\n    c.inputs[1].shape = [c.inputs[0].shape[0] - 2]"
    assert all(n >= 0 for c in follow(body).cases for n in c.inputs[1].shape or ())


def test_a_slow_plugin_gives_fewer_cases() -> None:
    body = (
        "def after_case_config(self, c):\n    n = 0\n    while n < 9000:\n        n += 1\n    c.inputs[1].shape = [1]"
    )
    evidence = follow(body)
    assert 0 < len(evidence.cases) < 64
    assert "too many steps" in evidence.reason


COUNTING = (
    "def after_case_config(self, c):\n    self.n = getattr(self, 'n', 0) + 1\n"
    "    c.inputs[1].shape = [1 if self.n > 100 else 4, 4]"
)
FIXED = (tensor("x", (2,), (4,), ("fp32",)), tensor("y", (1,), (4,), ("fp32",)))


@pytest.mark.parametrize(
    ("body", "fields", "complete"),
    [
        ("def after_case_config(self, c):\n    c.inputs[1].shape = [1, 4]", {}, True),
        ("def after_case_config(self, c):\n    c.inputs[1].shape = [1, 4]", {"extra_numbers": 3}, False),
        ("def after_case_config(self, c):\n    c.inputs[1].shape = [random.choice([1, 4]), 4]", {}, False),
        ("def after_case_config(self, c):\n    c.inputs[1].shape = [self.index, 4]", {"dtype_numbers": 4}, True),
        ("def after_case_config(self, c):\n    c.inputs[1].shape = [self.index, 4]", {"dtype_numbers": 400}, False),
        (COUNTING, {"dtype_numbers": 40}, True),
        (COUNTING, {"dtype_numbers": 400}, False),
        ("seen = []\ndef after_case_config(self, c):\n    self.seen.append(1)\n    c.inputs[1].shape = [4]", {}, False),
        (
            "kinds = iter([1] * 900)\ndef after_case_config(self, c):\n    c.inputs[1].shape = [next(self.kinds)]",
            {},
            False,
        ),
        ("seen = {}\ndef after_case_config(self, c):\n    c.inputs[1].shape = [self.seen.get('n', 4)]", {}, True),
        ("def after_case_config(self, c):\n    c.inputs[1].shape = list({'a': 4}.values())", {}, True),
        ("def after_case_config(self, c):\n    c.name = sorted({'a', 'b'})[0]\n    c.inputs[1].shape = [4]", {}, False),
    ],
)
def test_complete_only_without_any_freedom(body: str, fields: dict[str, int], complete: bool) -> None:
    assert follow(body, *FIXED, **fields).complete is complete


def test_what_a_counter_of_its_own_never_reaches_is_left_out() -> None:
    few = follow(COUNTING.replace("> 100", "> 5"), *FIXED, dtype_numbers=5)
    assert [c.inputs[1].shape for c in few.cases] == [(4, 4)] * 5


def test_free_shapes_are_never_complete() -> None:
    assert not follow("def after_case_config(self, c):\n    c.inputs[1].shape = [1]").complete


def test_a_case_file_comes_first() -> None:
    cases = (Case(0, 0, "torch.add", ()),)
    given = CaseFile(Source(SPEC_CASES, ""), cases)
    plugin = make_plugin(SECTIONS[0].source)
    evidence = gather_evidence(make_spec(tensor("x"), tensor("y"), generate="g"), case_file=given, plugin=plugin)
    assert evidence == Evidence("cases", cases, True, True, origin=SPEC_CASES)


def test_an_empty_case_file_is_no_evidence() -> None:
    spec = make_spec(tensor("x"), tensor("y"), generate="g")
    given = CaseFile(Source(SPEC_CASES, ""), ())
    evidence = gather_evidence(spec, case_file=given, plugin=make_plugin(SECTIONS[0].source))
    assert evidence.source == "generator-static"


SPEC_CASES = make_spec(path="cat/all_torch.add.json").source.path
