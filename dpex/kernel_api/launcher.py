"""Runs a kernel in plain Python."""

from __future__ import annotations

from functools import partial
from inspect import signature
from itertools import product
from typing import Any, Callable

from .index_spaces import Group, Item, NdItem
from .memory import LocalAccessor
from .ranges import NdRange, Range


def call_kernel(
    kernel_fn: Callable[..., None], index_range: Range | NdRange, *kernel_args: Any, **named_args: Any
) -> None:
    """Run a plain function as a kernel, one work-item after the other; ``dpex.call_kernel`` launches on a device.

    Args:
        kernel_fn: The function, not decorated by ``dpex.kernel``.
        index_range: The work-items: a `Range`, with which the item is an `Item`, or an `NdRange`, with an `NdItem`.
        *kernel_args: The arguments after the item.
        **named_args: Arguments by the names of their parameters.

    Raises:
        ValueError: ``kernel_fn`` is not callable or has other parameters, or ``index_range`` is not a range.
        TypeError: There is a local accessor in a launch without work-groups.
    """
    if not callable(kernel_fn):
        raise ValueError("Expected the first positional argument to be a function object")
    if not isinstance(index_range, (Range, NdRange)):
        raise ValueError("Expected second positional argument to be Range or NdRange object")
    try:
        signature(kernel_fn).bind(None, *kernel_args, **named_args)
    except TypeError as error:
        count = len(kernel_args) + len(named_args)
        raise ValueError(f"the kernel takes an item and other arguments than the {count} given: {error}") from None
    if isinstance(index_range, NdRange):
        _over_groups(partial(kernel_fn, **named_args), index_range, kernel_args)
    else:
        _over_items(partial(kernel_fn, **named_args), index_range, kernel_args)


def _over_items(kernel_fn: Callable[..., None], extents: Range, arguments: tuple[Any, ...]) -> None:
    if any(isinstance(argument, LocalAccessor) for argument in arguments):
        raise TypeError("LocalAccessor arguments are only supported for NdRange kernels")
    for index in product(*map(range, extents)):
        kernel_fn(Item(extents, index), *arguments)


def _over_groups(kernel_fn: Callable[..., None], extents: NdRange, arguments: tuple[Any, ...]) -> None:
    whole, local = extents.global_range, extents.local_range
    groups = [size // part for size, part in zip(whole, local)]
    for at in product(*map(range, groups)):
        own = [each.allocate() if isinstance(each, LocalAccessor) else each for each in arguments]
        for index in product(*map(range, local)):
            place = [group * part + here for group, part, here in zip(at, local, index)]
            group = Group(whole, local, groups, at)
            kernel_fn(NdItem(Item(whole, place), Item(local, index), group), *own)
