"""The training loop for more rows than memory."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import Any

import numpy as np

from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.kernels.arguments import Array
from transa.training.parts.disk import Files
from transa.training.parts.engine import PartsEngine
from transa.training.parts.pairs import check_parts
from transa.training.progress import Options
from transa.training.recipe import Recipe
from transa.training.run import RunFolder
from transa.training.sharded.checkpoints import Kind, free_name
from transa.training.sharded.slices import FOLDERS, folder_of, slices_of
from transa.training.sharded.trainer import ShardedTrainer

#: The file of relations, and what the loop prior is called in it.
RELATIONS, LOOP_FREE = "relation", "relation.loop_free"


class PartsTrainer(ShardedTrainer):
    """Trains a model of which two parts of the entities are in memory at a time; the run folder is that of workers.

    Every epoch ends with a checkpoint: the rows that it wrote.

    Parameters
    ----------
    graph, recipe, options, folder, source
        As those of `ShardedTrainer`.
    parts
        How many parts.
    """

    engine: PartsEngine

    def __init__(
        self,
        graph: KnowledgeGraph,
        recipe: Recipe,
        options: Options,
        folder: RunFolder,
        source: str | None = None,
        *,
        parts: int,
    ) -> None:
        check_parted(recipe, parts, options)
        self.parts = parts
        super().__init__(graph, recipe, replace(options, checkpoint_epochs=1), folder, source)

    def _engine(self) -> PartsEngine:
        return PartsEngine(self.model, self.graph, self.recipe, self.folder, self.parts)

    def _keep(self, kind: Kind, **notes: Any) -> None:
        engine = self.engine
        files = engine.entities.files
        if kind != "checkpoint":
            files = self._copied(kind)
        files.write(RELATIONS, self._relations(state=kind == "checkpoint"))
        self.folder.write_json(f"{kind}.json", {"folder": files.folder.name, "steps": engine.steps, **notes})
        for letter in FOLDERS:
            if f"{kind}.{letter}" != files.folder.name:
                shutil.rmtree(self.folder.path / f"{kind}.{letter}", ignore_errors=True)

    def _copied(self, kind: Kind) -> Files:
        """Return a new folder with the vectors of all entities, without the state of the optimiser."""
        rows = self.engine.entities
        path = self.folder.path / free_name(self.folder, kind)
        path.mkdir()
        files = Files(path)
        for lane in range(self.recipe.lanes):
            for name, slices in rows.by_file(lane):
                values = {str(each): rows.files.read_slice(each) for each in slices if each.what == "values"}
                if values:
                    files.write(name, values)
        return files

    def _relations(self, *, state: bool) -> dict[str, Array]:
        found = {str(each): held for each, held in self.engine.relation_slices() if state or each.what == "values"}
        if self.model.loop_free is not None and not state:
            found[LOOP_FREE] = self.model.loop_free.numpy().astype(np.uint8)
        return found

    def _take(self, kind: Kind) -> dict[str, Any]:
        notes = self.folder.read_json(f"{kind}.json")
        files = Files(self.folder.place(folder_of(notes)))
        for each in slices_of(self.model, self.recipe, state=kind == "checkpoint"):
            if each.role == "entity" and str(each) not in files:
                raise InputError(f"{each} is missing", path=files.folder)
        for each, held in self.engine.relation_slices():
            if kind == "checkpoint" or each.what == "values":
                held[...] = files.read_slice(each)
        self.engine.entities.files = files
        try:
            self.engine.steps = int(notes["steps"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputError(f"cannot be resumed ({error})", path=self.folder.path) from None
        return notes

    def _details(self) -> dict[str, Any]:
        return {**super()._details(), "parts": self.parts}


def check_parted(recipe: Recipe, parts: int, options: Options) -> None:
    """Raise an `InputError` if pairs of parts cannot be trained by a recipe, beyond what workers cannot train."""
    check_parts(parts, recipe.lanes)
    why = ""
    if recipe.has_metric and recipe.metric_update != "gradient":
        why = f"metric_update={recipe.metric_update!r}: the closed form of W_r needs all triples of a relation at once"
    if options.engine == "torch" or options.device != "cpu":
        why = "pairs of parts are trained by compiled kernels on the CPU"
    if recipe.penalty and recipe.penalty_rows == "all":
        why = "penalty_rows='all' would count once for each pair"
    if why:
        raise InputError(f"parts cannot be trained by this: {why}")
