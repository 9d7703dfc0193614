"""Exceptions of the definition, compilation and launch of kernels."""

from __future__ import annotations

from typing import Any


class _FromText(Exception):
    """An error whose constructor formats the message; pickle and copy restore it without calling the constructor."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[Exception], args: tuple[Any, ...], attributes: dict[str, Any]) -> Exception:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(attributes)
    return error


class KernelHasReturnValueError(_FromText):
    """A kernel returns a value."""

    def __init__(self, kernel_name: str, return_type: Any):
        super().__init__(f"kernel {kernel_name} returns {return_type}; a kernel writes its results into its arguments")


class UnmatchedNumberOfRangeDimsError(_FromText):
    """The global and the local range of a launch differ in their number of dimensions."""

    def __init__(self, kernel_name: str, global_ndims: int, local_ndims: int):
        of = f" of kernel {kernel_name}" if kernel_name else ""
        super().__init__(
            f"the global range{of} has {global_ndims} dimensions, the local range {local_ndims}; they must be equal"
        )


class UnsupportedGroupWorkItemSizeError(_FromText):
    """The number of work-items in a dimension is not a multiple of the work-group size."""

    def __init__(self, kernel_name: str, dim: int, work_items: int, in_group: int):
        of = f" of kernel {kernel_name}" if kernel_name else ""
        super().__init__(
            f"the {work_items} work-items{of} in dimension {dim} do not divide into work-groups of {in_group}"
        )


class ExecutionQueueInferenceError(Exception):
    """The array arguments of a launch are on several queues, or there is no array argument."""


class UnsupportedKernelArgumentError(_FromText):
    """A kernel argument has a type that kernels do not support."""

    def __init__(self, value: Any, advice: str = ""):
        super().__init__(
            f"a kernel takes dpnp arrays, usm_ndarrays, local accessors, numbers and tuples of numbers, "
            f"got {type(value).__name__}{advice}"
        )


COPY = "; dpnp.asarray(a) copies a numpy array to the device"
"""The end of the error message for a numpy array as argument."""


def call_refused(kernel_name: str) -> str:
    """Return the error message for the kernel ``kernel_name`` that is called as a function."""
    return f"a kernel is launched: dpex.call_kernel({kernel_name}, dpex.Range(n), ...)"


class InvalidKernelSpecializationError(_FromText):
    """A signature passed to the decorator has types that kernel arguments cannot have."""

    def __init__(self, kernel_name: str, invalid: Any):
        super().__init__(
            f"kernel {kernel_name} cannot be compiled for arguments of the types {', '.join(map(str, invalid))}; "
            "arrays are DpnpNdArray or USMNdArray"
        )


class MissingSpecializationError(_FromText):
    """A kernel that is compiled only for the decorator's signatures is launched with arguments of other types."""

    def __init__(self, kernel_name: str, argtypes: Any):
        super().__init__(f"kernel {kernel_name} was compiled for given signatures only, not for {argtypes}")


class KernelBuildError(Exception):
    """The device's compiler rejects a kernel, or LLVM fails to translate it to SPIR-V."""


class DeviceLostError(_FromText):
    """A kernel or copy has failed or does not end, so the device is lost to this process."""

    def __init__(self) -> None:
        super().__init__(
            "a kernel or copy has not completed: the device is lost, and this process cannot use it any more; the "
            "driver may have told why on stderr"
        )
