"""What a golden sees of torch: namespaces, operators, dtypes, modules without weights; nothing that reads files or runs
code.

An operator may be called where `opscan.numerics.operators.resolve` accepts its name; the rest is listed here.
"""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from opscan.numerics.bits import Level
from opscan.numerics.goldens.limits import gradients, seed
from opscan.numerics.operators import Operator, resolve
from opscan.pyread.stops import CannotFollow
from opscan.pyread.values import HostFunction, Silent

CASE_ID = "the id of a case"


@dataclass(eq=False, repr=False)
class Namespace:
    """`torch`, `torch.nn.functional` ... by its full name."""

    name: str


@dataclass(eq=False, repr=False)
class TorchFunction:
    """A function of torch that may be called; `method`: its receiver is the first argument."""

    name: str
    function: Callable[..., Any]


@dataclass(eq=False, repr=False)
class TensorMethod:
    receiver: Any
    name: str
    function: Callable[..., Any]


@dataclass(eq=False, repr=False)
class ModuleType:
    """A class of `torch.nn` without weights that are drawn."""

    name: str
    host: type


@dataclass(eq=False, repr=False)
class Module:
    """An object of such a class."""

    host: Any


@dataclass(eq=False, repr=False)
class TensorType:
    """`torch.Tensor`, good for `isinstance` and for methods called as functions; `dtype`: `torch.FloatTensor`."""

    name: str = "torch.Tensor"


@dataclass(eq=False, repr=False)
class DtypeType:
    """`torch.dtype`, good for `isinstance`."""


@dataclass(eq=False, repr=False)
class GradMode:
    """`torch.no_grad()` and the like, for `with`."""

    enabled: bool


@dataclass(eq=False, repr=False)
class NumberLimits:
    """`torch.finfo(dtype)` or `torch.iinfo(dtype)`."""

    host: Any


class Generator:
    """A `torch.Generator`. As long as nobody asks for a new seed, it draws the same numbers in every run."""

    def __init__(self, device: Any = "cpu") -> None:
        _device(device)
        self.host = torch.Generator()
        seed(self.host, Level.CONST)

    def manual_seed(self, number: Any) -> Generator:
        seed(self.host, _seeded(self.host.manual_seed, number))
        return self

    def seed(self) -> Silent:
        return _new_seed(self.host)


def _seeded(set_seed: Callable[[int], Any], number: Any) -> Level:
    """What numbers are after a seed: constants; those by the id of a case are the same in all runs, but not known."""
    if type(number) is int:
        set_seed(number)
        return Level.CONST
    return Level.SELECT if isinstance(number, Silent) and number.what == CASE_ID else Level.RANDOM


def _manual_seed(number: Any) -> Silent:
    seed(None, _seeded(torch.default_generator.manual_seed, number))
    return Silent("torch's own generator")


def _new_seed(generator: Any = None) -> Silent:
    seed(generator, Level.RANDOM)
    return Silent("a seed")


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


NAMESPACES = frozenset(
    {
        "torch", "torch.nn", "torch.nn.functional", "torch.special", "torch.linalg", "torch.fft", "torch.ops",
        "torch.ops.aten", "torch.autograd", "torch.nn.init",
    }
)  # fmt: skip

_MODULES = words(
    """ReLU ReLU6 ELU SELU CELU GELU SiLU Mish Softplus Softsign Softshrink Hardshrink Tanhshrink Hardtanh Hardswish
    Hardsigmoid LeakyReLU LogSigmoid Sigmoid Tanh Threshold GLU Softmin Softmax Softmax2d LogSoftmax Identity Flatten
    Unflatten Fold Unfold Dropout Dropout1d Dropout2d Dropout3d AlphaDropout Upsample UpsamplingNearest2d
    UpsamplingBilinear2d PixelShuffle PixelUnshuffle ChannelShuffle CosineSimilarity PairwiseDistance
    MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d AvgPool1d AvgPool2d AvgPool3d LPPool1d LPPool2d
    FractionalMaxPool2d FractionalMaxPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d AdaptiveAvgPool1d
    AdaptiveAvgPool2d AdaptiveAvgPool3d ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d
    ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d ConstantPad1d ConstantPad2d ConstantPad3d
    CircularPad1d CircularPad2d CircularPad3d L1Loss MSELoss CrossEntropyLoss NLLLoss PoissonNLLLoss GaussianNLLLoss
    KLDivLoss BCELoss BCEWithLogitsLoss MarginRankingLoss HingeEmbeddingLoss MultiLabelMarginLoss HuberLoss SmoothL1Loss
    SoftMarginLoss MultiLabelSoftMarginLoss CosineEmbeddingLoss MultiMarginLoss TripletMarginLoss CTCLoss
    LayerNorm GroupNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d LocalResponseNorm RMSNorm"""
)
"""Classes of `torch.nn` that hold no weights, or weights that start as ones and zeros."""

