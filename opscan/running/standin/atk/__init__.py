"""A stand-in for the parts of ATK's Python API that plugins import. It generates and runs nothing by itself."""
