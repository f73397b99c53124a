"""Compiled kernels on plain arrays. They know nothing of graphs, models or files."""
