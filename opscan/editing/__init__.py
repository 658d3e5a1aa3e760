"""How does the text change, and only there? Edits to verified new text, to files and to diffs."""

from opscan.editing.cases import replace_case_acc
from opscan.editing.diffs import unified_diff
from opscan.editing.files import StaleFileError, with_bom, write_atomically
from opscan.editing.splicing import Edited, Refusal, apply_edits, splice
from opscan.editing.standards import replace_acc
from opscan.editing.writing import yaml_block, yaml_flow, yaml_scalar

__all__ = [
    "Edited",
    "Refusal",
    "StaleFileError",
    "apply_edits",
    "replace_acc",
    "replace_case_acc",
    "splice",
    "unified_diff",
    "with_bom",
    "write_atomically",
    "yaml_block",
    "yaml_flow",
    "yaml_scalar",
]
