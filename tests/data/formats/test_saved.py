from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from transa.data import KnowledgeGraph, Vocabulary, load
from transa.errors import InputError


@pytest.fixture
def saved(tmp_path):
    entities = Vocabulary(["z", "y"], ["Zoe", None])
    return KnowledgeGraph.from_ids([[0, 0, 1]], [[1, 0, 0]], entities=entities, valid_labels=[-1]).save(
        tmp_path / "saved"
    )


def test_the_folder_above_is_no_column(saved, tmp_path):
    (tmp_path / "label=1").mkdir()
    moved = saved.rename(tmp_path / "label=1" / "key=x")
    graph = load(moved)
    assert list(graph.entities) == ["z", "y"]
    assert graph.test_labels is None


def test_a_saved_folder_without_train_is_refused(saved):
    (saved / "train.parquet").unlink()
    with pytest.raises(InputError, match="saved: not a readable graph folder"):
        load(saved)


@pytest.mark.parametrize(
    ("name", "columns", "message"),
    [
        ("train", {"head": [0], "relation": [0], "tail": [2]}, "the tail id 2 is out of range"),
        ("train", {"head": [0], "relation": [0]}, "tail"),
        ("train", {"head": [0], "relation": [None], "tail": [0]}, "expected whole numbers"),
        ("train", {"head": ["a"], "relation": ["b"], "tail": ["c"]}, "expected whole numbers"),
        ("valid", {"head": [0], "relation": [0], "tail": [0], "label": [3]}, "expected a label of 1 or -1"),
        ("entities", {"key": ["z", "z"]}, "the key 'z' occurs twice"),
        ("entities", {"key": ["z", None]}, "a key is missing"),
        ("entities", {"name": ["z", "y"]}, "key"),
    ],
)
def test_a_damaged_folder_is_refused(saved, name, columns, message):
    pq.write_table(pa.table(columns), saved / f"{name}.parquet")
    with pytest.raises(InputError, match=f"saved: not a readable graph folder .*{message}"):
        load(saved)


@pytest.mark.parametrize("name", ["train", "valid", "entities"])
def test_a_file_that_is_cut_short_is_refused(saved, name):
    path = saved / f"{name}.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="saved: not a readable graph folder"):
        load(saved)
