"""The names of dtypes: ATK's, the spellings seen in real files, and torch's."""

from __future__ import annotations

from collections.abc import Mapping

TORCH_DTYPES: Mapping[str, str] = {
    "fp64": "float64", "double": "float64", "float64": "float64",
    "fp32": "float32", "hf32": "float32", "float32": "float32", "float": "float32",
    "fp16": "float16", "float16": "float16", "half": "float16",
    "bf16": "bfloat16", "bfloat16": "bfloat16",
    "fp8e4m3": "float8_e4m3fn", "fp8e5m2": "float8_e5m2",
    "float8_e4m3fn": "float8_e4m3fn", "float8_e5m2": "float8_e5m2",
    "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64", "int": "int32",
    "int8_t": "int8", "int16_t": "int16", "int32_t": "int32", "int64_t": "int64",
    "uint8": "uint8", "uint16": "uint16", "uint32": "uint32", "uint64": "uint64",
    "bool": "bool", "attr_bool": "bool",
    "complex32": "complex32", "complex64": "complex64", "complex128": "complex128",
}  # fmt: skip
"""ATK's dtype names and the spellings seen in real files -> torch's."""

ATK_DTYPES: Mapping[str, str] = {
    "float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16",
    "float8_e4m3fn": "fp8e4m3", "float8_e5m2": "fp8e5m2",
}  # fmt: skip
"""Torch's names -> ATK's, where they differ."""


def compared_dtype(written: str) -> str:
    """The name under which a tensor of a written dtype is compared; "" for what is none. hf32 has rows of its own."""
    return written if written == "hf32" else ATK_DTYPES.get(TORCH_DTYPES.get(written, ""), "")
