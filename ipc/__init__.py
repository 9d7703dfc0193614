"""Level Zero from Python (``pyze``) and the exchange of memory handles among the PEs of a node."""
