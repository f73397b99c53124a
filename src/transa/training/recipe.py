"""A recipe holds all settings of a training run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from transa.choices import DecidedBy
from transa.errors import InputError, quote, suggest
from transa.format1 import SETTINGS
from transa.models import MODELS, Model, build
from transa.training.recipe_checks import check_together

Count = Annotated[int, Field(ge=1, lt=2**31)]
Whole = Annotated[int, Field(ge=0, lt=2**63)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]

#: Negatives that stand in for all entities where triples are placed one by one.
DRAWN = 64


class Recipe(BaseModel):
    """All settings of a training run, with defaults that suit TransA on a small graph.

    `transa train … --set field=value` sets them by name. An unknown field or a value out of range raises an error that names it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=False)

    # ------------------------------------------------------------------ the model
    model: str = Field("transa", description="The model; `transa models` lists them.")
    dim: Count = Field(50, description="Dimension k of the vectors.")
    norm: Literal[1, 2] = Field(1, description="L1 or L2 (transe, transm, transh, transr, ctransr, ptranse, se).")
    squared: bool = Field(False, description="Score with the square of the L2 norm (transe, transm).")
    metric: Literal["full", "lowrank", "diagonal", "signed", "signed_lowrank"] = Field(
        "full",
        description="How W_r is held (transa; adaptive_metric: full or of low rank). A signed one is diagonal and may be negative.",
    )
    rank: Count = Field(1, description="Number of vectors u_m of a low-rank metric.")
    root: bool = Field(
        False,
        description="Score with the square root of f_r: N_r (transa, adaptive_metric), or L2 (transh, transr, ctransr).",
    )
    biases: bool = Field(
        False, description="Subtract learned biases of head and tail from the score (transe, transa, adaptive_metric)."
    )
    directional: bool = Field(
        False,
        description="Give relations vectors, metrics and other parameters of their own for questions about heads; "
        "negatives then replace the tail, whatever `sampling` says.",
    )
    relation_dim: Count | None = Field(
        None, description="Dimension d of a relation's space; by default dim (transr, ctransr)."
    )
    clamp_projections: bool = Field(
        False, description="Shorten projected entities to a norm of at most 1 in the score, as PyKEEN does (transr)."
    )
    hidden: Count | None = Field(
        None, description="Size s of a hidden layer; by default dim (slm, sme_*) or 4, the slices of the tensor (ntn)."
    )
    factors: Count = Field(100, description="Number of rank-one matrices that relations share (lfm).")
    radius: Positive = Field(1.0, description="lambda: bound on the L1 norm of a relation's weights (lfm).")
    clusters: Count = Field(
        4, description="Number of vectors of a relation, one for each cluster of its pairs (ctransr)."
    )
    cluster_pull: NotNegative = Field(
        0.001, description="alpha: how strongly these are pulled towards the relation's own vector."
    )
    weighted: bool = Field(
        False, description="Weigh squared residuals with a diagonal metric of the relation (ptranse)."
    )
    composition: Literal["add", "mul", "rnn"] = Field(
        "add", description="How a path of relations becomes a vector (ptranse)."
    )
    reranked: Whole = Field(
        500, description="How many of the best entities are ranked again with their paths (ptranse)."
    )
    path_weight: NotNegative = Field(1.0, description="What the paths are multiplied with in the score (ptranse).")
    path_bonus: NotNegative = Field(
        10.0, description="What a path adds if its vector is that of the relation; its distance from it is taken away."
    )
    path_relevance: bool = Field(True, description="Whether the score multiplies a path with P(r | p) (ptranse).")
    path_pooling: Literal["mean", "best"] = Field(
        "mean", description="Whether the score takes the mean of all paths by reliability, or the best one (ptranse)."
    )
    inverse_paths: bool = Field(True, description="Whether paths from tail to head count for the inverse (ptranse).")
    own_paths: bool = Field(False, description="Whether a triple counts as a path of itself (ptranse).")
    entity_texts: bool = Field(
        False,
        description="Place entities by the words of their names and descriptions: words have vectors of their own, which are trained "
        "with the relations, and an entity is the sum of its words, weighted by rarity and scaled to length 1 (negatives 'all').",
    )
    text_encoder: str | None = Field(
        None,
        description="The folder of a sentence encoder, whose vectors of texts count beside their words (entity_texts).",
    )
    own_vectors: bool = Field(
        False,
        description="Whether entities have vectors of their own beside their texts. In training, half of the entities of a batch do "
        "without, so that texts can stand alone (entity_texts).",
    )
    skip_gram: NotNegative = Field(
        0.0,
        description="Weight of a skip-gram: words that stand together in texts come together; 0: none (entity_texts).",
    )
    text_corpus: str | None = Field(
        None,
        description="A file with a further text on each line, for words and the skip-gram (entity_texts, skip_gram).",
    )
    init_range: Positive | None = Field(
        None, description="Vectors start uniform in [-init_range, init_range]; by default 6 / sqrt(dim)."
    )
    precision: Literal["float32", "float64"] = Field("float32", description="Type of the parameters.")
    loop_limit: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0,
        description="The loop prior: an entity is no answer to itself in relations where fewer than this share of the training "
        "triples lead from an entity to itself; 0: no prior.",
    )

    # ------------------------------------------------------------------ the objective
    training_score: Literal["own", "l1"] = Field(
        "own",
        description="Train the vectors with the model's own score, or with TransE's L1 as the authors of TransA did.",
    )
    loss: Literal["margin", "logistic", "self_adversarial", "softmax"] = Field(
        "margin", description="Loss of a positive and its negatives; see transa.kernels.losses for the formulas."
    )
    margin: float = Field(1.0, description="gamma, the margin of the loss.")
    temperature: Positive = Field(1.0, description="Temperature of self-adversarial weights and of the softmax.")
    negligible: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.0,
        description="Leave out of a step the negatives whose derivative is below this fraction of the largest one for the same "
        "positive. Hard negatives decide, and a tenth of the work remains. No effect on the margin loss, where all are alike.",
    )
    negatives: Count | Literal["all"] = Field(
        1,
        description="Negatives of each positive. 'all', with the softmax: each question is asked once, with all its right answers, "
        "and all entities are candidates.",
    )
    sampled_entities: Count | None = Field(
        None,
        description="With negatives 'all', draw so many entities for each batch instead; its own entities come on top.",
    )
    neighbour_candidates: Whole = Field(
        0,
        description="With sampled_entities, so many training neighbours of each right answer are candidates as well: near the answer, "
        "they are the likeliest wrong ones.",
    )
    answers_at_once: Count | None = Field(
        None,
        description="With negatives 'all', ask a question with more right answers several times an epoch, with so many of them.",
    )
    hide_answers: bool = Field(
        False,
        description="Whether its other right answers are then no candidates, so that answers do not compete with each other.",
    )
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.0, description="Share of an answer's probability that is spread over all entities (negatives 'all')."
    )
    dropout: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.0, description="Share of the entries of h + r that is set to 0 in a step (negatives 'all')."
    )
    entity_dropout: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.0,
        description="The same for the vector of the given entity alone, h or t, so that the relation's stays whole (negatives 'all').",
    )
    cubic_penalty: NotNegative = Field(
        0.0, description="Weight of the cubed absolute entries of the vectors of each positive (negatives 'all')."
    )
    sampling: Literal["bern", "uniform", "tail"] = Field(
        "bern", description="How to choose the side that is replaced in a negative; 'tail': never the head."
    )
    candidates: Literal["all", "typed"] = Field(
        "all", description="Entities that may replace it: all, or those seen on that side of the relation."
    )
    relation_negatives: Annotated[float, Field(ge=0, le=1)] = Field(
        0.5, description="Share of the negatives that replace the relation (ptranse)."
    )
    path_margin: float = Field(2.0, description="Margin of the loss of paths (ptranse).")
    path_limit: Annotated[float, Field(ge=0.001, lt=1)] = Field(
        0.01,
        description="The least reliability of a path that is trained, as a share of all paths of the pair (ptranse).",
    )
    path_samples: Whole = Field(
        0, description="Paths drawn for each triple in an epoch, by reliability and P(r | p); 0: all count (ptranse)."
    )
    shared_negatives: bool = Field(
        False,
        description="Draw the same negatives for all positives of a batch, on both sides (or for tails alone); "
        "matrix products can score hundreds.",
    )
    lanes: Count = Field(
        8,
        description="Parts that each batch is cut into for training by several workers; the number of workers divides it. "
        "Any number of workers gives the same result.",
    )
    lane_negatives: bool = Field(
        False,
        description="Draw the negatives of each lane of a batch from the entities that its worker holds, "
        "the same for groups of half as many positives as each has negatives.",
    )
    penalty: NotNegative = Field(0.0, description="C: weight of the squared norms of entity and relation vectors.")
    penalty_rows: Literal["touched", "all"] = Field(
        "touched",
        description="Apply C to the rows a batch touches, with its step; or to all rows, in one step after each epoch.",
    )
    table_penalty: NotNegative = Field(
        0.0, description="The same for other tables: matrices, tensors, weights, tables that relations share."
    )
    soft_penalty: NotNegative = Field(
        1.0, description="Weight of the model's soft constraints (transh, transr, ctransr)."
    )
    metric_penalty: NotNegative = Field(
        0.0,
        description="lambda: weight of |W_r|_F^2. It gives the scale 1/(2 lambda) of the closed form and decays learned metrics.",
    )
    smoothness: Literal["none", "laplacian", "lle"] = Field(
        "none",
        description="SSE: pull entities of a type towards its mean, or towards the mean of some others of the type "
        "(locally linear embedding); without types, entities on the same side of a relation.",
    )
    smoothness_weight: NotNegative = Field(0.1, description="Weight of this term.")
    smoothness_neighbours: Count = Field(5, description="How many others locally linear embedding takes.")
    entity_norm: Literal["free", "ball", "unit"] = Field(
        "free", description="Norm of entity vectors after each step: any, at most one, exactly one."
    )
    relation_norm: Literal["free", "ball", "unit"] = Field("free", description="The same for relation vectors.")

    # ------------------------------------------------------------------ the optimiser
    optimizer: Literal["sgd", "adagrad_row", "adagrad", "adam"] = Field(
        "sgd",
        description="Adagrad keeps one sum of squares per row or per entry; Adam moves only the rows that a batch touches.",
    )
    learning_rate: Positive = Field(0.01, description="alpha, the learning rate.")
    table_learning_rate: Positive | None = Field(
        None, description="Learning rate of tables other than vectors and metrics; by default that of vectors."
    )
    metric_learning_rate: Positive = Field(0.01, description="Learning rate of a metric learned by gradient.")
    schedule: Literal["constant", "linear", "cosine"] = Field(
        "constant", description="Keep the learning rates, or lower them towards 0 from the first epoch to the last."
    )
    batch_size: Count = Field(1024, description="Positives per step.")
    epochs: Count = Field(100, description="Passes over the training triples.")
    warm_epochs: Whole = Field(
        0,
        description="First train a TransE by the same recipe for so many epochs and start from its vectors (transr, ctransr).",
    )
    warm_learning_rate: Positive | None = Field(
        None, description="Learning rate of this TransE; by default learning_rate."
    )
    solver: Literal["gradient", "als", "mining"] = Field(
        "gradient",
        description="Train by gradient, by alternating least squares (rescal), or by mining rules (rules).",
    )

    # ------------------------------------------------------------------ types
    type_penalty: bool = Field(
        False,
        description="After training, learn on valid by how much answers score worse whose types do not fit the relation.",
    )

    # ------------------------------------------------------------------ rules
    with_rules: bool = Field(
        False,
        description="After training, mine rules and learn on valid how they and the model are put together.",
    )
    rule_length: Annotated[int, Field(ge=0, le=5)] = Field(
        0,
        description="Most atoms in the body of a rule, 1 to 5; 0: two, and more where the graph has few walks (rules, with_rules).",
    )
    rule_constants: bool = Field(True, description="Whether to mine rules with a constant as well (rules, with_rules).")
    rule_support: Count = Field(2, description="In how many cases a rule must hold (rules, with_rules).")
    rule_discount: NotNegative = Field(
        5.0,
        description="What is added to the size of a rule's body: rules seen a few times count less (rules, with_rules).",
    )
    rule_minutes: Positive | None = Field(
        None,
        description="Minutes after which mining begins nothing new; by default, all is counted (rules, with_rules).",
    )
    aggregation: Literal["auto", "maximum", "noisy_or"] = Field(
        "auto",
        description="How the confidences of several rules are put together: the strongest decides, or a noisy-or of the strongest; "
        "'auto': what ranks validation triples best (rules, with_rules).",
    )
    strongest_rules: Whole = Field(
        0, description="How many rules a noisy-or is of; 0: all that speak for a triple (rules, with_rules)."
    )

    # ------------------------------------------------------------------ the metric
    metric_update: Literal["epoch", "end", "gradient", "none"] = Field(
        "epoch",
        description="Compute W_r in closed form every `metric_every` epochs or once at the end, learn it by gradient, or fix it.",
    )
    metric_every: Count = Field(1, description="Epochs between two updates of W_r.")
    metric_negatives: Count = Field(1, description="Fresh corruptions of each triple for the closed form.")
    metric_pairs: Literal["all", "violating"] = Field("all", description="Which pairs the closed form sums over.")
    metric_scale: Literal["sum", "lambda", "trace", "columns"] = Field(
        "trace",
        description="The sum as the paper prints it; times 1/(2 lambda), the objective's stationary point; scaled to a mean "
        "diagonal entry of metric_trace; or as in the authors' program, the identity added and every column scaled to norm 1.",
    )
    metric_trace: Positive = Field(
        1.0,
        description="Mean diagonal entry of W_r with metric_scale 'trace', also at the start: its scale relative to gamma.",
    )
    metric_clip: bool = Field(
        True, description="Set negative entries of W_r to 0 (transa) or project on the PSD cone (adaptive_metric)."
    )
    shrinkage: NotNegative = Field(
        0.0, description="kappa: W_r becomes (n_r W_r + kappa prior) / (n_r + kappa) for a relation with n_r triples."
    )
    shrink_to: Literal["prior", "types"] = Field(
        "prior",
        description="Shrink W_r to the prior, or to the mean W of the relations with the same types of heads and tails, "
        "weighted by their triples; a relation without such others has the prior.",
    )
    prior: Literal["identity", "ones"] = Field(
        "identity", description="What W_r shrinks to and starts from: squared L2, or squared L1 at the same trace."
    )

    # ------------------------------------------------------------------ validation
    validate_every: Whole = Field(0, description="Epochs between two validations; 0: never.")
    validate_on: Literal["auto", "mrr", "accuracy"] = Field(
        "auto",
        description="Filtered MRR of both sides, or accuracy of triple classification; auto: accuracy where valid has labels.",
    )
    decided_by: DecidedBy = Field(
        "score",
        description="What tells a true triple from a false one in validation and classification: the score, or the score beside other "
        "answers to its two questions.",
    )
    validate_sample: Count = Field(1000, description="How many validation triples are ranked; they are drawn once.")
    patience: Whole = Field(
        0, description="Stop after so many validations without a better score; 0: no early stopping."
    )

    seed: Whole = Field(0, description="Seed of everything random.")

    @model_validator(mode="after")
    def _consistent(self) -> Recipe:
        check_together(self)
        return self

    @property
    def drawn_negatives(self) -> int:
        """Negatives drawn for each positive, where that is done."""
        return DRAWN if self.negatives == "all" else self.negatives

    @property
    def has_metric(self) -> bool:
        """Whether the model has a W_r."""
        return MODELS[self.model].metric_rules is not None

    @property
    def learns_metric(self) -> bool:
        """Whether W_r is learned by gradient."""
        return self.has_metric and self.metric_update == "gradient"

    @property
    def replaced(self) -> Literal["bern", "uniform", "tail"]:
        """Which side negatives replace: as `sampling` says, or the tail if the model is directional."""
        return "tail" if self.directional else self.sampling

    def build_model(self, num_entities: int, num_relations: int) -> Model:
        """Return the model with its options, without tables yet, for a graph of so many entities and relations."""
        options = {name: getattr(self, name) for name in MODELS[self.model].options}
        rows = 2 * num_relations if self.directional else num_relations
        model = build(self.model, num_entities, rows, self.dim, **options)
        model.directional = self.directional
        return model

    def learning_rate_factor(self, epoch: int) -> float:
        """Return the factor on all learning rates in an epoch (from 1)."""
        from math import cos, pi

        done = (epoch - 1) / self.epochs
        return {"constant": 1.0, "linear": 1 - done, "cosine": (1 + cos(pi * done)) / 2}[self.schedule]


def recipe_from(values: Mapping[str, Any]) -> Recipe:
    """Make a recipe from plain values; a wrong value raises an `InputError` that names the field."""
    unknown = [name for name in values if name not in Recipe.model_fields]
    if unknown:
        now = f"; it is called {SETTINGS[unknown[0]]!r} now" if unknown[0] in SETTINGS else ""
        raise InputError(f"unknown setting {quote(unknown[0])}{now or suggest(unknown[0], Recipe.model_fields)}")
    if values.get("metric_update") == "round":
        raise InputError("metric_update: 'round' is called 'epoch' now")
    try:
        return Recipe.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise InputError(f"{field}: {message}, found {_shown(first['input'])}" if field else message) from None


def _shown(value: Any) -> str:
    """Return a value as messages show it; large values are only named by their type."""
    if isinstance(value, str):
        return quote(value)
    plain = isinstance(value, int | float | None) and (not isinstance(value, int) or value.bit_length() < 256)
    return repr(value) if plain else f"a value of type {type(value).__name__}"
