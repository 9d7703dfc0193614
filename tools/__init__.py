"""What makes and checks the project and is no part of the wheel: run in a checkout, as ``python -m tools.NAME``."""
