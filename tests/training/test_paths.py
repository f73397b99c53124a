"""PTransE: the paths of a graph, its losses and its ranking are what a few lines without any index or kernel say they are."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest
import torch

import transa
from tests.training.helpers import same_bits, settings, train
from transa.data import KnowledgeGraph
from transa.data.paths import GraphPaths
from transa.errors import InputError
from transa.evaluation import link_prediction
from transa.evaluation.queries import Queries
from transa.evaluation.ranking import Ranker
from transa.models import Model
from transa.training import Trainer
from transa.training.engine import choose_engine
from transa.training.trainer import start_model

pytestmark = pytest.mark.slow  # the kernels are large

NATIONS = transa.load("nations")
Path = tuple[int, ...]


def random_graph(entities: int = 15, relations: int = 3, train: int = 70, valid: int = 12) -> KnowledgeGraph:
    """Triples drawn at random, with loops among them."""
    random = np.random.default_rng(0)
    high = (entities, relations, entities)
    triples = np.unique(random.integers(high, size=(2 * (train + valid), 3)), axis=0)
    triples = random.permutation(triples)[: train + valid]
    keys = [(f"e{head}", f"r{relation}", f"e{tail}") for head, relation, tail in triples.tolist()]
    return KnowledgeGraph.from_triples(keys[:train], valid=keys[train:])


def links(graph: KnowledgeGraph) -> dict[int, dict[int, set[int]]]:
    """The ends of every step from every entity."""
    found: dict[int, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    relations = len(graph.relations)
    for head, relation, tail in graph.train.tolist():
        found[head][relation].add(tail)
        found[tail][relation + relations].add(head)
    return found


def walked(graph: KnowledgeGraph) -> tuple[dict[tuple[int, int], Counter[Path]], dict[tuple[int, int], Counter[Path]]]:
    """The reliability of every path of every pair, and the number of its walks, by allocating the resource step by step."""
    ends = links(graph)
    reliability: dict[tuple[int, int], Counter[Path]] = defaultdict(Counter)
    walks: dict[tuple[int, int], Counter[Path]] = defaultdict(Counter)
    for head in list(ends):
        for first, middles in ends[head].items():
            for middle in middles:
                reliability[head, middle][first,] += 1 / len(middles)
                walks[head, middle][first,] += 1
                for second, tails in ends[middle].items():
                    for tail in tails:
                        reliability[head, tail][first, second] += 1 / len(middles) / len(tails)
                        walks[head, tail][first, second] += 1
    return reliability, walks


class Brute:
    """Reliability and P(r | p) of a graph's paths, for relations and inverses."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.graph, self.relations = graph, len(graph.relations)
        self.reliability, walks = walked(graph)
        totals: Counter[Path] = Counter()
        for each in walks.values():
            totals.update(each)
        counts: Counter[tuple[int, Path]] = Counter()
        for head, relation, tail in np.unique(graph.train, axis=0).tolist():
            for pair, step in (((head, tail), relation), ((tail, head), relation + self.relations)):
                for path, number in walks[pair].items():
                    counts[step, path] += number
        self.relevance = {(step, path): number / totals[path] for (step, path), number in counts.items()}

    def path(self, number: int) -> Path:
        """The steps of a path's number."""
        first, second = divmod(number, 2 * self.relations + 1)
        return (first,) if second == 2 * self.relations else (first, second)

    def paths(self) -> GraphPaths:
        """The same by the package."""
        return GraphPaths.of(self.graph.train, len(self.graph.entities), self.relations)


BRUTE = {"nations": Brute(NATIONS), "random": Brute(random_graph())}
SMALL = BRUTE["random"].graph


@pytest.mark.parametrize("name", BRUTE)
def test_p_of_a_relation_given_a_path_is_its_share_of_all_walks(name: str) -> None:
    brute = BRUTE[name]
    offsets, paths, probability = brute.paths().relevance
    found = {
        (relation, brute.path(int(paths[place]))): probability[place]
        for relation in range(brute.relations)
        for place in range(offsets[relation], offsets[relation + 1])
    }
    wanted = {key: value for key, value in brute.relevance.items() if key[0] < brute.relations}
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize("name", BRUTE)
@pytest.mark.parametrize("own", [True, False])
def test_paths_are_kept_by_their_share_of_the_reliability(name: str, own: bool) -> None:
    limit, brute = 0.01, BRUTE[name]
    paths = brute.paths()
    for side, kept in enumerate(paths.kept(limit, own=own)):
        for row, (head, relation, tail) in enumerate(paths.triples.tolist()):
            pair, step = ((tail, head), relation + brute.relations) if side else ((head, tail), relation)
            every = {path: value for path, value in brute.reliability[pair].items() if own or path != (step,)}
            whole = sum(every.values())
            wanted = {
                path: value / whole * (0.99 * brute.relevance[step, path] + 0.01)
                for path, value in every.items()
                if value / whole > limit
            }
            mine = slice(kept.offsets[row], kept.offsets[row + 1])
            numbers = kept.first[mine].astype(np.int64) * (2 * brute.relations + 1) + kept.second[mine]
            found = dict(zip(map(brute.path, numbers.tolist()), kept.weight[mine].tolist(), strict=True))
            assert found == pytest.approx(wanted, rel=1e-5)


