"""Texts as files from strangers hold them: control characters, nothing at all, a megabyte, fifty languages."""

from __future__ import annotations

import pytest

import transa
from transa.data.text_files import MAX_LINE
from transa.data.text_vectors import words_of
from transa.errors import InputError
from transa.inference import NewTexts, Trained, explain, extend
from transa.training import Trainer, load_recipe

#: What water is called, in fifty languages.
WORDS = (
    "water Wasser eau agua acqua água apa woda voda вода вада vatten vand vatn vesi vesi víz ujë νερό su su сув су ջուր წყალი "
    "מים ماء آب پانی पानी জল ਪਾਣੀ પાણી ଜଳ தண்ணீர் నీరు ನೀರು വെള്ളം ජලය น้ำ ນ້ຳ ရေ ទឹក 水 물 みず nước air tubig maji wai ura"
)
WATER = sorted(set(WORDS.split()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A graph of springs and rivers, of which each has another kind of text."""
    path = tmp_path_factory.mktemp("texts") / "graph"
    path.mkdir()
    texts = [f"{word} a spring" for word in WATER]
    texts += ["", " \t ", "\x01\x02\x1b[31m red \x7f", "a\u200fb\u202e spring", "spring " * 142_857, "💧" * 50]
    keys = [f"s{i:02}" for i in range(len(texts))]
    (path / "train.tsv").write_text("".join(f"{key}\tflows_into\tr{i % 3}\n" for i, key in enumerate(keys)))
    lines = [f"{key}\t{text}\n" for key, text in zip(keys, texts, strict=True)]
    (path / "entity_descriptions.tsv").write_text("".join(lines), encoding="utf-8")
    return path


def test_they_are_read_trained_on_and_placed(folder) -> None:
    graph = transa.load(folder)
    assert len(WATER) >= 50 and all(words_of(word) for word in WATER)
    settings = {"dim": 4, "epochs": 2, "entity_texts": True, "entity_norm": "unit", "dropout": 0.0, "skip_gram": 1.0}
    recipe = load_recipe("transa", "softmax", None, settings)
    one = Trained(Trainer(graph, recipe).fit(), graph, recipe)
    new = {"n1": "\x00\x01 spring", "n2": "水 a spring", "n3": "spring " * 142_857, "n4": "💧"}
    grown = extend(one, texts=NewTexts(new)).trained
    assert bool(grown.model.entity.vector.isfinite().all())
    shown = repr(explain(grown, "n1", "flows_into", "r0")) + repr(explain(grown, "s52", "flows_into", "r0"))
    assert not set(shown) & {"\x00", "\x01", "\x1b", "\x7f"}


def test_what_cannot_be_read_is_named(tmp_path) -> None:
    for name, content, said in (
        ("long.tsv", b"ok\ttext\nbig\t" + b"x" * MAX_LINE, "long.tsv, line 2: a line of more than"),
        ("nul.tsv", b"ok\tte\0xt\n", "nul.tsv, line 1: a NUL byte in column 6"),
        ("latin.tsv", b"ok\tcaf\xe9\n", "latin.tsv, line 1: invalid UTF-8"),
        ("none.tsv", b"", "texts: there is none"),
        ("empty.tsv", b"a\t \n", "that of 'a' is empty"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError) as error:
            NewTexts.read(tmp_path / name)
        assert said in str(error.value)
