"""``python -m ishmem`` is the command ``ishmem``."""

from ishmem.command import main

main()
