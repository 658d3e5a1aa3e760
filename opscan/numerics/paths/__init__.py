"""Gradient paths: the class of every compared tensor as a formula over shapes and attributes, evaluated without torch.

`learning` finds a path from traces, `sampling` draws the shapes to trace at, `building` does it for the whole catalog
and proves each path at shapes that took no part; `evaluating` answers an audit from what ships in `catalog/paths/`.
"""
