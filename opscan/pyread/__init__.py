"""Reads the Python of plugins, without running it: one interpreter for generators, executors and what they import.

`interpreter` follows statements, `evaluator` expressions, `machine` calls and attributes; `stops` says why it ends.
What generators see of ATK is in `records`, `atk_models` and `atk_generator`; executors add tensors, which are in
`opscan.numerics.goldens`.
"""
