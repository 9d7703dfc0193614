"""The command ``ishmem``, run by ``python -m ishmem``."""

from ishmem.cli.command import main

main()
