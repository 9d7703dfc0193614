"""Cache keys of kernels: what is special to numba-dpex; the rest is in tests/device/test_kernel_cache.py."""

from __future__ import annotations

from typing import Any

import numba_dpex.core.config
import pytest
from common import dpex, kapi
from numba import types

from ishmem.dpex.cache.key import NoKeyError, kernel_key
from ishmem.kernels.front_end import ItemType


def with_options(**options: Any) -> Any:
    def kernel(item: kapi.Item, a):
        a[0] = 1

    return dpex.kernel(kernel, **options)


def key(kernel: Any, *arguments: Any) -> str:
    return kernel_key(kernel, (ItemType(1), *arguments))


@pytest.mark.ishmem(1)
def test_keys() -> None:
    number = types.int64
    assert key(with_options(), number) == key(with_options(), number)
    assert key(with_options(), number) != key(with_options(inline_threshold=1), number)
    config = numba_dpex.core.config
    before, level = key(with_options(), number), config.DPEX_OPT
    config.DPEX_OPT = level + 1
    try:
        assert key(with_options(), number) != before
    finally:
        config.DPEX_OPT = level
    with pytest.raises(NoKeyError, match="options"):
        key(with_options(debug=True), number)
    with pytest.raises(NoKeyError, match="an argument"):
        key(with_options(), types.unicode_type)
