"""`opscan catalog check`: calls drawn afresh, opscan's answers to them, and oracles that know none of its rules.

Nothing under `opscan/numerics` may import this package.
"""
