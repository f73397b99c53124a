"""Rule sets in files: Parquet, AnyBURL's text, and AMIE's text (read only).

AnyBURL writes a rule a line, ``body size TAB support TAB confidence TAB r(X,Y) <= s(X,A), t(A,Y)``. AMIE writes
``?a <s> ?b  ?b <t> ?c  => ?a <r> ?c`` and its counts, separated by tabs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from transa.data import KnowledgeGraph
from transa.data.result_files import check_target, write_table
from transa.data.vocabulary import Vocabulary
from transa.errors import InputError, quote
from transa.rules.rule_set import DISCOUNT, LONGEST, RuleSet
from transa.storage import atomic_file, read_small

#: The suffixes of files that hold rules.
SUFFIXES = (".parquet", ".csv", ".tsv", ".txt")
#: An atom of AnyBURL: a relation and two terms, of which constants may hold commas and brackets.
ATOM = re.compile(r"(?P<relation>.+?)\((?P<terms>.*)\)\Z")
#: The variables of AnyBURL.
VARIABLES = frozenset("XYABCDEFGHIJ")

#: An atom: the relation and its two terms.
Atom = tuple[str, str, str]


def write_rules(rules: RuleSet, graph: KnowledgeGraph, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write rules to a table (.parquet, .csv, .tsv) with their text and counts, or as AnyBURL does (.txt)."""
    target = Path(path)
    check_target(target, SUFFIXES, overwrite=overwrite)
    if target.suffix.lower() != ".txt":
        return write_table(rule_table(rules, graph), target, overwrite=overwrite)
    with atomic_file(target, overwrite=overwrite) as file:
        counts = zip(rules.body_size.tolist(), rules.support.tolist(), rules.confidence.tolist(), strict=True)
        for (size, support, confidence), text in zip(counts, rules.texts(graph.entities, graph.relations), strict=True):
            file.write(f"{size}\t{support}\t{confidence!r}\t{text}\n".encode())
    return target


def rule_table(rules: RuleSet, graph: KnowledgeGraph) -> pa.Table:
    """Return the rules as a table: text, counts, confidences."""
    return pa.table(
        {
            "rule": pa.array(rules.texts(graph.entities, graph.relations), pa.string()),
            "support": rules.support,
            "body_size": rules.body_size,
            "pca_size": rules.pca_size,
            "confidence": rules.confidence,
            "pca_confidence": rules.pca_confidence,
        }
    )


def read_rules(path: str | Path, graph: KnowledgeGraph, discount: float = DISCOUNT) -> RuleSet:
    """Read rules about the entities and relations of a graph: a table of `write_rules`, AnyBURL's text or AMIE's.

    Rules of other forms than ours (`transa.rules.RuleSet`), and those that name what the graph does not have, are refused by line.

    Raises
    ------
    InputError
        If a line cannot be understood; the message names it.
    """
    source = Path(path)
    rows = []
    for line, text, (support, body, pca) in _lines(source):
        try:
            row = _understood(text, graph)
        except InputError as error:
            raise InputError(str(error), path=source, line=line) from None
        rows.append((*row, support, body, pca))
    return RuleSet.of(np.array(rows, np.int64).reshape(-1, 6 + LONGEST), discount)


def _lines(path: Path) -> Iterator[tuple[int, str, tuple[int, int, int]]]:
    """Yield the line, the text, and support, body size and PCA size of each rule of a file."""
    if path.suffix.lower() == ".parquet":
        try:
            table = pq.read_table(path)
            columns = [table[name].to_pylist() for name in ("rule", "support", "body_size", "pca_size")]
        except FileNotFoundError:
            raise InputError("no such file", path=path) from None
        except (pa.ArrowException, KeyError, OSError) as error:
            raise InputError(f"not a readable table of rules ({error})", path=path) from None
        for number, (text, *counts) in enumerate(zip(*columns, strict=True), 1):
            yield number, text, (counts[0], counts[1], counts[2])
        return
    for number, line in enumerate(read_small(path).splitlines(), 1):
        parts = line.split("\t")
        try:
            if (
                "=>" in parts[0]
            ):  # AMIE: rule, head coverage, confidence, PCA confidence, positives, body size, PCA body size
                yield number, parts[0], (int(float(parts[4])), int(float(parts[5])), int(float(parts[6])))
            elif "<=" in parts[-1]:
                yield number, parts[-1], (int(parts[1]), int(parts[0]), int(parts[0]))
            elif line.strip() and not (number == 1 and "Rule" in line):
                raise ValueError
        except (ValueError, IndexError):
            wanted = "expected a rule of AnyBURL (size, support, confidence, rule) or AMIE"
            raise InputError(f"{wanted}, found {quote(line)}", path=path, line=number) from None


