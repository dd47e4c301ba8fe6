"""A device in main memory that torch takes for another one, to test what runs on a GPU.

`StandInDevice` makes tensors that say they are on "standin:0" and hold their numbers
in main memory. torch's CPU kernels compute every operation on them, but the rules of an
accelerator hold: tensors of two devices do not meet, NumPy does not see the numbers,
and whatever waits for the device or fetches from it is counted. So a machine without a
GPU can test that a method keeps its rows where they are, and how often it waits.

    n_operations    kernels that an accelerator would have started                 (1)
    n_waits         answers the host waited for: `float(x)`, `x.cpu()`, `nonzero`  (2)
    n_bytes_out     bytes that went from the device to the host                    (3)
    n_bytes_in      bytes that went from the host to the device                    (4)

The time of an operation says nothing. Devices written in Python need torch 2.10.
"""

import contextlib
import functools
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from pansophy.core.arrays.arrays import is_torch

NAME = "standin"

# operations whose result has a shape that the host must know: it waits for the device
WAITING = {
    "_local_scalar_dense",
    "nonzero",
    "unique_dim",
    "_unique2",
    "unique_consecutive",
    "masked_select",
    "bincount",
    "equal",
    "_linalg_check_errors",
    "linalg_eigh",
    "_linalg_eigh",
    "_linalg_svd",
    "linalg_lstsq",
}
# views and bookkeeping, which start no kernel
FREE = {
    "slice",
    "select",
    "view",
    "_unsafe_view",
    "permute",
    "t",
    "transpose",
    "expand",
    "unsqueeze",
    "squeeze",
    "detach",
    "alias",
    "as_strided",
    "diagonal",
    "unbind",
    "split",
    "_local_scalar_dense",
    "lift_fresh",
    "reshape",
    "narrow",
    "empty",
    "empty_like",
    "empty_strided",
    "new_empty",
    "split_with_sizes",
    "movedim",
    "unfold",
    "_reshape_alias",
    "is_same_size",
    "chunk",
    "new_empty_strided",
    "swapaxes",
}
TRANSFERS = {"_to_copy", "copy_", "lift_fresh"}


class StandInTensor(torch.Tensor):
    """A tensor on the stand-in device; its numbers are in `_numbers`."""

    _numbers: Any

    @staticmethod
    def __new__(cls, numbers):
        return torch.Tensor._make_wrapper_subclass(
            cls,
            numbers.size(),
            strides=numbers.stride(),
            storage_offset=numbers.storage_offset(),
            dtype=numbers.dtype,
            layout=numbers.layout,
            device=torch.device(NAME, 0),
            requires_grad=False,
        )

    def __init__(self, numbers):
        self._numbers = numbers

    def __repr__(self, *, tensor_contents=None):
        return f"StandInTensor({self._numbers.tolist()}, device='{NAME}:0')"

    def tolist(self):
        return self.cpu().tolist()

    def numpy(self, *_, **__):
        raise TypeError(
            f"can't convert {NAME}:0 device type tensor to numpy. Use Tensor.cpu() to "
            "copy the tensor to host memory first."
        )

    __array__ = numpy

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return _compute_on_host(func, args, kwargs or {})


