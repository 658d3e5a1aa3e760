"""The HTML report and its drawings: well-formed, self-contained, complete, and safe against hostile text."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import audit_samples as samples
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opscan.model import Audit, NumericClass, Step
from opscan.reporting import html_format, render
from opscan.reporting.svg import path_drawing, shares_bar

VOID = {"meta", "input", "br", "link", "img", "hr"}
AUDITS = {
    "usual": samples.USUAL,
    "clean": samples.CLEAN,
    "empty": samples.EMPTY,
    "hostile": samples.HOSTILE,
    "many": samples.many(120),
}


class Page(HTMLParser):
    """Checks the nesting while it collects ids, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.words.append(data)

    def values(self, name: str) -> list[str]:
        return [value for _, attribute, value in self.attributes if attribute == name]

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


@pytest.fixture(scope="module", params=AUDITS)
def rendered(request: pytest.FixtureRequest) -> tuple[Audit, str, Page]:
    text = render(AUDITS[request.param], "html")
    return AUDITS[request.param], text, Page(text)


def test_ids_are_unique_and_references_resolve(rendered: tuple[Audit, str, Page]) -> None:
    page = rendered[2]
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    for reference in (*page.values("aria-labelledby"), *page.values("for")):
        assert reference in ids


def test_page_is_self_contained(rendered: tuple[Audit, str, Page]) -> None:
    _, text, page = rendered
    assert not page.values("src")
    assert all(value.startswith("#") for value in page.values("href"))
    assert not re.search(r"https?://|url\(|@import|@font-face", text)
    assert page.tags["script"] == page.tags["style"] == 1
    assert page.tags["link"] == page.tags["iframe"] == page.tags["img"] == 0
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]


def test_page_starts_with_the_verdict_and_four_numbers(rendered: tuple[Audit, str, Page]) -> None:
    text = rendered[1]
    assert text.startswith("<!doctype html>")
    body = text[text.index("<body>") :]
    order = [body.index("<h1>"), body.index('class="figures"'), body.index('id="unchecked"')]
    assert order == sorted(order)
    assert len(re.findall(r'<div class="figure k-', body)) == 4
    if 'id="failures"' in body:
        assert order[1] < body.index('id="failures"') < order[2]


def test_every_finding_and_every_file_appears(rendered: tuple[Audit, str, Page]) -> None:
    audit, _, page = rendered
    finding_heads = re.findall(r"OPS\d{3} [a-z-]+ line \d+", page.text)
    assert len(finding_heads) == len(audit.findings)
    for report in audit.files:
        name = report.path.rpartition("/")[2]
        assert name in page.text or report.path.startswith("dir/a<script>")


def test_every_colour_has_a_style_and_a_word(rendered: tuple[Audit, str, Page]) -> None:
    _, text, page = rendered
    style = text[text.index("<style>") : text.index("</style>")]
    words = {word for value in page.values("class") for word in value.split() if word.startswith("k-")}
    for word in words:
        assert re.search(rf"\.{word}\b", style), word


def test_filters_need_the_script_and_hide_without_it() -> None:
    text = render(samples.USUAL, "html")
    assert '<form class="filters" id="filters" hidden>' in text
    for name in ("severity", "rule", "status"):
        assert f'<select name="{name}">' in text
    items = re.findall(r'data-status="([^"]*)" data-severity="([^"]*)" data-rules="([^"]*)"', text)
    assert ("too-strict", "error", "OPS101") in items
    assert len(items) == len(samples.USUAL.files)


def test_failing_file_shows_why_evidence_shares_path_edit_and_command() -> None:
    text = render(samples.USUAL, "html")
    page = Page(text)
    assert samples.STRICT_FINDING.why in page.text
    assert "gradient of input 2 ( other ) is a sum over up to 4096 addends" in page.text.replace("(other)", "( other )")
    assert "55 of 94 broadcast-reduced, 39 of 94 select-only" in page.text
    assert "Path of grad:other: forward aten.where.self, select-only" in page.text
    assert '<span class="del">-  acc: equal</span>' in text
    assert '<span class="add">+  acc:</span>' in text
    assert "safe: the shapes are certain" in page.text
    assert "<code>opscan fix --write 1000/torch.where_backward.yaml</code>" in text
    assert "<code>opscan fix --write --unsafe 1000/torch.transpose_backward.yaml</code>" in text


def test_hostile_text_is_text() -> None:
    text = render(samples.HOSTILE, "html")
    assert "<script>alert" not in text
    assert text.count("<script>") == 1
    assert "a<script>alert('x')</script>" in Page(text).text


