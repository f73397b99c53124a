"""The engine for more rows than memory: pair after pair of parts is read, trained as a graph of its own, and written."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch

from transa.data import KnowledgeGraph
from transa.kernels.arguments import Array
from transa.kernels.purposes import GROUP
from transa.kernels.scores import RowScore, find_score
from transa.models import Model, Rows
from transa.training.engine import EpochReport
from transa.training.parts.disk import DiskRows, Files
from transa.training.parts.pairs import Pairs
from transa.training.recipe import Recipe
from transa.training.row_engine import RowEngine
from transa.training.run import RunFolder
from transa.training.settings import table_settings
from transa.training.sharded.model import columns_of
from transa.training.sharded.rows import ShardedRows
from transa.training.sharded.slices import FOLDERS, Slice, numberings, slices_of
from transa.training.sharded.workers import Workers
from transa.training.starting import start_rows


class PartsEngine:
    """Trains a model whose entities are on disk, by the compiled engine of a single process.

    Parameters
    ----------
    model
        The model without its tables.
    graph, recipe
        What to train on, and how.
    folder
        The run folder. Of two folders in it, an epoch reads the rows from one and writes them to the other.
    parts
        How many parts.

    Attributes
    ----------
    entities, relations
        The rows after the last epoch: those of entities on disk, those of relations in memory.
    steps
        How many steps were taken.
    """

    def __init__(self, model: Model, graph: KnowledgeGraph, recipe: Recipe, folder: RunFolder, parts: int) -> None:
        self.name = f"numba, {parts} parts"
        self.model = model
        self.recipe = recipe
        self.folder = folder
        self.workers = Workers(recipe.lanes)
        self.steps = 0
        settings = table_settings(model, recipe)
        kind = np.dtype(recipe.precision)
        slices = list(slices_of(model, recipe, state=True))
        dealt = numberings(model, recipe)
        self.entities = DiskRows(
            Files(folder.path / "none"), dealt["entity"], columns_of("entity", model, settings), kind, slices
        )
        self.relations = ShardedRows(dealt["relation"], self.workers, columns_of("relation", model, settings), kind)
        self._relation_slices = [each for each in slices if each.role == "relation"]
        self.pairs = Pairs(graph, recipe, dealt["entity"], parts)
        self.parts = parts
        self._finite = True

    def start(self) -> None:
        """Write the first values of `transa.training.starting.start_model`, part by part."""
        files = self._empty_folder()
        for part in range(self.parts):
            ids = self.pairs.entities((part, part))
            arrays = self._room(ids)
            for name, first, values in start_rows(self.model, self.recipe):
                if name == "entity.vector":
                    inside = slice(*np.searchsorted(ids, (first, first + len(values))))
                    arrays["values"][inside] = values.numpy()[ids[inside] - first]
                elif part == 0:
                    rows = self.relations.numbering.rows[first : first + len(values)]
                    self.relations.tables[name.split(".")[1]][rows] = values.reshape(len(values), -1).numpy()
            self._write_part(files, part, ids, arrays)
        self.entities.files = files

    def train_epoch(self, number: int) -> EpochReport:
        """Train one epoch: all pairs, in an order of this epoch."""
        files, written = self._empty_folder(), set[int]()
        order = np.random.default_rng([self.recipe.seed, GROUP, number]).permutation(len(self.pairs.every))
        loss, violations, positives = 0.0, 0.0, 0
        for at in order.tolist():
            parts = sorted(set(self.pairs.every[at]))
            ids = self.pairs.entities(self.pairs.every[at])
            graph = self.pairs.part_graph(at, ids)
            size = len(graph.train)
            engine = self._engine(graph, at) if size else None
            arrays = self._room(ids) if engine is None else self._arrays(engine)
            for part in parts:
                self._read_part(files if part in written else self.entities.files, part, ids, arrays)
            if engine is not None:
                report = engine.train_epoch(number)
                loss, violations = loss + report.loss * size, violations + (report.violations or 0.0) * size
                positives += size
                self._put_back(engine)
            for part in parts:
                self._write_part(files, part, ids, arrays)
            written |= set(parts)
        self.entities.files = files
        return EpochReport(loss / positives, violations / positives)

    def relation_slices(self) -> Iterator[tuple[Slice, Array]]:
        """Yield the slices of relations, each with its rows in memory."""
        rows = self.relations
        for each in self._relation_slices:
            held = rows.tables[each.table] if each.what == "values" else getattr(rows.steps[each.table], each.what)
            start = rows.lane(each.lane).start + each.start
            yield each, held[start : start + each.count]

    @property
    def is_finite(self) -> bool:
        """Whether all rows are numbers."""
        return self._finite and all(np.isfinite(table.sum()) for table in self.relations.tables.values())

    def _room(self, ids: npt.NDArray[np.int32]) -> dict[str, Array]:
        """Return arrays of zeros for the rows of some entities and the state of their optimiser."""
        slices = self.entities.slices(0)
        return {each.what: np.zeros((len(ids), each.width), self.entities.kind) for each in slices}

    def _engine(self, graph: KnowledgeGraph, pair: int) -> RowEngine:
        """Return the engine of a pair, with the rows of relations; those of entities are yet to be read into its table."""
        recipe = self.recipe.model_copy(update={"seed": (self.recipe.seed + pair) % 2**63})  # other negatives in each
        model = self.recipe.build_model(len(graph.entities), self.model.graph_relations)
        rows, tables = self.relations.numbering.rows, self.relations.tables
        shapes = self.model.relation_tables()
        model.relation = Rows(
            {name: torch.from_numpy(tables[name][rows]).reshape(-1, *shape) for name, shape in shapes.items()}
        )
        model.entity = Rows(vector=torch.zeros(len(graph.entities), model.dim, dtype=model.relation.vector.dtype))
        kernel = model.kernel()
        assert kernel is not None  # noqa: S101
        score = find_score(kernel.score)
        assert isinstance(score, RowScore)  # noqa: S101
        engine = RowEngine(model, graph, recipe, score, root=kernel.root)
        for name, steps in self.relations.steps.items():
            for what, array in self._relation_state(engine, name).items():
                array[...] = getattr(steps, what)[rows]
        engine.number = self.steps
        return engine

    def _put_back(self, engine: RowEngine) -> None:
        """Keep the rows of relations that an engine has trained."""
        rows = self.relations.numbering.rows
        for name, table in self.relations.tables.items():
            table[rows] = engine.model.relation[name].numpy().reshape(len(rows), -1)
        for name, steps in self.relations.steps.items():
            for what, array in self._relation_state(engine, name).items():
                getattr(steps, what)[rows] = array
        self.steps = engine.number
        self._finite &= bool(np.isfinite(engine.tables.vectors.sum()))

    @staticmethod
    def _arrays(engine: RowEngine) -> dict[str, Array]:
        """Return the vectors of entities and the state of their optimiser."""
        entities, steps = engine.model.num_entities, engine.vectors
        return {
            "values": steps.table[:entities],
            "first": steps.first[:entities],
            "second": steps.second[:entities],
        }

    @staticmethod
    def _relation_state(engine: RowEngine, table: str) -> dict[str, Array]:
        """Return the state of the optimiser for a table of relations."""
        entities = engine.model.num_entities
        if table == "vector":
            return {"first": engine.vectors.first[entities:], "second": engine.vectors.second[entities:]}
        assert engine.extra is not None  # noqa: S101
        return {"first": engine.extra.first, "second": engine.extra.second}

    def _read_part(self, files: Files, part: int, ids: npt.NDArray[np.int32], arrays: dict[str, Array]) -> None:
        """Read the rows of a part to their places among some entities."""
        for lane in self.pairs.lanes(part):
            for each in self.entities.slices(lane):
                arrays[each.what][self._places(each, ids)] = files.read_slice(each)

    def _write_part(self, files: Files, part: int, ids: npt.NDArray[np.int32], arrays: dict[str, Array]) -> None:
        """Write the rows of a part, which are among those of some entities."""
        for lane in self.pairs.lanes(part):
            for name, slices in self.entities.by_file(lane):
                files.write(name, {str(each): arrays[each.what][self._places(each, ids)] for each in slices})

    def _places(self, each: Slice, ids: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Return where the rows of a slice are among some entities."""
        members = self.entities.numbering.members(each.lane)[each.start : each.start + each.count]
        return np.searchsorted(ids, members)

    def _empty_folder(self) -> Files:
        """Return the folder that the last checkpoint is not in, empty."""
        used = self.entities.files.folder.name
        path = self.folder.path / next(f"checkpoint.{letter}" for letter in FOLDERS if f"checkpoint.{letter}" != used)
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        return Files(path)