class NumbersByTransfer(TorchFunctionMode):
    """Makes tensors of numbers and lists in main memory before they are moved.

    torch writes them to the memory of a device without an operation to intercept.
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        device = kwargs.get("device")
        is_remote = device is not None and torch.device(device).type == NAME
        if (
            is_remote
            and func in (torch.asarray, torch.tensor)
            and not is_torch(*args[:1])
        ):
            return func(*args, **{**kwargs, "device": "cpu"}).to(device)
        return func(*args, **kwargs)


class StandInDevice(TorchDispatchMode):
    """Context in which tensors can be made on the stand-in device, with its counts.

    Examples
    --------
    >>> import torch
    >>> from pansophy.testing.stand_in_device import StandInDevice
    >>> with StandInDevice() as device:
    ...     x = torch.arange(3.0, device=device.name)
    ...     y = (x + 1).sum()
    ...     float(y), device.n_waits, str(y.device)
    (6.0, 1, 'standin:0')
    """

    name = NAME

    def __init__(self):
        _register_device()
        super().__init__()
        self.reset()

    def __enter__(self):
        # `net.to(device)` keeps its parameters the objects that they are, as elsewhere
        self.swapped = torch.__future__.get_swap_module_params_on_conversion()
        torch.__future__.set_swap_module_params_on_conversion(True)
        self.numbers = NumbersByTransfer()
        self.numbers.__enter__()
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self.numbers.__exit__(*error)
        torch.__future__.set_swap_module_params_on_conversion(self.swapped)

    def reset(self) -> None:
        """Set all counts to 0."""
        self.n_operations = 0
        self.n_waits = 0
        self.n_bytes_in = 0
        self.n_bytes_out = 0
        self.operations: dict[str, int] = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return _compute_on_host(func, args, kwargs or {}, self)

    def count(self, func, args, result, direction) -> None:
        """Add one operation to the counts."""
        name = func.overloadpacket.__name__
        if name not in FREE:
            self.n_operations += 1
            self.operations[name] = self.operations.get(name, 0) + 1
        boolean_index = name in ("index", "index_put_", "_index_put_impl_") and any(
            is_torch(i) and i.dtype in (torch.bool, torch.uint8)
            for i in tree_leaves(args[1])
        )
        if name in WAITING or boolean_index or direction == "out":
            self.n_waits += 1
        if direction == "out":
            self.n_bytes_out += _n_bytes(result)
        elif direction == "in":
            self.n_bytes_in += _n_bytes(result)


def _n_bytes(x) -> int:
    """Bytes of the entries of a tensor."""
    return x.numel() * x.element_size() if is_torch(x) else 0


def _device_module(dummy_module) -> Any:
    """What torch asks of `torch.standin`, in part by code that never uses the device.

    Once registered, the device is the process's accelerator: `torch.random.fork_rng`
    keeps its random state, and checkpointed modules ask for its low precision.
    """

    class StandInModule(dummy_module):
        def get_amp_supported_dtype(self) -> list[torch.dtype]:
            return [torch.float16, torch.bfloat16]

        def get_rng_state(self, device=None) -> torch.Tensor:
            return torch.empty(0, dtype=torch.uint8)

        def set_rng_state(self, state, device=None) -> None:
            """The device draws with the generator of the CPU."""

    return StandInModule()


@functools.cache
def _register_device() -> None:
    """Make the name of the device known to torch, once in a process."""
    from torch.utils import backend_registration

    torch.utils.rename_privateuse1_backend(NAME)
    with contextlib.suppress(RuntimeError):  # methods are there already
        torch.utils.generate_methods_for_privateuse1_backend()
    module = _device_module(backend_registration._DummyBackendModule)
    torch._register_device_module(NAME, module)
    torch._C._acc.register_python_privateuseone_hook(
        backend_registration._DummyPrivateUse1Hook()
    )
    torch._C._acc.register_python_privateuseone_device_guard(
        backend_registration._DummyDeviceGuard()
    )


def _compute_on_host(func, args, kwargs, counts=None):
    """The result of an operation, computed by the CPU and put on the right device."""
    leaves = tree_leaves((args, kwargs))
    remote_tensors = [a for a in leaves if isinstance(a, StandInTensor)]
    wanted_device = kwargs.get("device")
    name = func.overloadpacket.__name__
    _refuse_two_devices(name, leaves, remote_tensors)
    if wanted_device is not None:
        is_remote = torch.device(wanted_device).type == NAME
    elif name in ("copy_", "set_"):
        is_remote = isinstance(args[0], StandInTensor)
    else:
        is_remote = bool(remote_tensors)
    result = func(
        *tree_map(_numbers_on_host, args), **tree_map(_numbers_on_host, kwargs)
    )
    if counts is not None and (remote_tensors or is_remote):
        direction = None
        if name in TRANSFERS:
            source = args[1] if name == "copy_" else args[0]
            from_device = isinstance(source, StandInTensor)
            direction = {(True, False): "out", (False, True): "in"}.get(
                (from_device, is_remote)
            )
        counts.count(func, args, result, direction)
    if not is_remote:
        return result
    in_place = _is_in_place(func) and isinstance(args[0], StandInTensor)
    if in_place and args[0].shape == args[0]._numbers.shape:
        return args[0]
    return tree_map(lambda a: StandInTensor(a) if _is_plain_tensor(a) else a, result)


def _is_in_place(func) -> bool:
    name = func.overloadpacket.__name__
    return name.endswith("_") and not name.endswith("__")


def _is_plain_tensor(a) -> bool:
    return isinstance(a, torch.Tensor) and not isinstance(a, StandInTensor)


def _numbers_on_host(a):
    """What stands for an argument in main memory."""
    if isinstance(a, StandInTensor):
        return a._numbers
    if isinstance(a, torch.device) and a.type == NAME:
        return torch.device("cpu")
    return a


def _refuse_two_devices(name, leaves, remote_tensors) -> None:
    """Raise torch's error if tensors of two devices meet."""
    if not remote_tensors or name in TRANSFERS or name == "set_":
        return
    for a in leaves:
        index = name in ("index", "index_put_", "_index_put_impl_")
        if (
            _is_plain_tensor(a)
            and a.ndim
            and not (index and not a.dtype.is_floating_point)
        ):
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two "
                f"devices, {NAME}:0 and cpu!"
            )
