"""Small programs, each right, and each wrong when one call that orders is left out; see `ishmem.runtime.late_delivery`.

``make order`` runs all of them with 50 seeds, ``tests/simulator/test_order_programs.py`` with 10.
"""
