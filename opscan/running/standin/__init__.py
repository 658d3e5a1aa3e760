"""Holds the package `atk`, a stand-in that plugins import while they run in the sandbox; nothing else imports it.

Only the names that generator and executor plugins use are there. The sandbox puts this folder on its path, so that
`import atk` finds the stand-in and never an ATK that is installed.
"""
