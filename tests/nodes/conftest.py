from __future__ import annotations

from collections.abc import Iterator

import pytest
from login import Login

from ishmem.testing import nodes


@pytest.fixture(scope="module")
def login() -> Iterator[Login]:
    if not nodes.has_namespaces():
        pytest.skip("no namespaces for emulated nodes")
    found = Login(2)
    yield found
    found.close()
