"""Executors import it and use it on a device only; opscan runs plugins without one."""

from atk.tasks.backends.lib_interface._absent import every_name

__getattr__ = every_name(__name__)
