"""The figures of the paper, computed and drawn from trained models."""
