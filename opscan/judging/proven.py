"""Which families of formulas are proven: `rules/families.yaml`, written by `benchmarks/composed.py`."""

from __future__ import annotations

from functools import lru_cache

from opscan.judging.drifts.families import family_of
from opscan.numerics.elements.term import Formula


def weakness(formula: Formula, dtype: str) -> str:
    """Why the prediction for a composed formula is not proven, with the figures; "" where it is."""
    family = family_of(formula, dtype)
    scores = _scores()
    if family in scores and scores[family]["proven"]:
        return ""
    if family not in scores:
        return f"predictions for {family or 'it'} were not held against emulation"
    score = scores[family]
    near = f"{score['within']} of {score['counting']} within a factor of 3"
    quiet = f"{score['quiet']} of {score['silent']} at most 1 % where none fails"
    return f"of predictions for {family} emulation bears out {near}, {quiet}"


@lru_cache(maxsize=1)
def _scores() -> dict[str, dict[str, int | bool]]:
    import yaml

    from opscan.data import data_path

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with data_path("rules", "families.yaml").open(encoding="utf-8") as file:
        found: dict[str, dict[str, int | bool]] = yaml.load(file, loader)["families"]  # a safe loader
    return found
