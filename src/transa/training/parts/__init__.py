"""Training with more rows than memory: entities lie in parts on disk, and two of them are in memory at a time."""
