"""Negatives of a lane: drawn from its own entities, shared by small groups of positives, and never a known fact."""

from __future__ import annotations

import numpy as np
import pytest

import transa
from tests.training.helpers import settings
from transa.training.epoch_batches import EpochBatches
from transa.training.lanes import deal_entities

UMLS = transa.load("umls")
NEGATIVES = 10


@pytest.fixture(scope="module")
def epoch() -> EpochBatches:
    recipe = settings(model="transe", negatives=NEGATIVES, lane_negatives=True, lanes=4, batch_size=1000)
    batches = EpochBatches(UMLS, recipe, grouped=False)
    batches.start_epoch(1)
    return batches


def test_groups_of_half_as_many_positives_share_entities_of_their_lane(epoch: EpochBatches) -> None:
    dealt = deal_entities(len(UMLS.entities), 4, epoch.seed)
    facts = UMLS.training_facts
    shared = own = 0
    for batch in epoch.batches[:2]:
        examples = epoch.examples(batch)
        for number, lane in enumerate(epoch.cut(batch)):
            members = set(dealt.members(number).tolist())
            rows = examples.negatives[lane.start - batch.start : lane.stop - batch.start]
            for first in range(0, len(rows), NEGATIVES // 2):
                for column in rows[first : first + NEGATIVES // 2].T:
                    usual = int(np.bincount(column).argmax())
                    same = int((column == usual).sum()) if usual in members else 0
                    shared, own = shared + same, own + len(column) - same
        heads = np.where(examples.at_head, examples.negatives, examples.triples[batch.start : batch.stop, :1])
        tails = np.where(examples.at_head, examples.triples[batch.start : batch.stop, 2:], examples.negatives)
        relations = np.broadcast_to(examples.triples[batch.start : batch.stop, 1:2], heads.shape)
        corrupted = np.stack([heads, relations, tails], axis=-1).reshape(-1, 3)
        assert not facts.contains(corrupted.astype(np.int32)).any()
    assert own < shared / 5  # only where the shared one makes a known fact


def test_a_worker_draws_what_a_single_process_draws(epoch: EpochBatches) -> None:
    recipe = settings(model="transe", negatives=NEGATIVES, lane_negatives=True, lanes=4, batch_size=1000)
    part = EpochBatches(UMLS, recipe, grouped=False, whole=False)
    part.start_epoch(1)
    batch = epoch.batches[1]
    whole, lanes = epoch.examples(batch), epoch.cut(batch)
    found = part.lane_examples(range(2, 4), lanes[2:])
    rows = slice(lanes[2].start - batch.start, None)
    assert np.array_equal(found.negatives, whole.negatives[rows])
    assert np.array_equal(found.at_head, whole.at_head[rows])
