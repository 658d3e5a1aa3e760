"""Types and functions of the ACL library. Plugins import them for executors of the device, which are never run here."""

from ._absent import every_name

__getattr__ = every_name(__name__)
