"""The one error of this stage that ends a run: the device is not there."""

from __future__ import annotations


class DeviceMissing(Exception):
    """One line: which device is missing, why, and what to use instead."""
