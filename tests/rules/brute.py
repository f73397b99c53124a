"""Rules by enumeration: slow, and plain enough to be believed."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import product

from transa.data import KnowledgeGraph
from transa.rules import RuleSet

Step = int


class Graph:
    """The facts of train without loops, by step."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.relations, self.entities = len(graph.relations), len(graph.entities)
        self.facts = {(h, r, t) for h, r, t in graph.train.tolist() if h != t}
        self.reached: dict[tuple[int, Step], set[int]] = defaultdict(set)
        for head, relation, tail in self.facts:
            self.reached[head, relation].add(tail)
            self.reached[tail, relation + self.relations].add(head)

    @property
    def steps(self) -> range:
        return range(2 * self.relations)

    def ends(self, x: int, body: tuple[Step, ...]) -> set[int]:
        """What a chain reaches from x by entities that are all different."""
        walks = [(x,)]
        for step in body:
            walks = [(*walk, y) for walk in walks for y in self.reached[walk[-1], step] if y not in walk]
        return {walk[-1] for walk in walks}

    def chains(self, length: int, support: int) -> dict[tuple[int, tuple[Step, ...]], tuple[int, int, int]]:
        """Support, body size and PCA size of every rule without constants, by relation and body."""
        found = {}
        for size in range(1, length + 1):
            for body in product(self.steps, repeat=size):
                pairs = [(x, y) for x in range(self.entities) for y in self.ends(x, body)]
                for relation in range(self.relations) if pairs else ():
                    holds = sum((x, relation, y) in self.facts for x, y in pairs)
                    if holds >= support and body != (relation,):
                        known = sum(bool(self.reached[x, relation]) for x, _ in pairs)
                        found[relation, body] = (holds, len(pairs), known)
        return found

    def constants(self, support: int) -> dict[tuple[Step, int, Step, int], tuple[int, int, int]]:
        """The same for rules with a constant, by step and constant of the head, step and constant (or -1) of the body."""
        found = {}
        bodies = {(step, end): set() for step in self.steps for end in range(-1, self.entities)}
        for (x, step), ends in self.reached.items():
            for end in (*ends, *([-1] if ends else [])):
                bodies[step, end].add(x)
        for head, constant in product(self.steps, range(self.entities)):
            right = bodies[head, constant]
            for (step, end), members in bodies.items():
                holds = len(right & members)
                if holds >= support and (step, end) not in ((head, constant), (head, -1)):
                    known = sum(bool(self.reached[x, head]) for x in members)
                    found[head, constant, step, end] = (holds, len(members), known)
        return found


def counted(rules: RuleSet) -> tuple[dict, dict]:
    """The counts of a set of rules, by what `Graph.chains` and `Graph.constants` call them."""
    chains, constants = {}, {}
    for number in range(len(rules)):
        counts = int(rules.support[number]), int(rules.body_size[number]), int(rules.pca_size[number])
        body = tuple(int(step) for step in rules.body[number] if step >= 0)
        head, constant = int(rules.head[number]), int(rules.constant[number])
        if constant < 0:
            chains[head, body] = counts
        else:
            constants[head, constant, body[0], int(rules.body_constant[number])] = counts
    return chains, constants


def confidences(facts: Graph, rules: RuleSet, head: int, relation: int, tail: int) -> list[float]:
    """The confidences of the rules that speak for a triple, the highest first."""
    found = []
    size = facts.relations
    chains, constants = counted(rules)
    for (concluded, body), (holds, cases, _) in chains.items():
        if concluded == relation and tail in facts.ends(head, body):
            found.append(holds / (cases + rules.discount))
    for (step, constant, body, end), (holds, cases, _) in constants.items():
        x = (
            head
            if (step, constant) == (relation, tail)
            else tail
            if (step, constant) == (relation + size, head)
            else None
        )
        if x is not None and (end in facts.reached[x, body] if end >= 0 else facts.reached[x, body]):
            found.append(holds / (cases + rules.discount))
    return sorted(found, reverse=True)


def evidence(facts: Graph, rules: RuleSet, triple: tuple[int, int, int], maximum: bool, strongest: int) -> float:
    """The evidence for a triple, with what its tail's share of the answers in train adds."""
    _, relation, tail = triple
    sure = [min(each, 0.9999) for each in confidences(facts, rules, *triple)]
    share = len(facts.reached[tail, relation + facts.relations])
    share /= sum(bool(facts.reached[x, relation]) for x in range(facts.entities)) + rules.discount
    if not maximum:
        every = sure[:strongest] if strongest else sure
        return -sum(math.log1p(-each) for each in every) - math.log1p(-share)
    digits = [math.floor(each * 8191 + 1e-9) for each in sure[:3]] + [0, 0, 0]
    value = ((digits[0] * 8192 + digits[1]) * 8192 + digits[2] + share * 0.999) / 8192**3
    return -math.log1p(-value)