_TENSOR_TYPES = words("Tensor FloatTensor DoubleTensor HalfTensor BFloat16Tensor LongTensor IntTensor")
_CONSTANTS = frozenset({"pi", "e", "inf", "nan", "strided", "contiguous_format", "preserve_format", "channels_last"})
_SHAPE_FUNCTIONS = words(
    "broadcast_shapes broadcast_tensors promote_types result_type can_cast is_floating_point is_complex "
    "get_default_dtype is_nonzero numel tensor as_tensor"
)
"""Functions of `torch` that the dispatcher does not know and that only make tensors of values or tell of shapes."""
_SILENT = words(
    "use_deterministic_algorithms set_num_threads set_printoptions set_default_device set_float32_matmul_precision"
)
"""Settings of a process that decide no class, so they are left out; `set_default_dtype` does and is refused."""
_GRAD_MODES = {"no_grad": False, "inference_mode": False, "enable_grad": True}


def torch_attribute(space: Namespace, name: str) -> Any:
    """`space.name`. Raises CannotFollow where that is no operator and none of the listed names."""
    path = f"{space.name}.{name}"
    if path in NAMESPACES:
        return Namespace(path)
    if space.name == "torch" and (found := _torch_name(name)) is not None:
        return found
    if space.name == "torch.nn":
        if name not in _MODULES or not hasattr(torch.nn, name):
            raise CannotFollow(f"`{path}`")
        return ModuleType(path, getattr(torch.nn, name))
    if space.name == "torch.nn.init":
        return _initialiser(path, name)
    if path == "torch.autograd.grad":
        return TorchFunction(path, gradients)
    return operator_function(path)


_WRITTEN = words(
    "uniform_ normal_ xavier_uniform_ xavier_normal_ kaiming_uniform_ kaiming_normal_ constant_ ones_ zeros_ eye_ "
    "dirac_"
)
_SHAPED = words("trunc_normal_ sparse_ orthogonal_")
"""Initialisers that look at what they have drawn; how it is distributed is all the same here."""


def _initialiser(path: str, name: str) -> TorchFunction:
    """A function of `torch.nn.init`, which writes a tensor in place, outside autograd."""

    def draw(tensor: Any, *_: Any, generator: Any = None, **__: Any) -> Any:
        with torch.no_grad():
            return tensor.uniform_(generator=generator)

    if name in _SHAPED:
        return TorchFunction(path, draw)
    if name in _WRITTEN:
        return TorchFunction(path, getattr(torch.nn.init, name))
    raise CannotFollow(f"`{path}`")


def named_operator(text: Any) -> Any:
    """What ATK's own `eval(name)` gives: an operator, or a class of `torch.nn`. Raises CannotFollow for other text."""
    if type(text) is not str or not text.startswith(("torch.", "Tensor.")):
        raise CannotFollow("`eval` of anything but the name of an operator")
    head, _, last = text.rpartition(".")
    return torch_attribute(Namespace(head), last) if head == "torch.nn" else operator_function(text)


def operator_function(name: str) -> TorchFunction:
    """The operator that `name` means. Raises CannotFollow where it means none."""
    known = resolve(name)
    if not isinstance(known, Operator):
        raise CannotFollow(f"`{name}`")
    return TorchFunction(name, known.call)


def _torch_name(name: str) -> Any:
    """The names of `torch` that are no operators; None for the others."""
    if name in _TENSOR_TYPES:
        return TensorType(f"torch.{name}")
    if name in _GRAD_MODES:
        return HostFunction(name, lambda *_, **__: GradMode(_GRAD_MODES[name]), pure=True)
    if name in _SILENT:
        return Silent()
    special = {
        "dtype": DtypeType(),
        "device": HostFunction("torch.device", _device, pure=True),
        "Size": HostFunction("torch.Size", tuple, pure=True),
        "Generator": HostFunction("torch.Generator", Generator, pure=True),
        "manual_seed": HostFunction("torch.manual_seed", _manual_seed, pure=True),
        "seed": HostFunction("torch.seed", _new_seed, pure=True),
        "finfo": HostFunction("torch.finfo", lambda dtype: NumberLimits(torch.finfo(dtype)), pure=True),
        "iinfo": HostFunction("torch.iinfo", lambda dtype: NumberLimits(torch.iinfo(dtype)), pure=True),
        "is_tensor": HostFunction("torch.is_tensor", lambda value: isinstance(value, torch.Tensor), pure=True),
    }
    if name in special:
        return special[name]
    value = getattr(torch, name, None)
    if isinstance(value, torch.dtype) or name in _CONSTANTS:
        return value
    return TorchFunction(f"torch.{name}", value) if name in _SHAPE_FUNCTIONS and callable(value) else None


def _device(name: Any, index: Any = None) -> Any:
    if index in (None, 0) and str(name).split(":", maxsplit=1)[0] == "cpu":
        return torch.device("cpu")
    raise CannotFollow("a device other than the CPU")
