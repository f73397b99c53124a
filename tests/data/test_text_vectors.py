"""Vectors of texts: words of all languages, TF-IDF as scikit-learn has it, and arrays that somebody brings."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from transa.data.text_vectors import SentenceEncoder, TfIdf, entity_texts, features_of, read_vectors, words_of
from transa.data.vocabulary import Vocabulary
from transa.errors import InputError

TEXTS = [
    "a river in the north of England",
    "a river in France, and a long river",
    "the capital of France",
    "the capital of England; a long history",
    "an author of the north",
    "a long history of England",
]


def test_words_of_any_script():
    assert words_of("The\x00 CAT_sat\x07 on 3 mats—Straße!") == ["the", "cat", "sat", "on", "3", "mats", "strasse"]
    assert words_of("Привет, мир") == ["привет", "мир"]
    assert words_of("北京市 is 北京") == ["北京", "京市", "is", "北京"]
    assert words_of("ราชา") == ["รา", "าช", "ชา"]
    assert words_of(" \t\x1f…") == []


def test_longer_words_have_stems():
    assert features_of("a cat breathing") == ["a", "cat", "breathing", "breat…"]


def test_texts_are_names_and_descriptions():
    entities = Vocabulary(["k1", "k2", "k3"], ["Ada", None, None], ["a writer", "a thing", None])
    assert entity_texts(entities) == ["Ada. a writer", "a thing", "k3"]  # where others have names, a key is a code
    assert entity_texts(Vocabulary(["ada", "k2"], None, ["a writer", None])) == ["ada. a writer", "k2"]


def test_as_scikit_learn_has_it():
    from sklearn.feature_extraction.text import TfidfVectorizer

    reference = TfidfVectorizer(sublinear_tf=True, min_df=2, tokenizer=features_of, token_pattern=None)
    reference.fit(TEXTS)
    mine = TfIdf.learn(TEXTS)
    assert list(mine.words) == list(reference.get_feature_names_out())
    new = ["a river of England", "nothing known"]
    np.testing.assert_allclose(
        mine.weights(TEXTS + new).toarray(), reference.transform(TEXTS + new).toarray(), atol=1e-6
    )
    assert not mine.weights(new).toarray()[-1].any()


def test_few_words_and_none():
    assert TfIdf.learn(["one two", "two one"]).words == ("one", "two")
    with pytest.raises(InputError, match="no word stands in 2 texts"):
        TfIdf.learn(["one", "two", ""])


def test_arrays_are_checked(tmp_path):
    path = tmp_path / "vectors.npy"
    np.save(path, np.eye(3))
    np.testing.assert_array_equal(read_vectors(path, 3), np.eye(3))
    for content, message in (
        (np.eye(3)[:2], "expected 3 rows"),
        (np.ones(3), "a row for each entity"),
        (np.array([["a"], ["b"], ["c"]]), "numbers"),
        (np.where(np.eye(3), np.nan, 0), "not finite.*"),
        (np.array([[object()]] * 3), "no array that could be read"),
    ):
        np.save(path, content, allow_pickle=True)
        with pytest.raises(InputError, match=message):
            read_vectors(path, 3)
    path.write_bytes(b"\x93NUMPY\x01\x00nonsense")
    with pytest.raises(InputError, match="no array"):
        read_vectors(path, 3)
    with pytest.raises(InputError, match="no array"):
        read_vectors(tmp_path / "missing.npy", 3)


def test_an_encoder_is_a_folder_and_never_fetched(tmp_path, monkeypatch):
    asked = {}

    class Encoder:
        def __init__(self, folder, **options):
            asked.update(options, folder=folder, offline=os.environ.get("HF_HUB_OFFLINE"))
            if (tmp_path / "broken").exists():
                raise OSError("no weights")

        def encode(self, texts, **options):
            assert options["normalize_embeddings"]
            return np.array([[len(text), 1.0] for text in texts])

    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=Encoder))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with pytest.raises(InputError, match=r"modules\.json"):
        SentenceEncoder("sentence-transformers/all-MiniLM-L6-v2")
    assert not asked
    (tmp_path / "modules.json").write_text("[]")
    assert SentenceEncoder(tmp_path).encode(["a", "abc"]).tolist() == [[1, 1], [3, 1]]
    assert asked == {"folder": str(tmp_path), "device": "cpu", "local_files_only": True, "offline": "1"}
    (tmp_path / "broken").touch()
    with pytest.raises(InputError, match="no weights"):
        SentenceEncoder(tmp_path)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(InputError, match=r"transa\[text\]"):
        SentenceEncoder(tmp_path)
