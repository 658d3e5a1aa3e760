"""Subjects from PyTorch's operator database."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import itertools
import re
import warnings
from collections.abc import Iterator

import torch

from opscan.checking.runs import Subject, of_sample


def of_database(
    dtype: torch.dtype, samples: int, only: str = "", seed: int = 0, shard: int = 0, shards: int = 1
) -> Iterator[Subject]:
    """`samples` evenly spaced samples of every operator that knows `dtype`, gradients wanted where they exist.

    `shard` of `shards`: every so many operators only.
    """
    from torch.testing._internal.common_methods_invocations import op_db

    generator = torch.Generator().manual_seed(seed)
    for operator in op_db[shard::shards]:
        if dtype not in operator.dtypes or not re.search(only, operator.name):
            continue
        gradients = operator.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
        gradients = gradients and dtype in operator.supported_backward_dtypes("cpu")
        torch.manual_seed(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = list(itertools.islice(operator.sample_inputs("cpu", dtype, requires_grad=gradients), 80))
            except (RuntimeError, TypeError, NotImplementedError):
                continue
        step = max(len(found) / samples, 1)
        chosen = sorted({int(place * step) for place in range(samples)} & set(range(len(found))))
        for place in chosen:
            yield of_sample(operator, found[place], f"#{place}", generator)
