"""Threads, as training has them: see `transa.kernels.threads`."""

from transa.kernels.threads import dealt, one_blas_thread, set_threads

__all__ = ["dealt", "one_blas_thread", "set_threads"]
