"""Level Zero bindings (``pyze``), and the exchange of messages and memory handles among the PEs of a node."""
