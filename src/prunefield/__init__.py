"""prunefield: which data, networks and pruning rules make local receptive fields, and why."""

__version__ = "0.1.0"
