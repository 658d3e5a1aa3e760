"""What people script against, each list once: output formats, severities, exit codes."""

FORMATS = ("concise", "full", "json", "sarif", "junit", "github", "gitlab", "markdown", "html")
"""What an audit is written in."""
ANSWER_FORMATS = ("concise", "full", "json")
"""What an explanation or a validation is written in."""
SEVERITIES = ("error", "warning", "info")
"""From the gravest on."""
FAIL_ON = ("error", "warning", "never")
"""The lowest severity that makes a run fail."""
CLEAN, FOUND, UNUSABLE = 0, 1, 2
"""Exit codes: nothing to report; findings; a usage, configuration or internal error."""


def reaches(severity: str, threshold: str) -> bool:
    """Whether a finding of a severity makes a run fail under `--fail-on` threshold."""
    return threshold != "never" and SEVERITIES.index(severity) <= SEVERITIES.index(threshold)