def test_command_is_quoted_and_left_out_where_a_shell_could_not_take_it() -> None:
    spaced = replace(samples.STRICT_FILE, path="a b/$(x).yaml")
    finding = replace(samples.STRICT_FINDING, path=spaced.path)
    text = render(Audit("1", (spaced,), (finding,)), "html")
    assert "opscan fix --write &#39;a b/$(x).yaml&#39;" in text
    commands = re.findall(r"opscan fix --write [^<]*", render(samples.HOSTILE, "html"))
    assert commands == ["opscan fix --write nowhere/orphan.yaml"]


def test_undecided_is_listed_last_with_its_reason() -> None:
    text = render(samples.USUAL, "html")
    tail = text[text.index('id="unchecked"') :]
    assert samples.UNKNOWN_FILE.reason in tail
    assert "aclnnMystery.yaml" not in text[text.index("<main>") : text.index('id="unchecked"')]


def test_large_reports_stay_small() -> None:
    failing = [replace(samples.STRICT_FILE, path=file.path) for file in samples.many(500).files]
    text = render(Audit("26.8.8", tuple(failing), samples.many(500).findings), "html")
    assert len(text.encode()) < 3_000_000


def test_beyond_the_limit_files_keep_their_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_format, "_DETAILED", 10)
    page = Page(render(samples.many(60, 3), "html"))
    assert page.text.count("OPS10") - page.text.split("Needs a look")[0].count("OPS10") == 135
    assert page.text.count("Compared tensors") == 10


# -- drawings --------------------------------------------------------------------------------------------------------

STEPS = st.builds(
    Step,
    op=st.text(min_size=1, max_size=70),
    phase=st.sampled_from(["forward", "backward"]),
    numeric_class=st.sampled_from(list(NumericClass)),
    extent=st.integers(1, 10**12),
)


def boxes(drawing: str) -> list[tuple[float, float, float, float]]:
    root = ET.fromstring(drawing)
    return [
        (
            float(rect.get("x", "")),
            float(rect.get("y", "")),
            float(rect.get("width", "")),
            float(rect.get("height", "")),
        )
        for rect in root.iter("rect")
    ]


@given(st.lists(STEPS, min_size=1, max_size=12), st.sampled_from([420, 760, 1200]))
def test_boxes_stay_inside_and_apart(steps: list[Step], width: int) -> None:
    drawing = path_drawing(steps, "grad:x", width)
    root = ET.fromstring(drawing)
    used, height = float(root.get("width", "")), float(root.get("height", ""))
    assert used <= width
    placed = boxes(drawing)
    assert len(placed) == len(steps) + len({step.phase for step in steps}) + 1
    for x, y, w, h in placed:
        assert x >= 0
        assert y >= 0
        assert x + w <= used
        assert y + h <= height
    for number, (x, y, w, h) in enumerate(placed):
        for other_x, other_y, other_w, other_h in placed[:number]:
            apart = x + w <= other_x or other_x + other_w <= x or y + h <= other_y or other_y + other_h <= y
            assert apart


def test_drawing_runs_forward_and_back_and_marks_the_sum() -> None:
    drawing = path_drawing(samples.WHERE_PATH, "grad:other")
    root = ET.fromstring(drawing)
    groups = list(root.iter("g"))
    assert ["hot" in (group.get("class") or "") for group in groups] == [False, False, False, False, True, False]
    assert "Σ 4096 addends" in drawing
    xs = [x for x, *_ in boxes(drawing)]
    assert xs[:2] == sorted(xs[:2])
    assert xs[2:] == sorted(xs[2:], reverse=True)
    title = root.find("title")
    assert title is not None
    assert "backward aten.sum.dim_IntList, broadcast-reduced over 4096 addends" in (title.text or "")
    assert root.get("role") == "img"
    assert path_drawing(()) == ""


def test_long_paths_wrap() -> None:
    wide, narrow = path_drawing(samples.LONG_PATH, "grad:x", 4000), path_drawing(samples.LONG_PATH, "grad:x", 420)
    assert len({y for _, y, _, _ in boxes(wide)}) == 2
    assert len({y for _, y, _, _ in boxes(narrow)}) > 4


def test_shares_bar_fills_its_width_in_proportion() -> None:
    bar = shares_bar({"broadcast-reduced": 55, "select-only": 39, "random": 0}, 94)
    root = ET.fromstring(bar)
    rects = list(root.iter("rect"))
    assert [float(rect.get("width", "")) for rect in rects] == [55, 39]
    assert [rect.get("class") for rect in rects] == ["k-broadcast-reduced", "k-select-only"]
    assert shares_bar({}) == shares_bar({"ok": 0}) == ""
