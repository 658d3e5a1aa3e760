"""Audits built by hand: the usual spec, every status, hostile text, and as many files as asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

from opscan.model import (
    Audit,
    Confirmation,
    Edit,
    FileReport,
    Finding,
    NumericClass,
    Outcome,
    Span,
    Stage,
    StageReport,
    Step,
    TensorClass,
    TensorReport,
)

SELECT = NumericClass.SELECT_ONLY
ARITHMETIC = NumericClass.ARITHMETIC
BROADCAST = NumericClass.BROADCAST_REDUCED
ACCUMULATED = NumericClass.ACCUMULATED
UNKNOWN = NumericClass.UNKNOWN

WHERE_PATH = (
    Step("aten.where.self", "forward", SELECT),
    Step("aten.where.self", "backward", SELECT),
    Step("aten.sum.dim_IntList", "backward", BROADCAST, 4096),
)
LONG_PATH = (
    Step("aten._to_copy.default", "forward", SELECT),
    Step("aten.native_layer_norm.default", "forward", ACCUMULATED, 1024),
    Step("aten.addmm.default", "forward", ACCUMULATED, 512),
    Step("aten._scaled_dot_product_flash_attention_for_cpu.default", "forward", ACCUMULATED, 77),
    Step("aten.view.default", "forward", SELECT),
    Step("aten.mul.Tensor", "backward", ARITHMETIC),
    Step("aten.native_layer_norm_backward.default", "backward", ACCUMULATED, 131072),
    Step("aten.mm.default", "backward", ACCUMULATED, 512),
    Step("aten.embedding_dense_backward.default", "backward", ACCUMULATED, 35),
)


def span(line: int = 9, column: int = 8, length: int = 5) -> Span:
    return Span(120, 120 + length, line, column, line, column + length)


def tensor(name: str = "output:0", **changes: object) -> TensorReport:
    plain = TensorReport(
        name=name,
        role="output",
        input=None,
        dtypes=("fp32",),
        numeric_class=SELECT,
        correctly_rounded=False,
        cause=None,
        depends_on=(),
        extent=(1, 1),
        cases={"select-only": 94},
        present=94,
        effective={"fp32": "value-equal"},
        status="ok",
        path=(Step("aten.where.self", "forward", SELECT),),
        evidence="cases",
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


BROADCAST_GRADIENT = tensor(
    "grad:other",
    role="gradient",
    input=2,
    numeric_class=BROADCAST,
    cause="broadcast",
    depends_on=("shapes",),
    extent=(1, 4096),
    stages=(StageReport("broadcast", (1, 4096)),),
    cases={"select-only": 39, "broadcast-reduced": 55},
    status="too-strict",
    path=WHERE_PATH,
)

DIFF = """--- 1000/torch.where_backward.yaml
+++ 1000/torch.where_backward.yaml
@@ -7,5 +7,6 @@
 backward: true
 standard:
-  acc: equal
+  acc:
+    mixed_tolerance_bm: {fp32_rtol: 1.0e-4}
 outputs: 1
