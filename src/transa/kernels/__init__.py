"""Compiled kernels on plain arrays. They know nothing of graphs, models or files."""

import os

from transa.kernels.cache import use_writable_cache

use_writable_cache()

# Threads that wait for each other should sleep, not spin: on a machine that does other work as well, spinning threads take the
# processor from the very thread they wait for, and training becomes ten times slower.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
