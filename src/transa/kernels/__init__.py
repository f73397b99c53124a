"""Compiled kernels on plain arrays. They know nothing of graphs, models or files."""

from transa.kernels.cache import use_writable_cache

use_writable_cache()
