"""Analysis: what a trained model has learned, as numbers and as pictures."""
