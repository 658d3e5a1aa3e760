"""Classes without torch: the declared steps of `catalog/steps/`, evaluated on shapes, dtypes and attributes.

`declare(case)` answers a case; `plan_of(case)` answers cases that are like it but for their shapes.
"""

from opscan.numerics.declared import engine, indexing, namespaces

__all__ = ["engine", "indexing", "namespaces"]
