"""What the entries were written from: PyTorch's own derivative formulas and schemas, by fingerprint.

`catalog/steps/sources.txt` holds a fingerprint of each text that an entry names as its `source`, as it stood when the
entry was written or last read. Where a release of torch changes a text, the entries that name it are to be read again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from opscan.data import data_path
from opscan.numerics.declared.entries import find, index

_DERIVATIVES = "packaged/autograd/derivatives.yaml"
_SCHEMAS = "packaged/ATen/native/native_functions.yaml"
_ITEM = re.compile(r"^- (?:name|func): *([\w.]+)\(", re.MULTILINE)


class NoSources(Exception):
    """The torch that is installed does not carry the texts."""


@lru_cache(maxsize=1)
def current_texts() -> Mapping[str, str]:
    """Key -> text of every derivative formula and, for what has none, schema of the installed torch.

    Raises NoSources.
    """
    spec = find_spec("torchgen")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders:
        raise NoSources("torchgen is not installed; it comes with the torch wheel")
    texts: dict[str, str] = {}
    for file in (_SCHEMAS, _DERIVATIVES):
        try:
            text = Path(folders[0], file).read_text(encoding="utf-8")
        except OSError as problem:
            raise NoSources(f"{file} of torchgen cannot be read: {problem}") from None
        texts |= dict(_items(text))
    return texts


def _items(text: str) -> Iterator[tuple[str, str]]:
    """The items of a list, without comments and without differences in spacing."""
    matches = list(_ITEM.finditer(text))
    ends = [*(match.start() for match in matches[1:]), len(text)]
    for match, end in zip(matches, ends, strict=True):
        lines = [line.split(" #")[0].strip() for line in text[match.start() : end].splitlines()]
        yield match.group(1), "\n".join(line for line in lines if line and not line.startswith("#"))


def fingerprint(text: str) -> str:
    from hashlib import blake2b

    return blake2b(" ".join(text.split()).encode(), digest_size=6).hexdigest()


def written_from() -> dict[str, str]:
    """Key -> fingerprint, as the entries were written."""
    lines = data_path("catalog", "steps", "sources.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split() for line in lines if line.strip() and not line.startswith("#"))


def named_sources() -> dict[str, list[str]]:
    """Key -> the entries that name it, as `file:line: entry`."""
    named: dict[str, list[str]] = {}
    for name, place in index().items():
        entry = find(name)
        if entry is not None and entry.name == name and entry.source:
            named.setdefault(entry.source, []).append(f"{place.path.name}:{place.line}: {name}")
    return named


def to_read_again(texts: Mapping[str, str], known: Mapping[str, str]) -> list[str]:
    """A line for each entry whose source is not the text any more that it was written from."""
    lines = []
    for key, entries in sorted(named_sources().items()):
        if key not in texts:
            lines += [f"{entry}: this torch has no {key}" for entry in entries]
        elif key not in known:
            lines += [f"{entry}: {key} has no fingerprint in sources.txt" for entry in entries]
        elif known[key] != fingerprint(texts[key]):
            lines += [f"{entry}: {key} has changed, read it again" for entry in entries]
    return lines


def renewed(texts: Mapping[str, str], version: str) -> str:
    """The text of `sources.txt` after every entry was read beside `texts`."""
    rows = [f"{key} {fingerprint(texts[key])}" for key in sorted(named_sources()) if key in texts]
    head = "# Fingerprints of the texts that entries were written from; `opscan catalog sources --accept` renews them\n"
    return head + f"# after a reading; torch {version}.\n" + "\n".join(rows) + "\n"
