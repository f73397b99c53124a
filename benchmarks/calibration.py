"""How far probabilities of new answers can be relied on: expected calibration error against test facts, before and after.

    python benchmarks/calibration.py [umls fb15k-237 nell186 functional …] [--picture docs/images/calibration.png]

The model and its probabilities never see test: the graph they get has none. Questions are drawn from all that train and valid answer
(both sides), and from those about entities most of whose like have the relation but that have no known answer. An answer is true
if test holds it. The probabilities speak of as many missing facts as valid holds; where test holds more, facts are taken out of it at
random until it holds as many, and `whole_test` has the figures with all of them. The error is the mean of |mean probability - share of
true answers| over ten bins of equally many answers; `by_chance` is what it would be if every probability were right. "Before" is the
probability of a balanced set: thresholds and isotonic calibration of triples of valid and as many false ones.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from record import load, save

import transa
from transa.data import KnowledgeGraph, KnownFacts
from transa.evaluation import classify
from transa.inference import Question, Trained, answer, discover
from transa.training import Trainer, load_recipe

#: Epochs of the quick trainings; recipe modern, no validation.
EPOCHS = {"umls": 100, "fb15k-237": 20, "nell186": 30, "functional": 60}
QUESTIONS, DISCOVERIES, BINS, DRAWS = 2000, 1000, 10, 50
TITLES = {"umls": "UMLS", "fb15k-237": "FB15k-237", "nell186": "NELL186", "functional": "generated, functional"}


def functional_graph(products: int = 2000, categories: int = 20, makers: int = 100) -> KnowledgeGraph:
    """Each product has exactly one category and one maker; the maker hints at the category, as tags do."""
    random = np.random.default_rng(0)
    usual = random.integers(0, categories, makers)
    rows = []
    for product in range(products):
        maker = int(random.integers(makers))
        category = int(usual[maker]) if random.random() < 0.8 else int(random.integers(categories))
        rows += [(f"p{product}", "category", f"c{category}"), (f"p{product}", "made_by", f"m{maker}")]
        rows += [
            (f"p{product}", "tagged", f"t{(int(tag) + 30 * category) % 200}") for tag in random.choice(30, 3, False)
        ]
    rows = [rows[place] for place in random.permutation(len(rows))]
    borders = (int(0.8 * len(rows)), int(0.9 * len(rows)))
    return KnowledgeGraph.from_triples(rows[: borders[0]], rows[borders[0] : borders[1]], rows[borders[1] :])


def graph_of(name: str) -> KnowledgeGraph:
    if name == "functional":
        return functional_graph()
    return transa.load(Path(os.environ["TRANSA_DATA"], "NELL186") if name == "nell186" else name)


def binned(chances: npt.NDArray[Any], true: npt.NDArray[Any]) -> tuple[float, list[tuple[float, float, int]]]:
    """Return the expected calibration error over bins of equal mass, and the bins."""
    parts = [part for part in np.array_split(np.argsort(chances, kind="stable"), BINS) if len(part)]
    bins = [(float(chances[part].mean()), float(true[part].mean()), len(part)) for part in parts]
    return sum(abs(said - found) * size for said, found, size in bins) / max(len(true), 1), bins


def error(chances: npt.NDArray[Any], true: npt.NDArray[Any]) -> dict[str, Any]:
    """Return how far probabilities are from what is true, and how far they would be by chance if all were right."""
    ece, bins = binned(chances, true)
    random = np.random.default_rng(0)
    by_chance = [binned(chances, random.random(len(chances)) < chances)[0] for _ in range(DRAWS)]
    return {
        "answers": len(true),
        "true": int(true.sum()),
        "mean_probability": float(chances.mean()) if len(true) else None,
        "share_true": float(true.mean()) if len(true) else None,
        "ece": ece,
        "by_chance": float(np.mean(by_chance)),
        "brier": float(((chances - true) ** 2).mean()) if len(true) else None,
        "bins": bins,
    }


def questions_of(trained: Trained, side: str, known: bool) -> list[Question]:
    """Draw questions that the graph answers; or such that it does not, about entities most of whose like have the relation."""
    random, graph, facts = np.random.default_rng(1), trained.graph, trained.facts
    relations, entities = len(graph.relations), len(graph.entities)
    index = facts.tails if side == "tail" else facts.heads
    pairs = (index.queries // relations, index.queries % relations)
    pairs = pairs if side == "tail" else (index.queries % entities, index.queries // entities)
    if not known:
        answered = pairs[0] * relations + pairs[1]
        drawn = np.unique(random.integers(0, entities * relations, 200_000))
        drawn = drawn[~np.isin(drawn, answered)]
        drawn = drawn[trained.seen[0][drawn // relations] & trained.seen[1][drawn % relations]]
        pairs = (drawn // relations, drawn % relations)
        usual = trained.answer_counts.more(side, *pairs, np.zeros(len(drawn), np.int64))  # type: ignore[arg-type]
        pairs = (pairs[0][usual >= 0.5], pairs[1][usual >= 0.5])
    chosen = random.permutation(len(pairs[0]))[:QUESTIONS]
    named = [(graph.entities[e], graph.relations[r]) for e, r in zip(pairs[0][chosen], pairs[1][chosen], strict=True)]
    return [Question(e, r) if side == "tail" else Question(None, r, e) for e, r in named]


def measure(name: str) -> dict[str, Any]:
    whole = graph_of(name)
    graph = replace(whole, test=whole.test[:0], test_labels=None)
    settings = {"epochs": EPOCHS.get(name, 20), "validate_every": 0, "patience": 0}
    recipe = load_recipe("transa", "modern", name if name in ("umls", "fb15k-237") else None, settings)
    begun = time.perf_counter()
    model = Trainer(graph, recipe).fit()
    training = time.perf_counter() - begun
    trained = Trained(model, graph, recipe)
    begun = time.perf_counter()
    trained.confidence  # noqa: B018
    fitting = time.perf_counter() - begun
    balanced = classify(model, graph, "valid", calibration="isotonic")
    positive = whole.positives("test")
    fewer = np.random.default_rng(2).permutation(len(positive))[: len(whole.positives("valid"))]
    hidden, every = KnownFacts(positive[fewer], len(whole.entities), len(whole.relations)), whole.known("test")

    def judged(triples: npt.NDArray[Any], chances: list[float | None], relations: bool = False) -> dict[str, Any]:
        rows = np.array([chance is not None for chance in chances], bool)
        after = np.array([chance for chance in chances if chance is not None], float)
        some = triples[rows]
        true = hidden.contains(some)
        thresholds = np.array([balanced.thresholds.get(int(r), balanced.global_threshold) for r in some[:, 1]])
        before = balanced.calibrator.probability(thresholds - trained.scores(some))  # type: ignore[union-attr]
        found = {"before": error(before, true), "after": error(after, true)}
        found["whole_test"] = {**error(after, every.contains(some)), "bins": None}
        if relations:
            found["relations"] = {
                whole.relations[relation]: {
                    key: {**error(chances[some[:, 1] == relation], true[some[:, 1] == relation]), "bins": None}
                    for key, chances in (("before", before), ("after", after))
                }
                for relation in np.unique(some[:, 1]).tolist()
                if (some[:, 1] == relation).sum() >= 100
            }
        return found

    figures: dict[str, Any] = {
        "graph": repr(whole),
        "training_seconds": round(training, 1),
        "fitting_seconds": round(fitting, 1),
    }
    for label, known in (("answered", True), ("fresh", False)):
        asked = [question for side in ("tail", "head") for question in questions_of(trained, side, known)]
        for top in (1, 10):
            rows, chances = [], []
            for found in answer(trained, asked, top=10, new_only=True) if asked else []:
                for row in found.rows()[:top]:
                    rows.append(trained.triple(row["head"], row["relation"], row["tail"])[0])
                    chances.append(row["probability"])
            triples = np.array(rows, np.int32).reshape(-1, 3)
            figures[f"{label}_top{top}"] = {"questions": len(asked), **judged(triples, chances, top == 10 and known)}
    new = discover(trained, top=DISCOVERIES, each=10).checked
    triples = np.concatenate([trained.triple(each.head, each.relation, each.tail) for each in new])
    figures["discoveries"] = judged(triples, [each.probability for each in new])
    return figures


def picture(figures: dict[str, Any], path: Path) -> None:
    """Draw mean probability against share of true answers, before and after, for each graph."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = [name for name in TITLES if name in figures]
    fig, axes = plt.subplots(2, len(shown), figsize=(3.1 * len(shown), 6.2), sharex=True, sharey=True, squeeze=False)
    for row, (key, title) in enumerate((("answered_top1", "best new answer"), ("discoveries", "discoveries"))):
        for axis, name in zip(axes[row], shown, strict=True):
            axis.plot([0, 1], [0, 1], color="0.8", lw=1)
            for when, colour in (("before", "tab:red"), ("after", "tab:blue")):
                found = figures[name][key][when]
                said, true = [each[0] for each in found["bins"]], [each[1] for each in found["bins"]]
                axis.plot(said, true, "o-", ms=3, lw=1, color=colour, label=f"{when}, ECE {found['ece']:.3f}")
            axis.set_title(f"{TITLES[name]}: {title}", fontsize=8)
            axis.legend(fontsize=7, loc="upper left", frameon=False)
            if row:
                axis.set_xlabel("mean probability", fontsize=8)
        axes[row, 0].set_ylabel("share of true answers", fontsize=8)
    fig.tight_layout()
    fig.savefig(path, dpi=110, metadata={"Software": None})


def main() -> None:
    started = time.time()
    given = sys.argv[1:]
    drawn = Path(given[given.index("--picture") + 1]) if "--picture" in given else None
    names = [name for name in given if name in EPOCHS] or list(EPOCHS)
    kept = {name: found for name, found in load("benchmark_calibration").items() if name in EPOCHS}
    for name in names:
        kept[name] = measure(name)
        for key in ("answered_top1", "answered_top10", "fresh_top1", "fresh_top10", "discoveries"):
            before, after = (kept[name][key][when] for when in ("before", "after"))
            print(
                f"{name} {key}: {after['answers']} answers, true {after['share_true']}; ECE {before['ece']:.3f} -> {after['ece']:.3f}"
                f" (by chance {after['by_chance']:.3f})"
            )
        print(save("benchmark_calibration", started, **kept))
    if drawn is not None:
        picture(kept, drawn)


if __name__ == "__main__":
    main()
