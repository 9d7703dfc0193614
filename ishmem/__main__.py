"""``python -m ishmem`` is the command ``ishmem``."""

from ishmem.cli.command import main

main()