def recipe(**values: Any):
    usual = {"model": "ptranse", "dim": 8, "init_range": 0.5, "path_limit": 0.05, "optimizer": "sgd", "negatives": 2}
    return settings(**{**usual, "precision": "float32", **values})


def steps_of(model: Model) -> torch.Tensor:
    return torch.cat([model.relation.vector, model.relation.inverse_vector])


def length(model: Any, residual: torch.Tensor, step: int) -> torch.Tensor:
    if model.norm == 1:
        return residual.abs().sum()
    weight = torch.cat([model.relation.weight, model.relation.inverse_weight])[step] if model.weighted else 1.0
    return (weight * residual.square()).sum()


def composed(model: Any, path: Path) -> torch.Tensor:
    vectors = steps_of(model)
    if len(path) == 1:
        return vectors[path[0]]
    one, two = vectors[path[0]], vectors[path[1]]
    if model.composition == "rnn":
        return model.shared.matrices[0] @ one + model.shared.matrices[1] @ two
    return one * two if model.composition == "mul" else one + two


KINDS = [
    {"composition": "add"},
    {"composition": "mul", "norm": 2},
    {"composition": "rnn", "path_pooling": "best"},
    {"composition": "rnn", "norm": 2, "weighted": True},
]


@pytest.mark.parametrize("kind", KINDS)
def test_scores_and_ranks_are_those_of_the_formula(kind: dict[str, Any]) -> None:
    """All answers to all questions of valid, the best 5 in the order that their paths give."""
    model: Any = start_model(SMALL, recipe(reranked=5, path_weight=0.7, path_bonus=4.0, **kind))
    for table in model.tensors().values():
        table.mul_(torch.rand(table.shape, generator=torch.Generator().manual_seed(1)))
    brute, m = BRUTE["random"], len(SMALL.relations)
    vectors, steps = model.entity.vector.double(), steps_of(model).double()

    def direct(head: int, relation: int, tail: int) -> float:
        there = length(model, vectors[head] + steps[relation] - vectors[tail], relation)
        return float(there + length(model, vectors[tail] + steps[relation + m] - vectors[head], relation + m))

    def term(head: int, tail: int, step: int) -> float:
        every = {path: value for path, value in brute.reliability[head, tail].items() if path != (step,)}
        bonus = {
            path: brute.relevance.get((step, path), 0.0)
            * (4.0 - float(length(model, composed(model, path) - steps[step], step)))
            for path in every
        }
        if model.path_pooling == "best":
            return max(0.0, *bonus.values()) if bonus else 0.0
        return sum(every[path] * bonus[path] for path in every) / sum(every.values()) if every else 0.0

    def full(head: int, relation: int, tail: int) -> float:
        return direct(head, relation, tail) - 0.7 * (term(head, tail, relation) + term(tail, head, relation + m))

    triples = SMALL.valid
    scores = model.score_triples(torch.from_numpy(triples.astype(np.int64)))
    assert scores.tolist() == pytest.approx([full(*triple) for triple in triples.tolist()], rel=1e-4)
    known = SMALL.known()
    found = link_prediction(model, triples, known)
    filtered, raw = found.ranks(), found.ranks(filtered=False)
    everyone = range(len(SMALL.entities))
    for row, (head, relation, tail) in enumerate(triples.tolist()):
        for column, target in enumerate((head, tail)):
            made = [(each, relation, tail) if column == 0 else (head, relation, each) for each in everyone]
            first = np.argsort([direct(*one) for one in made], kind="stable")
            order = sorted(first[:5].tolist(), key=lambda each: full(*made[each])) + first[5:].tolist()
            facts = known.contains(np.array(made, np.int32))
            assert raw[row, column] == 1 + order.index(target)
            assert filtered[row, column] == 1 + sum(not facts[each] for each in order[: order.index(target)])
    queries = Queries.of(triples, known, "tail")
    answers, given = Ranker(model).best(queries, 8)
    assert (np.diff(given[:, :5], axis=1) >= 0).all()
    for place, (entity, relation) in enumerate(zip(queries.fixed.tolist(), queries.relations.tolist(), strict=True)):
        wanted = [full(entity, relation, each) for each in answers[place, :5].tolist()]
        assert given[place, :5].tolist() == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["margin", "self_adversarial"])
