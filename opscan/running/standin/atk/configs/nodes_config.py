"""Nodes of a task."""

from ..tasks.backends.lib_interface._absent import every_name

__getattr__ = every_name(__name__)
