"""The model of large jobs: ``python -m tools.scale`` predicts their collectives and ``init``."""
