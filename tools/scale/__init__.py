"""The model of large jobs: ``python -m tools.scale`` predicts the times of their collectives and of ``init``."""