def test_a_step_follows_the_gradient_of_both_losses(kind: dict[str, Any], loss: str) -> None:
    """One triple is enough. Its negatives and its other relation are found where the step left traces: by trying what there is."""
    graph = KnowledgeGraph.from_triples(
        [("a", "r", "b"), ("a", "s", "b"), ("b", "s", "c"), ("a", "u", "c"), ("c", "u", "d")]
    )
    rate = 0.01
    plan = recipe(
        learning_rate=rate,
        table_learning_rate=rate,
        loss=loss,
        margin=3.0,
        path_margin=5.0,
        relation_negatives=1.0,
        negatives=1,
        **kind,
    )
    model: Any = start_model(graph, plan)
    engine: Any = choose_engine(model, graph, plan)
    before = {name: table.clone() for name, table in model.tensors().items()}
    engine.examples = engine.examples._replace(order=np.zeros(1, np.int64))  # the first triple alone, from head to tail
    engine.train_epoch(1)
    moved = {name: (before[name] - table) / rate for name, table in model.tensors().items()}
    for name, table in before.items():
        getattr(model, name.split(".")[0])[name.split(".")[1]] = table.clone().requires_grad_()
    head, relation, tail = engine.examples.triples[0].tolist()
    kept = range(int(engine.examples.offsets[0]), int(engine.examples.offsets[1]))
    assert len(kept) > 0
    relations, matches = len(graph.relations), []
    linked = {step for step, ends in links(graph)[head].items() if tail in ends}
    for wrong in set(range(2 * relations)) - linked:
        for other in set(range(2 * relations)) - linked:
            vectors, steps = model.entity.vector, steps_of(model)
            there, away = (
                length(model, vectors[head] + steps[step] - vectors[tail], step) for step in (relation, wrong)
            )
            total = (3 + there - away).clamp(min=0)
            if loss == "self_adversarial":
                total = torch.nn.functional.softplus(there - 3) + torch.nn.functional.softplus(3 - away)
            for place in kept:
                one, two = int(engine.examples.first[place]), int(engine.examples.second[place])
                p = composed(model, (one,) if two == 2 * relations else (one, two))
                gap = 5 + length(model, p - steps[relation], relation) - length(model, p - steps[other], other)
                total = total + float(engine.examples.weight[place]) * gap.clamp(min=0)
            leaves = dict(model.tensors())
            gradients = torch.autograd.grad(total, list(leaves.values()), allow_unused=True, materialize_grads=True)
            if all(torch.allclose(g, moved[name], atol=1e-3) for name, g in zip(leaves, gradients, strict=True)):
                matches.append((wrong, other))
    assert len(matches) == 1


def test_drawn_paths_have_the_loss_of_all_in_the_mean() -> None:
    model = start_model(NATIONS, recipe())
    losses = {}
    for samples in (0, 1):
        plan = recipe(path_samples=samples, learning_rate=1e-9, margin=-100.0)  # only paths have a loss
        engine = choose_engine(model, NATIONS, plan)
        losses[samples] = np.mean([engine.train_epoch(number).loss for number in range(1, 11)])
    assert losses[1] == pytest.approx(losses[0], rel=0.02)


@pytest.mark.parametrize("composition", ["add", "mul", "rnn"])
def test_training_repeats_itself_and_learns(composition: str) -> None:
    plan = recipe(composition=composition, learning_rate=0.01, path_samples=2, batch_size=100)
    (one, reports), (two, _) = (train(NATIONS, plan, "auto", epochs=4) for _ in range(2))
    assert same_bits(one.tensors(), two.tensors())
    assert reports[-1].loss < 0.8 * reports[0].loss
    other, _ = train(NATIONS, recipe(composition=composition, learning_rate=0.01, seed=1), "auto", epochs=1)
    assert not same_bits(one.tensors(), other.tensors())


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match=r"engine: ptranse has a compiled engine of its own"):
        train(NATIONS, recipe(), "torch")
    with pytest.raises(InputError, match=r"weighted: .* expected norm 2, found 1"):
        recipe(weighted=True)
    model: Any = start_model(NATIONS, recipe())
    model.paths = None
    with pytest.raises(InputError, match="no graph whose paths"):
        link_prediction(model, NATIONS.valid, NATIONS.known())


def test_paths_help_and_a_run_answers_every_question(tmp_path) -> None:
    """Who lives where follows from where the firm is: no translation of these vectors knows it, and the paths do."""
    people = [(f"p{i}", "works for", f"firm{i % 9}") for i in range(60)]
    towns = [(f"firm{i}", "in", f"town{i}") for i in range(9)]
    homes = [(f"p{i}", "lives in", f"town{i % 9}") for i in range(60)]
    graph = KnowledgeGraph.from_triples(people + towns + homes[:40], valid=homes[40:50], test=homes[50:])
    plan = recipe(epochs=2, learning_rate=1e-6, path_weight=10.0, init_range=0.1)
    model: Any = Trainer(graph, plan).fit()
    test = graph.test
    ranks = link_prediction(model, test, graph.known()).ranks()[:, 1]
    assert (ranks == 1).all()
    model.reranked = 0
    assert link_prediction(model, test, graph.known()).ranks()[:, 1].mean() > 2