"""

STRICT_FILE = FileReport(
    path="1000/torch.where_backward.yaml",
    kind="spec",
    status="too-strict",
    reason="`equal` fails correct kernels: grad:other is summed over a broadcast in 55 of 94 cases",
    operator="torch.where",
    basis="golden",
    scenarios=("accuracy",),
    backward=True,
    found="equal",
    recommended={"fp32": "double-ten-thousandth"},
    expression={"mixed_tolerance_bm": {"fp32_rtol": 1e-4}},
    tensors=(
        tensor(),
        tensor("grad:self", role="gradient", input=1, status="shared"),
        BROADCAST_GRADIENT,
    ),
    diff=DIFF,
)
STRICT_FINDING = Finding(
    rule="OPS101",
    name="standard-too-strict",
    severity="error",
    path=STRICT_FILE.path,
    message="`equal` is too strict for grad:other: a sum over up to 4096 addends in 55 of 94 cases",
    why="Two correct kernels add in different orders and differ in the last bits; a bitwise standard then fails both.",
    span=span(),
    fix="safe",
    edits=(Edit(120, 125, "x", ("standard", "acc"), "x"),),
)

LOOSE_FILE = FileReport(
    path="1000/torch.transpose_backward.yaml",
    kind="spec",
    status="too-loose",
    reason="single_bm passes wrong kernels: every compared tensor only copies",
    operator="torch.transpose",
    basis="golden",
    scenarios=("accuracy", "determinism"),
    backward=True,
    found="single_bm",
    recommended={"fp16": "value-equal", "fp32": "value-equal"},
    expression="equal",
    tensors=(
        tensor(status="too-loose", dtypes=("fp16", "fp32"), effective={"fp16": "single-fp16", "fp32": "single-fp32"}),
    ),
)
LOOSE_FINDING = Finding(
    rule="OPS102",
    name="standard-too-loose",
    severity="warning",
    path=LOOSE_FILE.path,
    message="single_bm lets a wrong element of small magnitude pass; output:0 only copies",
    why="A copy has no rounding to forgive.",
    span=span(12, 3, 9),
    fix="unsafe",
)
AMBIGUOUS_FILE = FileReport(
    path="1000/torch.softmax_backward.yaml",
    kind="spec",
    status="ambiguous",
    reason="`default` is single_bm in ATK 26.5.14 and mixed_tolerance_bm in 26.8.8",
    operator="torch.softmax",
    basis="golden",
    scenarios=("accuracy",),
    backward=True,
    found="default",
    recommended=None,
    expression=None,
    expression_reason="the distribution of the upstream gradient is not declared",
    tensors=(
        tensor(
            "grad:self",
            role="gradient",
            input=0,
            numeric_class=ACCUMULATED,
            cause="reduction",
            depends_on=("shapes", "attributes"),
            extent=(7, 131072),
            cases={"accumulated": 63},
            present=63,
            status="ambiguous",
            path=LONG_PATH,
            evidence="generator-static",
        ),
    ),
)
AMBIGUOUS_FINDING = Finding(
    rule="OPS103",
    name="ambiguous-default",
    severity="warning",
    path=AMBIGUOUS_FILE.path,
    message="`default` names another standard in each ATK version",
    span=span(14, 8, 7),
    count=5,
    places=(span(14, 8, 7), span(20, 8, 7), span(26, 8, 7)),
    fix="manual",
)
CASES_FILE = replace(
    STRICT_FILE,
    path="1000/all_torch.where_backward.json",
    kind="cases",
    verdicts={"ok": 39, "too-strict": 55},
    diff="",
)
UNKNOWN_FILE = FileReport(
    path="1000/aclnnMystery.yaml",
    kind="spec",
    status="unknown",
    reason="generator plugin mystery.py cannot be read: shapes of x and y are unrelated",
    operator="aclnnMystery",
    basis="name",
    found="equal",
    tensors=(tensor("grad:x", role="gradient", input=0, numeric_class=UNKNOWN, status="unknown", present=0, cases={}),),
)
OK_FILE = FileReport(
    path="1000/torch.add.yaml",
    kind="spec",
    status="ok",
    reason="one rounding per element",
    operator="torch.add",
    basis="golden",
    scenarios=("accuracy",),
    found={"single_bm": {"mare_ratio": 10}},
    recommended={"fp32": "single-fp32"},
    expression={"single_bm": {"mare_ratio": 10}},
    tensors=(tensor(numeric_class=ARITHMETIC, cases={"arithmetic": 94}, correctly_rounded=True),),
)
NODE_FILE = FileReport("node.yaml", "nodes", "not-applicable", "a node file names no standard")

USUAL = Audit(
    "26.8.8",
    (OK_FILE, STRICT_FILE, LOOSE_FILE, AMBIGUOUS_FILE, UNKNOWN_FILE, NODE_FILE, CASES_FILE),
    (LOOSE_FINDING, AMBIGUOUS_FINDING, STRICT_FINDING),
)
CLEAN = Audit("26.8.8", (OK_FILE,), ())
EMPTY = Audit("26.8.8", (), ())

HOSTILE_TEXT = "a<script>alert('x')</script>&\"]]>\n::error::50%, `b` | 张量 \x1b[31m\x00\udcff \u202ereversed"
HOSTILE = Audit(
    "26.8.8<i>",
    (
        replace(
            STRICT_FILE,
            path=f"dir/{HOSTILE_TEXT}.yaml",
            reason=HOSTILE_TEXT,
            operator=HOSTILE_TEXT,
            found={HOSTILE_TEXT: float("nan"), 3: (HOSTILE_TEXT,)},
            recommended={"fp32": HOSTILE_TEXT},
            diff=f"--- a\n+++ b\n-{HOSTILE_TEXT}\n+x\n",
            tensors=(
                replace(
                    BROADCAST_GRADIENT,
                    name=f"grad:{HOSTILE_TEXT}",
                    effective={"fp32": HOSTILE_TEXT},
                    path=(Step(HOSTILE_TEXT, "backward", BROADCAST, 7),),
                ),
                tensor(f"output:{HOSTILE_TEXT}", numeric_class=UNKNOWN, status="unknown", reason=HOSTILE_TEXT),
            ),
        ),
        replace(UNKNOWN_FILE, reason=HOSTILE_TEXT, tensors=()),
    ),
    (
        replace(STRICT_FINDING, path=f"dir/{HOSTILE_TEXT}.yaml", message=HOSTILE_TEXT, why=HOSTILE_TEXT),
        replace(STRICT_FINDING, path="nowhere/orphan.yaml", message="a finding of a file without a report"),
    ),
)


def many(files: int, findings_each: int = 1) -> Audit:
    """A catalog of `files` specs, three of four with findings, with paths of their own."""
    reports, findings = [], []
    for number in range(files):
        path = str(PurePosixPath("catalog", f"{number % 7:03}", f"torch.operator_{number:05}_backward.yaml"))
        report = (STRICT_FILE, LOOSE_FILE, AMBIGUOUS_FILE, OK_FILE)[number % 4]
        reports.append(replace(report, path=path))
        if report is OK_FILE:
            continue
        kind = (STRICT_FINDING, LOOSE_FINDING, AMBIGUOUS_FINDING)[number % 4]
        findings += [replace(kind, path=path, span=span(line + 1), places=()) for line in range(findings_each)]
    return Audit("26.8.8", tuple(reports), tuple(findings))


TENSOR_CLASS = TensorClass(
    name="grad:other",
    role="gradient",
    dtype="fp32",
    shape=(1, 8),
    numeric_class=BROADCAST,
    input=2,
    cause="broadcast",
    depends_on=("shapes",),
    extent=4096,
    path=WHERE_PATH,
    stages=(Stage("broadcast", 4096),),
)

CONFIRMATIONS = (
    Confirmation("a.yaml", "torch.where", "output:0", SELECT, "simulated", "confirmed", runs=20),
    Confirmation(
        *("a.yaml", "torch.where", "grad:other", BROADCAST, "simulated", "confirmed", 20, 19, 12.5, 0, 20),
        under=(Outcome("equal", 20, 19), Outcome("double-ten-thousandth", 20, 0)),
        repeats=4,
    ),
    Confirmation("b.yaml", "torch.cat", "grad:x", SELECT, "simulated", "refuted", 20, 3, 1.0, reason="3 runs differ"),
    Confirmation("c.yaml", "torch.rand", "output:0", NumericClass.RANDOM, "simulated", "skipped", reason="random"),
)
