"""The settings of a recipe as keywords that type checkers and editors know.

`Settings` repeats the fields of `transa.training.Recipe`, without the model and without the settings that every estimator names in its
signature. A test keeps the two in step.
"""

from __future__ import annotations

from typing import Literal, TypedDict


class Settings(TypedDict, total=False):
    """Further settings of a recipe; `transa.training.Recipe` describes each."""

    # the model
    norm: Literal[1, 2]
    squared: bool
    metric: Literal["full", "lowrank", "diagonal", "signed", "signed_lowrank"]
    rank: int
    root: bool
    biases: bool
    directional: bool
    relation_dim: int | None
    clamp_projections: bool
    hidden: int | None
    factors: int
    radius: float
    clusters: int
    cluster_pull: float
    weighted: bool
    composition: Literal["add", "mul", "rnn"]
    reranked: int
    path_weight: float
    path_bonus: float
    path_relevance: bool
    path_pooling: Literal["mean", "best"]
    inverse_paths: bool
    own_paths: bool
    entity_texts: bool
    text_encoder: str | None
    own_vectors: bool
    skip_gram: float
    text_corpus: str | None
    init_range: float | None
    precision: Literal["float32", "float64"]
    loop_limit: float
    # the objective
    training_score: Literal["own", "l1"]
    loss: Literal["margin", "logistic", "self_adversarial", "softmax"]
    margin: float
    temperature: float
    negligible: float
    sampled_entities: int | None
    neighbour_candidates: int
    answers_at_once: int | None
    hide_answers: bool
    label_smoothing: float
    dropout: float
    entity_dropout: float
    cubic_penalty: float
    sampling: Literal["bern", "uniform", "tail"]
    candidates: Literal["all", "typed"]
    relation_negatives: float
    path_margin: float
    path_limit: float
    path_samples: int
    shared_negatives: bool
    lanes: int
    lane_negatives: bool
    penalty: float
    penalty_rows: Literal["touched", "all"]
    table_penalty: float
    soft_penalty: float
    metric_penalty: float
    smoothness: Literal["none", "laplacian", "lle"]
    smoothness_weight: float
    smoothness_neighbours: int
    entity_norm: Literal["free", "ball", "unit"]
    relation_norm: Literal["free", "ball", "unit"]
    # the optimiser
    optimizer: Literal["sgd", "adagrad_row", "adagrad", "adam"]
    table_learning_rate: float | None
    metric_learning_rate: float
    schedule: Literal["constant", "linear", "cosine"]
    warm_epochs: int
    warm_learning_rate: float | None
    solver: Literal["gradient", "als", "mining"]
    # types
    type_penalty: bool
    # rules
    with_rules: bool
    rule_length: int
    rule_constants: bool
    rule_support: int
    rule_discount: float
    rule_minutes: float | None
    aggregation: Literal["auto", "maximum", "noisy_or"]
    strongest_rules: int
    # the metric
    metric_update: Literal["epoch", "end", "gradient", "none"]
    metric_every: int
    metric_negatives: int
    metric_pairs: Literal["all", "violating"]
    metric_scale: Literal["sum", "lambda", "trace", "columns"]
    metric_trace: float
    metric_clip: bool
    shrinkage: float
    shrink_to: Literal["prior", "types"]
    prior: Literal["identity", "ones"]
    # validation
    validate_every: int
    validate_on: Literal["auto", "mrr", "accuracy"]
    decided_by: Literal["score", "questions"]
    validate_sample: int
    patience: int
