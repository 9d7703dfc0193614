"""The benchmark suite, ``ishmem bench``."""
