"""Package ``deep_ep`` with the names and modules of `ishmem.deep_ep`, for import if DeepEP itself is not installed."""

import ishmem.deep_ep as _ours
from ishmem.deep_ep import *  # noqa: F403

__path__ = _ours.__path__
__getattr__ = _ours.__getattr__
