"""One mutated catalog: what an audit and a fix must bear of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from random import Random
from signal import ITIMER_REAL, SIGALRM, setitimer, signal
from typing import Any

import yaml

from opscan.audit import Audited, audit_paths
from opscan.config import Settings
from opscan.data import data_path
from opscan.fixing import plan_fixes, write_fixes
from opscan.generating import draw

from .mutations import mutated

KINDS = ("spec", "cases", "plugin", "nodes", "script")
SECONDS = 120.0
"""What one catalog may take: a quadratic pattern or a loop without end takes longer."""
_BOM = b"\xef\xbb\xbf"


class TookTooLong(AssertionError):
    """The audit or the fix of one catalog did not end in time."""


@lru_cache(maxsize=1)
def seeds() -> dict[str, tuple[tuple[str, str], ...]]:
    """The files of the sample catalog by kind, name and text; case files are drawn from its specs."""
    catalog = data_path("catalog")
    specs = sorted(catalog.glob("1000/*.yaml"))
    plain = [path for path in specs if "generate: default" in path.read_text(encoding="utf-8")]
    return {
        "spec": _read(specs),
        "cases": tuple((f"all_{path.stem}.json", draw(path, Settings(), 6).text()) for path in plain[::6]),
        "plugin": _read(path for path in sorted(catalog.glob("1000/*.py"))),
        "nodes": _read(
            sorted(path for path in catalog.glob("0000/*.yaml") if "n" in path.stem and "torch" not in path.stem)
        ),
        "script": _read(sorted(catalog.glob("1000/*.sh"))),
    }


def _read(paths: Iterable[Path]) -> tuple[tuple[str, str], ...]:
    return tuple((path.name, path.read_text(encoding="utf-8")) for path in paths)


def lay(folder: Path, kind: str, random: Random) -> None:
    """A catalog of a few files, one of them spoilt."""
    name, text = random.choice(seeds()[kind])
    for other, content in (*random.sample(seeds()["spec"], 2), *seeds()["plugin"]):
        (folder / other).write_text(content, encoding="utf-8", newline="")
    if kind == "cases":
        spec = name.removeprefix("all_").removesuffix(".json") + ".yaml"
        (folder / spec).write_text(dict(seeds()["spec"])[spec], encoding="utf-8", newline="")
    spoilt = mutated(text, [one for _, one in seeds()[kind]], random)
    content = spoilt.encode("utf-8", "surrogatepass")
    if random.random() < 0.03:
        content = _BOM + content
    if random.random() < 0.03:
        content = spoilt.encode(random.choice(("utf-16", "latin-1", "gb18030")), "replace")
    (folder / name).write_bytes(content)


def bear(folder: Path) -> Counter[str]:
    """Audit and fix a catalog. Raises AssertionError for what no file may bring about; what was found, by name."""
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    with _at_most(SECONDS):
        audited = audit_paths([folder], Settings())
        _sound(audited)
        plan = plan_fixes(audited, unsafe=True)
        assert {path: path.read_bytes() for path in before} == before, "an audit or a plan wrote a file"
        assert write_fixes(plan).problems == ()
        changed = {path for path in before if path.read_bytes() != before[path]}
        meant = [change for change in plan.changes if change.text != change.source.text]
        assert changed == {folder / Path(change.shown).name for change in meant}
        for path in changed:
            _kept(before[path], path.read_bytes(), path.suffix)
        again = plan_fixes(audit_paths([folder], Settings()), unsafe=True)
        assert [change.shown for change in again.changes] == [], "a second fix finds something"
    return Counter(finding.name for finding in audited.audit.findings)


def _sound(audited: Audited) -> None:
    """No stage fell over, and each finding stands within its file, at the line that its span says."""
    for finding in audited.audit.findings:
        assert finding.name != "audit-failed", finding.message
        source = audited.sources.get(finding.path)
        for span in (finding.span, *finding.places):
            if span is None or source is None:
                continue
            assert 0 <= span.start <= span.end <= len(source.text), (finding.rule, span)
            above = source.text[: span.start]
            lines = len(re.findall("\r\n|\r|\n|\u0085|\u2028|\u2029", above)) + 1
            assert lines - above.count("\u0085") - above.count("\u2028") - above.count("\u2029") <= span.line <= lines


def _kept(before: bytes, after: bytes, suffix: str) -> None:
    """An edit leaves the encoding, the comments, the line ends, and every value but few as they were."""
    assert before.startswith(_BOM) == after.startswith(_BOM)
    old, new = before.decode("utf-8"), after.decode("utf-8")
    assert _line_ends(new) <= _line_ends(old)
    if suffix in (".yaml", ".yml"):
        comments = Counter(line[line.index("#") :] for line in old.splitlines() if line.lstrip().startswith("#"))
        assert not comments - Counter(
            line[line.index("#") :] for line in new.splitlines() if line.lstrip().startswith("#")
        )
        old_tree, new_tree = _plain(old), _plain(new)
        moved = set(_differences(old_tree, new_tree, ()))
        assert len(moved) <= 40, sorted(map(str, moved))[:5]


def _line_ends(text: str) -> set[str]:
    return set(re.findall("\r\n|\r|\n", text))


def _plain(text: str) -> Any:
    try:
        return yaml.load(text, yaml.BaseLoader)  # builds nothing but text
    except yaml.YAMLError as problem:
        raise AssertionError(f"a text that YAML refuses was edited, or became one: {problem}") from None


def _differences(old: Any, new: Any, at: tuple[object, ...]) -> Iterator[tuple[object, ...]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            yield from _differences(old.get(key), new.get(key), (*at, key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(one, other, (*at, place))
    elif old != new:
        yield at


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise TookTooLong(f"over {seconds:g} s")

    previous = signal(SIGALRM, ring)
    setitimer(ITIMER_REAL, seconds)
    try:
        yield
    finally:
        setitimer(ITIMER_REAL, 0)
        signal(SIGALRM, previous)


def trial(folder: Path, seed: int, kinds: Sequence[str] = KINDS) -> Counter[str]:
    """The catalog of one seed, laid into an empty folder and borne."""
    random = Random(seed)
    kind = random.choice([kind for kind in kinds if seeds()[kind]])
    lay(folder, kind, random)
    return bear(folder)
