"""What an executor sees of ATK: the base classes, the inputs of a case, and the device it believes to run on.

Assumed of the run that makes the golden: `self.device`, `self.name` and the backend are `cpu`, `device_id` is 0,
`with_output` is true, and the task is no benchmark (which would only compute the same in float64). What else a task
knows, such as its case's id, is not known here: a condition on it stops.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from opscan.numerics.goldens.torch_values import CASE_ID, named_operator
from opscan.pyread.values import ClassValue, HostFunction, Instance, Record, Silent

if TYPE_CHECKING:
    from opscan.numerics.goldens.interpreter import GoldenInterpreter

DEVICE = "cpu"
_EXTRA = "<extra>"
"""Under this name, which no code can write, the inputs of a case keep which keywords are no parameters."""


def task_record(api_name: str | None, outputs: Any) -> Record:
    """What ATK passes to the constructor of an executor."""
    case = Record("case_config", {"name": api_name, "outputs": outputs, "id": Silent(CASE_ID)})
    return Record(
        "task_result",
        {"case_config": case, "backend": DEVICE, "name": DEVICE, "device_id": 0, "is_benchmark_task": False},
    )


def input_record(
    args: list[Any], kwargs: dict[str, Any], *, method: bool, backward: bool, extra: Collection[str] = ()
) -> Record:
    """What ATK passes to a call; of a method's arguments the first is its receiver.

    `extra`: the keywords that are for the executor alone, and no parameters of the operator.
    """
    receiver = args[:1] if method else []
    rest = args[len(receiver) :]
    return Record(
        "input_data",
        {
            "args": rest,
            "kwargs": kwargs,
            "method_args": list(rest) if method else [],
            "method_kwargs": dict(kwargs) if method else {},
            "tensor_args": receiver,
            "require_grad": backward,
            _EXTRA: frozenset(extra),
        },
    )


def _set_up(_: GoldenInterpreter, instance: Instance, task: Any, *__: Any) -> None:
    """The constructor of BaseApi."""
    case = task.fields["case_config"].fields if isinstance(task, Record) else {}
    instance.attributes.update(
        task_result=task,
        api_name=case.get("name"),
        output=case.get("outputs"),
        device=DEVICE,
        name=DEVICE,
        device_id=0,
        change_flag=False,
        backend=DEVICE,
    )


def _evaluate(ev: GoldenInterpreter, instance: Instance, data: Record, with_output: bool = True) -> Any:
    """ATK's own executor: the operator that the case names, on the inputs as they are."""
    del with_output
    function = named_operator(instance.attributes.get("api_name"))
    named = {name: value for name, value in data.fields["kwargs"].items() if name not in data.fields[_EXTRA]}
    result = ev.call(function, list(data.fields["args"]), named)
    output = instance.attributes.get("output")
    if type(output) is int:
        return data.fields["args"][output]
    return data.fields["kwargs"][output] if type(output) is str else result


def _nothing(*_: Any, **__: Any) -> None:
    return None


BASE_API = ClassValue(
    "BaseApi",
    attributes={
        "__init__": HostFunction("__init__", _set_up, method=True),
        "init_by_input_data": HostFunction("init_by_input_data", _nothing, method=True),
    },
)
FUNCTION_API = ClassValue("FunctionApi", (BASE_API,), {"__call__": HostFunction("__call__", _evaluate, method=True)})
ACLNN_API = ClassValue("AclnnBaseApi")

ATK_NAMES: Mapping[str, Callable[[GoldenInterpreter], Any]] = {
    "register": lambda ev: HostFunction("register", ev.register, pure=True),
    "BaseApi": lambda _: BASE_API,
    "FunctionApi": lambda _: FUNCTION_API,
    "AclnnBaseApi": lambda _: ACLNN_API,
    **dict.fromkeys(("InputDataset", "TaskResult", "OutputData", "OpsDataset", "Logger"), lambda _: Silent()),
}