def _understood(text: str, graph: KnowledgeGraph) -> list[int]:
    """Return a rule's head, constant, steps and body constant as ids."""
    if "=>" in text:
        body_text, _, head_text = text.partition("=>")
        head, body = _amie(head_text)[0], _amie(body_text)
    else:
        head_text, _, body_text = text.partition("<=")
        head = _anyburl(head_text.strip())
        body = [_anyburl(part) for part in _split(body_text)]
    variables = {term for _, *terms in (head, *body) for term in terms if _is_variable(term)}
    relation = _id(graph.relations, head[0], "relation")
    size = len(graph.relations)
    constants = [term for term in head[1:] if term not in variables]
    if len(constants) == 1 and len(body) <= 1:
        x = next(term for term in head[1:] if term in variables)
        step = relation if head[1] == x else relation + size
        steps, known = [-1] * LONGEST, -1
        if body:
            steps[0], other = _step(body[0], x, graph)
            known = -1 if other in variables else _id(graph.entities, other, "entity")
        return [step, _id(graph.entities, constants[0], "entity"), *steps, known]
    if constants or not 1 <= len(body) <= LONGEST:
        raise InputError(f"rules of this form are not supported: {quote(text)}")
    here, left, steps = head[1], list(body), []
    while left:
        found = next((atom for atom in left if here in atom[1:]), None)
        if found is None:
            raise InputError(f"the body is no chain from {head[1]} to {head[2]}: {quote(text)}")
        left.remove(found)
        step, here = _step(found, here, graph)
        steps.append(step)
    if here != head[2]:
        raise InputError(f"the body is no chain from {head[1]} to {head[2]}: {quote(text)}")
    steps += [-1] * (LONGEST - len(steps))
    return [relation, -1, *steps, -1]


def _step(atom: Atom, here: str, graph: KnowledgeGraph) -> tuple[int, str]:
    """Return the step of an atom from one of its terms, and where it leads."""
    relation = _id(graph.relations, atom[0], "relation")
    if here == atom[1]:
        return relation, atom[2]
    if here == atom[2]:
        return relation + len(graph.relations), atom[1]
    raise InputError(f"{here} is not in {atom[0]}({atom[1]},{atom[2]})")


def _id(vocabulary: Vocabulary, key: str, kind: str) -> int:
    if key not in vocabulary:
        raise InputError(f"the graph has no {kind} {quote(key)}")
    return vocabulary.id(key)


def _is_variable(term: str) -> bool:
    return term in VARIABLES or term.startswith("?")


def _split(body: str) -> list[str]:
    """Split AnyBURL's body at commas that follow a closing bracket."""
    return [part.strip() for part in re.split(r"(?<=\)),\s+", body.strip()) if part.strip()]


def _anyburl(text: str) -> Atom:
    """Return an atom such as ``r(X,c)``; a constant may hold commas, since one of the terms is a variable."""
    found = ATOM.match(text)
    if found is not None:
        terms = found["terms"]
        if terms[:2].endswith(",") and terms[0] in VARIABLES:
            return found["relation"], terms[0], terms[2:]
        if terms[-2:].startswith(",") and terms[-1] in VARIABLES:
            return found["relation"], terms[:-2], terms[-1]
    raise InputError(f"expected an atom such as r(X,Y), found {quote(text)}")


def _amie(text: str) -> list[Atom]:
    """Return the atoms of a part of AMIE's rule, three words each; names may be in angle brackets."""
    words = [word.strip("<>") for word in text.split()]
    if not words or len(words) % 3:
        raise InputError(f"expected atoms of three words, found {quote(text)}")
    return [(words[at + 1], words[at], words[at + 2]) for at in range(0, len(words), 3)]
