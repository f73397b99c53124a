"""Every model passes the suite, and the special cases in which one is another hold."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import transa
from tests.models.suite import DIM, ENTITIES, RELATIONS, TOY, TRIPLES, ModelSuite, randomised
from tests.training.helpers import settings, train
from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.evaluation import link_prediction
from transa.models import MODELS, Model, Rows, build
from transa.models.ctransr import kmeans
from transa.training import Trainer, load_recipe, recipe_from
from transa.training.optimizers import project_l1
from transa.training.trainer import start_model

pytestmark = pytest.mark.slow  # every model is trained, and every kernel compiled

UMLS = transa.load("umls")


class TestTransA(ModelSuite):
    name = "transa"
    toy = {"loss": "margin", "metric_trace": 0.05, "root": True, "epochs": 200}

    def size(self) -> str:
        return super().size().partition(";")[0]


class TestTransALowRank(ModelSuite):
    name = "transa"
    options = {"metric": "lowrank", "rank": 2, "metric_update": "gradient", "root": True}
    toy = {"metric_learning_rate": 0.01}

    def size(self) -> str:
        return super().size().partition("lowrank ")[2].partition(",")[0]


class TestTransADiagonal(ModelSuite):
    name = "transa"
    options = {"metric": "diagonal", "metric_update": "gradient", "root": True}
    toy = {"metric_learning_rate": 0.01}

    def size(self) -> str:
        return super().size().partition("diagonal or signed ")[2]


class TestTransASigned(TestTransADiagonal):
    options = {"metric": "signed", "metric_update": "gradient"}

    def test_weights_become_negative_and_orders_need_no_root(self) -> None:
        model, _ = train(UMLS, self.recipe(metric_learning_rate=1.0, metric_clip=True), "numba")
        assert float(model.relation.metric.min()) < 0
        with pytest.raises(InputError, match=r"root: .* signed"):
            self.recipe(root=True)
        with pytest.raises(InputError, match="metric_update: a signed metric has no closed form"):
            self.recipe(metric_update="epoch")


class TestTransAWithBiases(TestTransADiagonal):
    options = {"metric": "signed", "biases": True, "metric_update": "gradient"}

    def size(self) -> str:
        return f"{super().size()} + n"


class TestTransASignedLowRank(TestTransALowRank):
    options = {"metric": "signed_lowrank", "rank": 2, "metric_update": "gradient"}

    def test_entries_of_the_matrix_become_negative(self) -> None:
        model, _ = train(UMLS, self.recipe(metric_learning_rate=1.0, metric_clip=True), "numba")
        assert min(model.metric_matrix(relation).min() for relation in range(model.num_relations)) < 0  # type: ignore[union-attr]


class TestAdaptiveMetric(ModelSuite):
    name = "adaptive_metric"
    toy = {"loss": "margin", "metric_trace": 0.05, "epochs": 200}

    def size(self) -> str:
        return super().size().partition(";")[0]


class TestAdaptiveMetricLowRank(ModelSuite):
    name = "adaptive_metric"
    options = {"metric": "lowrank", "rank": 2, "metric_update": "gradient", "root": True}
    toy = {"metric_learning_rate": 0.01}

    def size(self) -> str:
        return super().size().partition("lowrank ")[2]

    def test_every_metric_is_positive_semi_definite(self) -> None:
        model, _ = train(UMLS, self.recipe(metric_learning_rate=1.0), "numba")
        for relation in range(model.num_relations):
            assert np.linalg.eigvalsh(model.metric_matrix(relation)).min() > -1e-12

    def test_the_score_is_that_of_the_matrix(self) -> None:
        model = self.model()
        whole = randomised("adaptive_metric")
        matrices = [torch.from_numpy(model.metric_matrix(relation)) for relation in range(RELATIONS)]
        whole.entity = model.entity
        whole.relation = Rows({"vector": model.relation.vector, "metric": torch.stack(matrices)})
        torch.testing.assert_close(model.score_triples(TRIPLES).square(), whole.score_triples(TRIPLES))


class TestAdaptiveMetricSigned(ModelSuite):
    name = "adaptive_metric"
    options = {"metric": "signed_lowrank", "rank": 2, "metric_update": "gradient", "biases": True}
    toy = {"metric_learning_rate": 0.01}

    def size(self) -> str:
        return super().size().partition("lowrank ")[2] + " + n"

    def test_metrics_become_indefinite_and_need_no_root(self) -> None:
        model, _ = train(UMLS, self.recipe(metric_learning_rate=1.0), "torch")
        assert min(np.linalg.eigvalsh(model.metric_matrix(each)).min() for each in range(model.num_relations)) < 0
        with pytest.raises(InputError, match=r"root: .* signed"):
            self.recipe(root=True)

    def test_the_score_is_that_of_the_matrix_less_biases(self) -> None:
        model = self.model()
        head, relation, tail = TRIPLES.unbind(1)
        e = model.entity.vector[head] + model.relation.vector[relation] - model.entity.vector[tail]
        matrices = torch.stack([torch.from_numpy(model.metric_matrix(each)) for each in relation.tolist()])
        lengths = (e.unsqueeze(1) @ matrices @ e.unsqueeze(2)).flatten()
        torch.testing.assert_close(
            model.score_triples(TRIPLES), lengths - model.entity.bias[head] - model.entity.bias[tail]
        )


class TestTransE(ModelSuite):
    name = "transe"


class TestTransEL2(ModelSuite):
    name = "transe"
    options = {"norm": 2}


class TestTransESquared(ModelSuite):
    name = "transe"
    options = {"norm": 2, "squared": True}

    def test_it_is_a_transa_whose_metrics_are_the_identity(self) -> None:
        model, twin = self.model(), randomised("transa", metric="diagonal")
        twin.entity, twin.relation = model.entity, twin.relation | model.relation
        twin.relation = Rows(twin.relation | {"metric": torch.ones(RELATIONS, 1, DIM, dtype=torch.float64)})
        torch.testing.assert_close(model.score_triples(TRIPLES), twin.score_triples(TRIPLES))
        assert model.title == "TransE, L2 squared"
        with pytest.raises(InputError, match=r"squared: .* expected norm 2, found 1"):
            self.recipe(norm=1)


class TestTransEWithBiases(ModelSuite):
    name = "transe"
    options = {"biases": True}

    def size(self) -> str:
        return f"{super().size()} + n"

    def test_biases_are_taken_from_the_score(self) -> None:
        model = self.model()
        plain = build("transe", ENTITIES, RELATIONS, DIM)
        plain.entity, plain.relation = model.entity, model.relation
        both = model.entity.bias[TRIPLES[:, 0]] + model.entity.bias[TRIPLES[:, 2]]
        torch.testing.assert_close(model.score_triples(TRIPLES), plain.score_triples(TRIPLES) - both)


class TestTransM(ModelSuite):
    name = "transm"


class TestUM(ModelSuite):
    name = "um"

    def test_a_toy_graph_is_learned(self) -> None:
        """Without relations it can tell pairs, behind the entity itself, which is always nearest."""
        pairs = KnowledgeGraph.from_triples([(f"a{i}", "with", f"b{i}") for i in range(6)])
        model = Trainer(
            pairs, recipe_from({"model": "um", "dim": 16, "batch_size": 6, "epochs": 100, "learning_rate": 0.01})
        ).fit()
        assert (link_prediction(model, pairs.train, pairs.known()).ranks() == 2).all()


class TestTransH(ModelSuite):
    name = "transh"
    options = {"norm": 2}

    def test_normals_keep_length_one_and_r_stays_near_the_hyperplane(self) -> None:
        loose, _ = train(UMLS, self.recipe(soft_penalty=0.0), "torch", epochs=5)
        tight, _ = train(UMLS, self.recipe(soft_penalty=10.0), "torch", epochs=5)
        torch.testing.assert_close(tight.relation.normal.norm(dim=1), torch.ones(46, dtype=torch.float64))
        angles = [
            torch.nn.functional.cosine_similarity(m.relation.normal, m.relation.vector).abs() for m in (loose, tight)
        ]
        assert float(angles[1].mean()) < 0.5 * float(angles[0].mean())


class TestTransR(ModelSuite):
    name = "transr"
    options = {"norm": 1}
    toy = {"warm_epochs": 20}

    def test_it_starts_from_a_transe_which_is_reported(self, tmp_path) -> None:
        recipe = self.recipe(warm_epochs=7, warm_learning_rate=0.01, epochs=1, learning_rate=1e-12)
        trainer = Trainer(UMLS, recipe)
        model = trainer.fit()
        changed = {"model": "transe", "warm_epochs": 0, "warm_learning_rate": None, "epochs": 7, "learning_rate": 0.01}
        first = recipe_from({**recipe.model_dump(), **changed})
        vectors = Trainer(UMLS, first).fit()
        torch.testing.assert_close(model.entity.vector, vectors.entity.vector, atol=1e-8, rtol=0)
        torch.testing.assert_close(model.relation.vector, vectors.relation.vector, atol=1e-8, rtol=0)
        assert trainer.summary()["warm_start"]["epochs"] == 7

    def test_projected_entities_are_held_in_the_ball(self) -> None:
        values = {"entity_norm": "ball", "learning_rate": 0.05, "margin": 4.0}
        norms = []
        for penalty in (0.0, 10.0):
            model, _ = train(UMLS, self.recipe(soft_penalty=penalty, **values), "torch", epochs=5)
            ids = torch.from_numpy(UMLS.train.astype(np.int64))
            projected = torch.einsum("nk,nkd->nd", model.entity.vector[ids[:, 0]], model.relation.matrix[ids[:, 1]])
            norms.append(float((projected.norm(dim=1) - 1).clamp(min=0).mean()))
        assert norms[1] < 0.2 * norms[0]


class TestTransRWithAnotherDimension(ModelSuite):
    name = "transr"
    options = {"norm": 2, "relation_dim": 3}
    toy = {"warm_epochs": 20, "relation_dim": 8}


class TestTransRWithClampedProjections(ModelSuite):
    name = "transr"
    options = {"norm": 2, "clamp_projections": True}
    toy = {"warm_epochs": 20}


class TestCTransR(ModelSuite):
    name = "ctransr"
    options = {"norm": 2, "clusters": 3}
    toy = {"warm_epochs": 20}

    def test_clusters_are_found_and_repeated_where_there_are_few(self) -> None:
        points = np.concatenate([np.random.default_rng(i).normal(i * 10, 0.1, (20, 2)) for i in range(3)])
        found = kmeans(points, 3, np.random.default_rng(0))
        assert np.allclose(sorted(found[:, 0]), [0, 10, 20], atol=0.2)
        assert np.array_equal(kmeans(np.ones((5, 2)), 2, np.random.default_rng(0)), np.ones((2, 2)))
        assert np.allclose(kmeans(points * 1e200, 3, np.random.default_rng(0)) / 1e200, found)
        for number in (0.0, np.inf, np.nan):
            same = kmeans(np.full((5, 2), number), 2, np.random.default_rng(0))
            assert np.array_equal(same, np.full((2, 2), number), equal_nan=True)
        model = start_model(TOY, self.recipe())
        distinct = [len(torch.unique(centres, dim=0)) for centres in model.relation.centres]
        assert distinct == [2, 3, 3]  # of 4, 8 and 8 pairs

    def test_centres_are_drawn_to_the_relation(self) -> None:
        apart = []
        for pull in (0.0, 10.0):
            model, _ = train(UMLS, self.recipe(cluster_pull=pull, init_range=0.3), "torch", epochs=5)
            apart.append(float((model.relation.centres - model.relation.vector.unsqueeze(1)).norm(dim=2).mean()))
        assert apart[1] < 0.5 * apart[0]


class TestPTransE(ModelSuite):
    """Its own tests are in tests/training/test_paths.py."""

    name = "ptranse"

    def test_both_engines_agree_where_there_are_two(self) -> None:
        with pytest.raises(InputError, match="engine"):
            train(TOY, self.recipe(), "torch")


class TestPTransEWithANetwork(TestPTransE):
    options = {"composition": "rnn", "norm": 2, "weighted": True}
    toy = {"epochs": 300, "learning_rate": 0.03}

    def size(self) -> str:
        return "n k + 4 m k + 2 k^2"


class TestSE(ModelSuite):
    name = "se"


class TestSLM(ModelSuite):
    name = "slm"
    options = {"hidden": 5}
    toy = {"hidden": 16}


class TestNTN(ModelSuite):
    name = "ntn"
    options = {"hidden": 2}
    toy = {"hidden": 4, "init_range": 0.3}


class TestSMELinear(ModelSuite):
    name = "sme_linear"
    options = {"hidden": 5}
    toy = {"hidden": 16}


class TestSMEBilinear(ModelSuite):
    name = "sme_bilinear"
    options = {"hidden": 5}
    toy = {"hidden": 16}


class TestSMETensor(ModelSuite):
    name = "sme_tensor"
    options = {"hidden": 5}
    toy = {"hidden": 16}


class TestLFM(ModelSuite):
    name = "lfm"
    options = {"factors": 7, "radius": 2.0}
    toy = {"factors": 30, "radius": 20.0}

    def test_weights_are_sparse_and_factors_in_the_ball(self) -> None:
        recipe = self.recipe(factors=100, radius=5.0, loss="softmax", negatives=4, entity_norm="ball")
        model, _ = train(UMLS, recipe, "torch", epochs=5)
        weights = model.relation.weight
        assert float(weights.abs().sum(1).max()) <= 1 + 1e-9
        assert 0.1 < float((weights == 0).double().mean()) < 1
        assert float(model.shared.head.norm(dim=1).max()) <= 1 + 1e-9

    def test_the_projection_is_the_nearest_point_of_the_ball(self) -> None:
        generator = torch.Generator().manual_seed(0)
        rows = torch.randn(50, 4, generator=generator, dtype=torch.float64)
        nearest = project_l1(rows)
        assert float(nearest.abs().sum(1).max()) <= 1 + 1e-12
        inside = torch.randn(2000, 4, generator=generator, dtype=torch.float64)
        inside = inside / inside.abs().sum(1, keepdim=True) * torch.rand(2000, 1, generator=generator)
        assert bool((torch.cdist(rows, inside).min(1).values >= (rows - nearest).norm(dim=1) - 1e-9).all())
        small = torch.tensor([[0.2, -0.3]])
        assert torch.equal(project_l1(small), small)


class TestRESCAL(ModelSuite):
    name = "rescal"


class TestRESCALByLeastSquares(ModelSuite):
    name = "rescal"
    options = {"solver": "als", "penalty": 0.01, "table_penalty": 0.01}
    toy = {"epochs": 30}

    def recipe(self, **values):
        return super().recipe(**{**self.options, **values})

    def test_both_engines_agree_where_there_are_two(self) -> None:
        with pytest.raises(InputError, match="als"):
            train(TOY, self.recipe(), "torch")

    def test_every_sweep_of_w_is_the_exact_minimum_and_the_loss_is_what_it_says(self) -> None:
        model, reports = train(TOY, self.recipe(dim=4), "auto", epochs=3)
        tensor = torch.zeros(len(TOY.relations), len(TOY.entities), len(TOY.entities), dtype=torch.float64)
        heads, relations, tails = TOY.train.T.copy()
        tensor[relations, heads, tails] = 1
        entities, matrices = model.entity.vector, model.relation.matrix.clone().requires_grad_()
        error = (tensor - entities @ matrices @ entities.T).square().sum()
        loss = (error + 0.01 * entities.square().sum() + 0.01 * matrices.square().sum()) / 2
        assert reports[-1].loss == pytest.approx(float(loss.detach()) / len(TOY.train))
        loss.backward()
        assert matrices.grad is not None
        assert float(matrices.grad.abs().max()) < 1e-6

    def test_the_loss_falls(self) -> None:
        _, reports = train(TOY, self.recipe(), "auto", epochs=10)
        losses = [report.loss for report in reports]
        assert losses == sorted(losses, reverse=True)

    def test_a_sparse_graph_does_not_fall_to_zero(self) -> None:
        tree = np.array([[child, 0, child // 3] for child in range(1, 1000)])
        graph = KnowledgeGraph.from_ids(tree, entities=1000, relations=1)
        model, _ = train(graph, self.recipe(penalty=0.1, table_penalty=0.1, dim=8), "auto", epochs=20)
        assert float(model.entity.vector.norm()) > 0.1


# ------------------------------------------------------------------ one model as a special case of another


def with_entities_of(other: Model, name: str, **options: object) -> Model:
    model = randomised(name, seed=1, **options)
    model.entity = other.entity
    return model


def test_transr_with_the_identity_is_transe() -> None:
    transe = randomised("transe", norm=2)
    transr = with_entities_of(transe, "transr", norm=2, root=True)
    transr.relation["vector"] = transe.relation.vector
    transr.relation["matrix"] = torch.eye(DIM, dtype=torch.float64).repeat(RELATIONS, 1, 1)
    torch.testing.assert_close(transr.score_triples(TRIPLES), transe.score_triples(TRIPLES))
    transr.root = False  # type: ignore[attr-defined]
    torch.testing.assert_close(transr.score_triples(TRIPLES), transe.score_triples(TRIPLES) ** 2)


def test_transr_with_a_projection_is_transh_and_transh_without_one_is_transe() -> None:
    transh = randomised("transh")
    normal = torch.nn.functional.normalize(transh.relation.normal, dim=1)
    transh.relation["normal"] = normal
    transr = with_entities_of(transh, "transr")
    transr.relation["vector"] = transh.relation.vector
    transr.relation["matrix"] = torch.eye(DIM, dtype=torch.float64) - normal.unsqueeze(2) * normal.unsqueeze(1)
    torch.testing.assert_close(transh.score_triples(TRIPLES), transr.score_triples(TRIPLES))
    transh.relation["normal"] = torch.zeros_like(normal)
    transe = with_entities_of(transh, "transe", norm=2)
    transe.relation = transh.relation
    torch.testing.assert_close(transh.score_triples(TRIPLES), transe.score_triples(TRIPLES) ** 2)


def test_ctransr_with_equal_centres_is_transr() -> None:
    ctransr = randomised("ctransr", clusters=3, norm=1)
    transr = with_entities_of(ctransr, "transr", norm=1)
    transr.relation = ctransr.relation
    ctransr.relation["centres"] = ctransr.relation.vector.unsqueeze(1).repeat(1, 3, 1)
    torch.testing.assert_close(ctransr.score_triples(TRIPLES), transr.score_triples(TRIPLES))
    ctransr.relation["centres"][:, 1] += 100  # never the nearest
    torch.testing.assert_close(ctransr.score_triples(TRIPLES), transr.score_triples(TRIPLES))


def test_se_with_identities_is_um_without_the_square() -> None:
    se = randomised("se", norm=2)
    um = with_entities_of(se, "um")
    se.relation["head"] = se.relation["tail"] = torch.eye(DIM, dtype=torch.float64).repeat(RELATIONS, 1, 1)
    torch.testing.assert_close(se.score_triples(TRIPLES) ** 2, um.score_triples(TRIPLES), atol=1e-12, rtol=1e-9)


def test_ntn_without_tensor_and_bias_is_slm() -> None:
    ntn = randomised("ntn", hidden=3)
    slm = with_entities_of(ntn, "slm", hidden=3)
    slm.relation = ntn.relation
    ntn.relation["bias"] = torch.zeros_like(ntn.relation.bias)
    assert not torch.allclose(ntn.score_triples(TRIPLES), slm.score_triples(TRIPLES))
    ntn.relation["tensor"] = torch.zeros_like(ntn.relation.tensor)
    torch.testing.assert_close(ntn.score_triples(TRIPLES), slm.score_triples(TRIPLES))


def test_lfm_with_a_factor_for_every_entry_is_rescal() -> None:
    rescal = randomised("rescal")
    lfm = with_entities_of(rescal, "lfm", factors=DIM * DIM)
    unit = torch.eye(DIM, dtype=torch.float64)
    lfm.shared["head"], lfm.shared["tail"] = unit.repeat_interleave(DIM, 0), unit.repeat(DIM, 1)
    lfm.shared["head_shift"], lfm.shared["tail_shift"] = torch.zeros(2, DIM, dtype=unit.dtype)
    lfm.relation["weight"] = rescal.relation.matrix.reshape(RELATIONS, -1)
    torch.testing.assert_close(lfm.score_triples(TRIPLES), rescal.score_triples(TRIPLES))


def test_sme_with_diagonal_tensors_is_sme_with_matrices() -> None:
    matrices = randomised("sme_bilinear")
    tensors = with_entities_of(matrices, "sme_tensor")
    tensors.relation = matrices.relation
    m = matrices.shared
    for tensor, entity, relation in (("t1", m.m1, m.m2), ("t2", m.m3, m.m4)):
        tensors.shared[tensor] = entity.unsqueeze(2) * relation.unsqueeze(1)
    tensors.shared["b1"], tensors.shared["b2"] = m.b1, m.b2
    torch.testing.assert_close(tensors.score_triples(TRIPLES), matrices.score_triples(TRIPLES))


def test_hand_made_scores() -> None:
    """h = (1, 2), t = (3, -1), and r = (1, 1) where there is one."""
    values = {"entity.vector": [[1.0, 2.0], [3.0, -1.0]], "relation.vector": [[1.0, 1.0]]}

    def score(name: str, options: dict[str, object], **tables: object) -> float:
        model = build(name, 2, 1, 2, **options).initialise(0, dtype=torch.float64)
        given = values | {table.replace("__", "."): value for table, value in tables.items()}
        model.load({table: torch.tensor(given[table], dtype=torch.float64) for table in model.shapes()})
        return float(model.score_triples(torch.tensor([[0, 0, 1]]))[0])

    matrix, other = [[1.0, 2.0], [0.0, 1.0]], [[2.0, 0.0], [1.0, 1.0]]
    assert score("transh", {"norm": 1}, relation__normal=[[1.0, 0.0]]) == 1 + 4  # e = (1, 4): what is along w is gone
    assert score("transr", {"norm": 1}, relation__matrix=[matrix]) == 1 + 0  # hM = (1, 4), tM = (3, 5)
    assert score("se", {"norm": 1}, relation__head=[matrix], relation__tail=[other]) == 1 + 0  # (5, 2) and (6, 2)
    assert score("rescal", {}, relation__matrix=[matrix]) == -(1 * (3 - 2) + 2 * -1)
    layer = [np.tanh(5 + 6), np.tanh(2 + 2)]
    network = {"relation__head": [matrix], "relation__tail": [other], "relation__output": [[1.0, -2.0]]}
    assert score("slm", {}, **network) == pytest.approx(-(layer[0] - 2 * layer[1]))
    tensor, bias = {"relation__tensor": [[matrix, other]]}, {"relation__bias": [[0.5, -6.0]]}
    layer = [np.tanh(5 + 6 - 1 + 0.5), np.tanh(2 + 2 + 1 * 6 + 2 * 2 - 6)]
    assert score("ntn", {"hidden": 2}, **network, **tensor, **bias) == pytest.approx(-(layer[0] - 2 * layer[1]))
    sme = {"shared__m1": matrix, "shared__m2": other, "shared__m3": other, "shared__m4": matrix}
    sme |= {"shared__b1": [1.0, 0.0], "shared__b2": [0.0, -1.0]}
    assert score("sme_linear", {}, **sme) == -((5 + 2 + 1) * (6 + 3) + (2 + 2) * (2 + 1 - 1))
    assert score("sme_bilinear", {}, **sme) == -((5 * 2 + 1) * (6 * 3) + (2 * 2) * (2 * 1 - 1))
    factors = {"shared__head": [[1.0, 0.0], [1.0, 1.0]], "shared__tail": [[0.0, 1.0], [1.0, 0.0]]}
    factors |= {"shared__head_shift": [1.0, 0.0], "shared__tail_shift": [0.0, 2.0]}  # (2, 2) and (3, 1)
    assert score("lfm", {"factors": 2, "radius": 2.0}, relation__weight=[[0.5, 0.25]], **factors) == -2 * (
        0.5 * 2 * 1 + 0.25 * 4 * 3
    )


# ------------------------------------------------------------------ all together


def test_every_model_has_a_suite_and_states_what_it_is() -> None:
    assert {suite.name for suite in ModelSuite.__subclasses__()} == {
        name for name, model in MODELS.items() if model.has_vectors
    }
    assert len({model.label for model in MODELS.values()}) == len(MODELS)
    for name, model in MODELS.items():
        assert model.name == name
        assert model.label
        assert model.formula
        assert model.size
        assert model.cost
        assert model.__doc__


def test_every_model_has_an_estimator() -> None:
    for model in MODELS.values():
        estimator = getattr(transa, model.__name__)
        assert estimator.system == model.name
        assert model.formula in estimator.__doc__


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"transa", "adaptive_metric", "um", "transe", "transm", "rules"}))
def test_recipes_are_valid_and_the_default_learns_umls(name: str) -> None:
    for dataset in (None, "wn18", "fb15k", "wn11", "fb13"):
        for recipe in ("paper", "modern"):
            assert load_recipe(name, recipe, dataset).model == name
    model = Trainer(UMLS, load_recipe(name, None, "umls", {"epochs": 6})).fit()
    scores = link_prediction(model, UMLS.valid, UMLS.known("train", "valid")).summary()["both"]
    assert scores["mrr"] > 0.4  # chance is 0.04


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model": "transe", "solver": "als"}, "solver"),
        ({"model": "transe", "warm_epochs": 3}, "warm_epochs"),
        ({"model": "ntn", "hidden": 0}, "hidden"),
    ],
)
def test_wrong_settings_name_the_field(values: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        settings(**values)


def test_shared_tables_keep_their_place_while_a_batch_is_scored() -> None:
    model, _ = train(TOY, settings(model="sme_linear", learning_rate=0.01), "torch")
    assert not any(table.requires_grad for table in model.tensors().values())
    assert model.score_triples(torch.zeros(1, 3, dtype=torch.long)).shape == (1,)
    assert model.num_entities > ENTITIES
