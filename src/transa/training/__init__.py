"""Training: one loop, two engines."""

from transa.training.recipe import Recipe, load_recipe, recipe_from
from transa.training.run import RunFolder
from transa.training.trainer import Options, Progress, Trainer, TrainingError

__all__ = ["Options", "Progress", "Recipe", "RunFolder", "Trainer", "TrainingError", "load_recipe", "recipe_from"]
