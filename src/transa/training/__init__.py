"""Training: one loop over epochs, and the engines that train them."""

from transa.training.callbacks import Callback, Checkpoints, EarlyStopping, Listener
from transa.training.general import general_recipe
from transa.training.progress import Options, Progress, Stopped, TrainingError
from transa.training.recipe import Recipe, recipe_from
from transa.training.recipe_files import load_recipe
from transa.training.run import RunFolder
from transa.training.trackers import tracker
from transa.training.trainer import Trainer

__all__ = [
    "Callback",
    "Checkpoints",
    "EarlyStopping",
    "Listener",
    "Options",
    "Progress",
    "Recipe",
    "RunFolder",
    "Stopped",
    "Trainer",
    "TrainingError",
    "general_recipe",
    "load_recipe",
    "recipe_from",
    "tracker",
]
