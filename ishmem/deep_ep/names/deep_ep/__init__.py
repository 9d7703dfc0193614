"""``deep_ep`` where no other package has this name: see ``ishmem.deep_ep``, whose modules are those of this one."""

import ishmem.deep_ep as _ours
from ishmem.deep_ep import *  # noqa: F403

__path__ = _ours.__path__
__getattr__ = _ours.__getattr__
