"""A comparator of ATK's own, which plugins inherit from."""

from ..backends.lib_interface._absent import every_name

__getattr__ = every_name(__name__)
