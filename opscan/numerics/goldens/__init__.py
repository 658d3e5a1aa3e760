"""Goldens that are code: formulas of the catalog and executors of plugins, read from their syntax trees, never run.

`formula(text, parameters)` and `golden_of(plugin, name)` give a `Golden`, an operator that `running.trace` can watch.
"""

from opscan.numerics.goldens.golden import Golden, formula, golden_of

__all__ = ["Golden", "formula", "golden_of"]
