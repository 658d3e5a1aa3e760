"""How does the text change, and only there? Edits to verified new text, to files and to diffs."""

from opscan.editing.cases import replace_case_acc
from opscan.editing.diffs import new_file_diff, unified_diff
from opscan.editing.files import (
    StaleFileError,
    alone_in,
    check_absent,
    check_replaceable,
    create_atomically,
    is_current,
    remove_leftovers,
    with_bom,
    write_atomically,
)
from opscan.editing.splicing import Edited, Refusal, apply_edits, splice
from opscan.editing.standards import replace_acc, replace_generate
from opscan.editing.writing import yaml_block, yaml_flow, yaml_scalar

__all__ = [
    "Edited",
    "Refusal",
    "StaleFileError",
    "alone_in",
    "apply_edits",
    "check_absent",
    "check_replaceable",
    "create_atomically",
    "is_current",
    "new_file_diff",
    "remove_leftovers",
    "replace_acc",
    "replace_case_acc",
    "replace_generate",
    "splice",
    "unified_diff",
    "with_bom",
    "write_atomically",
    "yaml_block",
    "yaml_flow",
    "yaml_scalar",
]
