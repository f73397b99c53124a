"""Training by several workers: each holds a part of the rows, and all together compute the same as one."""
