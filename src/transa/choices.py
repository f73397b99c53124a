"""The words that some options take. This module imports nothing heavy, so that the command line can name them before a command runs."""

from __future__ import annotations

from typing import Literal

#: The parts of a graph.
Split = Literal["train", "valid", "test"]

#: Which end of a triple is asked for.
Side = Literal["head", "tail"]

#: Which rank the true entity gets among entities of equal score: the middle, the first or the last.
Ties = Literal["realistic", "optimistic", "pessimistic"]

#: What tells a true triple from a false one: its score, or its score beside other answers to its two questions.
DecidedBy = Literal["score", "questions"]

#: How margins become probabilities.
Calibration = Literal["isotonic", "platt"]

#: What trains a model: compiled kernels, torch, or the one that fits.
EngineName = Literal["auto", "numba", "torch"]

#: How vectors are laid out in the plane.
Layout = Literal["pca", "umap"]
