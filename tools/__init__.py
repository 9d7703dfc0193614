"""Tools for development, which are not in the wheel: run them in a checkout by ``python -m tools.NAME``."""
