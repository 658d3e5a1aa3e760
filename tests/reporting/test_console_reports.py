"""The console formats: expected files, one screen, nothing that a path or a message can break."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import audit_samples as samples
import pytest

from opscan.model import Audit, Classification, TensorClass
from opscan.numerics.names import Origin
from opscan.reporting import FORMATS, render, render_confirmations, render_explanation
from opscan.reporting.text import columns, one_line, one_word, shorten, visible, wrap

EXPECTED = Path(__file__).parent / "expected"
ROOT = Path(__file__).parents[2]
ESCAPES = re.compile("\x1b\\[[0-9;]*m")

EXPLAINED = Classification((samples.TENSOR_CLASS,), "golden")
UNEXPLAINED = Classification((), "none", "shapes (2, 3) and (4,) cannot be broadcast", mismatch=True)

TEXTS = {
    "usual.concise.txt": lambda: render(samples.USUAL, "concise"),
    "usual.full.txt": lambda: render(samples.USUAL, "full"),
    "usual.github.txt": lambda: render(samples.USUAL, "github"),
    "usual.md": lambda: render(samples.USUAL, "markdown"),
    "where.explain.txt": lambda: render_explanation(EXPLAINED, "torch.where", "concise"),
    "where.explain-full.txt": lambda: render_explanation(EXPLAINED, "torch.where", "full"),
    "mismatch.explain.txt": lambda: render_explanation(UNEXPLAINED, "torch.where", "concise"),
    "validate.txt": lambda: render_confirmations(samples.CONFIRMATIONS, "concise", "simulated"),
    "validate-narrow.txt": lambda: render_confirmations(samples.CONFIRMATIONS, "full", "npu:0", width=72),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_as_expected(name: str) -> None:
    """Set OPSCAN_REWRITE_EXPECTED=1 to accept the present texts, then read the difference."""
    text = TEXTS[name]()
    if os.environ.get("OPSCAN_REWRITE_EXPECTED"):
        (EXPECTED / name).write_text(text, encoding="utf-8")
    assert text == (EXPECTED / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("audit", [samples.USUAL, samples.CLEAN, samples.EMPTY, samples.HOSTILE])
def test_every_format_ends_with_one_line_end_and_encodes(format: str, audit: Audit) -> None:
    text = render(audit, format)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert text.encode("utf-8")
    assert "\x1b" not in text
    assert "\x00" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize("format", FORMATS)
def test_order_of_the_input_does_not_matter(format: str) -> None:
    turned = Audit("26.8.8", samples.USUAL.files[::-1], samples.USUAL.findings[::-1])
    assert render(turned, format) == render(samples.USUAL, format)


def test_unknown_format_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"yamlish.*concise"):
        render(samples.USUAL, "yamlish")
    with pytest.raises(ValueError, match="sarif"):
        render_explanation(EXPLAINED, "torch.where", "sarif")


@pytest.mark.parametrize(
    ("origin", "told", "formula"),
    [
        (
            Origin("Relu", "catalog/operators/a.yaml", 51, "relu", None),
            "taken as aten.relu: catalog/operators/a.yaml:51",
            0,
        ),
        (Origin("Swish", "catalog/operators/b.yaml", 7, None, "y = x\nreturn y"), "taken as the formula of Swish", 2),
    ],
)
def test_explanation_says_what_a_name_was_taken_for(origin: Origin, told: str, formula: int) -> None:
    plain = render_explanation(EXPLAINED, "aclnnX", "concise").splitlines()
    concise = render_explanation(EXPLAINED, "aclnnX", "concise", origin=origin).splitlines()
    full = render_explanation(EXPLAINED, "aclnnX", "full", origin=origin).splitlines()
    assert told in concise[1]
    assert [concise[0], *concise[2:]] == plain
    assert len(full) == len(render_explanation(EXPLAINED, "aclnnX", "full").splitlines()) + 1 + formula


@pytest.mark.parametrize(("audit", "line"), [(samples.CLEAN, "fits in 1 file"), (samples.EMPTY, "Nothing was audited")])
def test_success_is_one_line(audit: Audit, line: str) -> None:
    text = render(audit, "concise")
    assert text.count("\n") == 1
    assert line in text


def test_undecided_files_do_not_look_like_success() -> None:
    text = render(Audit("26.8.8", (samples.OK_FILE, samples.UNKNOWN_FILE), ()), "concise")
    assert "1 file could not be decided" in text
    assert text.count("\n") == 1


@pytest.mark.parametrize("audit", [samples.many(600), samples.many(40, 50), samples.many(3, 2000)])
def test_concise_fits_on_one_screen_and_accounts_for_every_finding(audit: Audit) -> None:
    lines = render(audit, "concise").splitlines()
    assert len(lines) <= 45
    shown = [line for line in lines if re.match(r"\S+:\d+:\d+: ", line)]
    folded = [int(line.split()[1].replace(",", "")) for line in lines if line.startswith("and ")]
    assert len(shown) + sum(folded) == len(audit.findings)
    severities = [line.split()[1] for line in shown]
    assert severities == sorted(severities, key=("error", "warning", "info").index)
    assert severities.count("error") > severities.count("warning")
    assert all(columns(line) <= 140 for line in lines if line.startswith("and "))


def test_few_findings_are_never_folded() -> None:
    text = render(samples.many(40), "concise")
    assert "more" not in text
    assert text.count("\n") == 31


def test_per_case_lists_every_place_and_keeps_the_count() -> None:
    lines = render(samples.USUAL, "concise", per_case=True).splitlines()
    places = [line for line in lines if "OPS103" in line]
    assert [line.split(":")[1] for line in places] == ["14", "20", "26"]
    assert "[3 places]" in places[0]
    many = render(samples.many(600), "concise", per_case=True)
    assert many.count("\n") == 451


def test_hostile_text_stays_on_its_line() -> None:
    lines = render(samples.HOSTILE, "concise").splitlines()
    assert len(lines) == 3
    assert r"\n::error::50%" in lines[0]
    assert r"\x1b[31m" in lines[0]
    assert all("nowhere/orphan.yaml" not in line or line.startswith("nowhere/orphan.yaml:9:8:") for line in lines)


def test_colour_only_on_request_and_says_the_same() -> None:
    for format in ("concise", "full"):
        coloured = render(samples.USUAL, format, color=True)
        assert "\x1b[" in coloured
        assert ESCAPES.sub("", coloured) == render(samples.USUAL, format)
    table = render_confirmations(samples.CONFIRMATIONS, "full", "simulated", color=True)
    assert ESCAPES.sub("", table) == render_confirmations(samples.CONFIRMATIONS, "full", "simulated")


@pytest.mark.parametrize("width", [80, 100, 140])
def test_full_keeps_to_the_width(width: int) -> None:
    text = render(samples.USUAL, "full", width=width)
    assert [line for line in text.splitlines() if line.startswith("  tensor  ")]
    # Positions, paths and diffs are not wrapped: they are there to be clicked and copied.
    whole = re.compile(r"\S|  \S+:\d+:\d+: |.*→|  [-+@]")
    assert all(columns(line) <= width for line in text.splitlines() if not whole.match(line))


def test_full_says_what_was_not_checked_last() -> None:
    text = render(samples.USUAL, "full")
    tail = text[text.index("Not checked") :]
    assert samples.UNKNOWN_FILE.reason in " ".join(tail.split())
    assert "OPS101" not in tail


def test_full_tells_of_undecided_tensors_in_decided_files() -> None:
    tail = render(samples.HOSTILE, "full").partition("Not checked")[2]
    assert "output:a<script>" in tail


def test_simulated_device_says_what_it_is_worth() -> None:
    first = render_confirmations(samples.CONFIRMATIONS, "concise", "simulated").splitlines()[0]
    assert first == "SIMULATED device: shows order dependence, not NPU accuracy"
    assert "SIMULATED" not in render_confirmations(samples.CONFIRMATIONS, "concise", "npu:0")


def test_confirmations_show_every_refuted_class_even_beyond_a_screen() -> None:
    refuted = [replace(samples.CONFIRMATIONS[2], path=f"{number:03}.yaml") for number in range(70)]
    confirmed = [replace(samples.CONFIRMATIONS[0], path=f"ok{number:03}.yaml") for number in range(70)]
    text = render_confirmations([*confirmed, *refuted], "concise", "npu:0")
    assert all(one.path in text for one in refuted)
    assert "and 70 more" in text
    assert "140 tensors: 70 refuted, 70 confirmed." in text
    assert "Nothing was compared" in render_confirmations([], "concise", "npu:0")


def test_explanation_names_class_cause_extent_and_path() -> None:
    text = render_explanation(EXPLAINED, "torch.where", "concise")
    assert "broadcast-reduced" in text
    assert "gradient of input 2 (`other`) is a sum over 4096 addends (its input was broadcast)" in text
    assert text.index("backward") > text.index("forward")
    assert "decided by the shapes" in text


def test_unknown_tensor_is_explained_with_its_reason() -> None:
    tensor = TensorClass("output:0", "output", "fp32", (), samples.UNKNOWN, reason="no path in the catalog")
    assert "no path in the catalog" in render_explanation(Classification((tensor,), "name"), "aclnnX", "concise")
    assert "Not known: no torch" in render_explanation(Classification((), "none", "no torch"), "x", "full")


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\x1b[1m", r"a\x1b[1m"), ("\udc80", r"\udc80"), ("\u202ex", r"\u202ex"), ("a\nb\t张", "a\nb\t张")],
)
def test_hidden_characters_become_visible(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert "\n" not in one_line(text) + one_word(text)


def test_wrap_measures_columns() -> None:
    lines = wrap("张量 的 精度 standard " + "x" * 30, 12, "  ")
    assert all(columns(line) <= 12 for line in lines)
    assert "".join("".join(lines).split()) == "张量的精度standard" + "x" * 30
    assert wrap("", 20) == [""]
    assert shorten("张量张量", 5) == "张量…"


def test_a_line_of_output_does_not_load_the_heavy_parts() -> None:
    code = (
        "import sys; from opscan.model import Audit; from opscan.reporting import render; "
        "render(Audit('1', (), ()), 'concise'); "
        "print([m for m in ('torch', 'jinja2', 'difflib', 'libcst', 'xml', 'opscan.reporting.html_format') "
        "if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60, cwd=ROOT
    )
    assert done.stdout.strip() == "[]"
