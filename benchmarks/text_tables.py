"""The tables of docs/text.md, from the records of the benchmarks on types and texts."""

from __future__ import annotations

from typing import Any

from record import load

GRAPHS = {"nell186": "NELL186, accuracy", "fb15k": "FB15K, MRR"}
MODELS = {"transe": "TransE", "se": "SE", "sme_linear": "SME linear", "transa": "TransA"}
NAMES = {"wn18rr": "WN18RR", "fb15k-237": "FB15k-237", "wn11": "WN11", "fb13": "FB13"}


def smoothness_table() -> str:
    """Return what the terms of SSE add to the accuracy, or to the MRR, of each model."""
    rows = ["| test, mean of three seeds | without types | `laplacian` | `lle` |", "|---|---|---|---|"]
    for name, title in GRAPHS.items():
        found = load(f"benchmark_smoothness_{name}")
        for model, label in MODELS.items():
            if model not in found:
                continue
            part = found[model]
            cells = [f"{_mean(part['base']):.4f}"]
            for kind in ("laplacian", "lle"):
                gain = part[kind]["gain"]
                spread = f"{gain['least']:+.4f} to {gain['most']:+.4f}"
                cells.append(f"{_mean(part[kind]['test']):.4f} ({spread}; weight {part[kind]['weight']:g})")
            rows.append(f"| {title}, {label} | {' | '.join(cells)} |")
    return "\n".join(rows)


def penalty_table() -> str:
    """Return what the type penalty adds to the same vectors."""
    rows = ["| test, mean of the seeds | without | with the penalty | gain of a seed |", "|---|---|---|---|"]
    found = load("benchmark_type_penalty")
    for name, title in GRAPHS.items():
        for model, label in MODELS.items():
            part = found.get(name, {}).get(model)
            if part is None:
                continue
            gains = [one - other for one, other in zip(part["with"], part["without"], strict=True)]
            seeds = f"{len(gains)} seed{'s' if len(gains) > 1 else ''}"
            spread = f"{min(gains):+.4f} to {max(gains):+.4f}, {seeds}"
            rows.append(f"| {title}, {label} | {_mean(part['without']):.4f} | {_mean(part['with']):.4f} | {spread} |")
    return "\n".join(rows)


def cold_start_table() -> str:
    """Return the filtered MRR of triples with entities that nobody has seen."""
    ways = {
        ("frequency",): "by frequency",
        ("tfidf", "plain"): "TF-IDF, plain map",
        ("tfidf", "weighted"): "TF-IDF, weighted by the metrics",
        ("tfidf", "trained"): "TF-IDF, map trained by the loss",
        ("encoder", "plain"): "sentence encoder, plain map",
        ("encoder", "weighted"): "sentence encoder, weighted by the metrics",
        ("encoder", "trained"): "sentence encoder, map trained by the loss",
        ("joint_words",): "`entity_texts`: sums of words",
        ("joint_encoder",): "`entity_texts` with a sentence encoder",
    }
    found = {name: part for name in ("wn18rr", "fb15k-237") if (part := load(f"benchmark_cold_start_{name}"))}
    rows = [f"| MRR / Hits@10 | {' | '.join(NAMES[name] for name in found)} |", "|---|" + "---|" * len(found)]
    for path, label in ways.items():
        cells = [_ranked(part, path) for part in found.values()]
        if any(cells):
            rows.append(f"| {label} | {' | '.join(cell or 'not measured' for cell in cells)} |")
    rows += [line for name, part in found.items() for line in ("", f"{NAMES[name]}: {_cold_start_note(part)}.")]
    return "\n".join(rows)


def _cold_start_note(part: dict[str, Any]) -> str:
    """Return how much was asked, what was chosen on valid among what, and how far the joint model is above frequency."""
    said = [
        f"{part['unseen']:,} of {part['entities']:,} entities unseen, {part['triples']:,} triples with them, "
        f"of which {part['sampled']:,} were ranked"
    ]
    for way, label in {"words": "sums of words", "encoder": "the sentence encoder"}.items():
        chosen = part.get(f"chosen_{way}", {})
        if "tried" in chosen:
            tried = "; ".join(f"{_settings(each['settings'])}: {each['mrr']:.3f}" for each in chosen["tried"])
            said.append(f"tried on valid for {label} {tried}")
        elif chosen:
            said.append(f"for {label} {_settings(chosen['settings'])}, as chosen on {NAMES[chosen['graph']]}")
        if f"joint_{way}" in part:
            times = part[f"joint_{way}"]["mrr"] / part["frequency"]["mrr"]
            said.append(f"{label} have {times:.1f} times the MRR by frequency".replace("encoder have", "encoder has"))
    return ". ".join(each[0].upper() + each[1:] if place else each for place, each in enumerate(said))


def _settings(chosen: dict[str, Any]) -> str:
    return ", ".join(f"{key}={str(value).lower()}" for key, value in chosen.items())


def unseen_table() -> str:
    """Return the filtered MRR of the test triples with entities that train lacks."""
    rows = ["| MRR / Hits@10 | triples | by frequency | without texts | with texts |", "|---|---|---|---|---|"]
    for name in ("wn18rr", "fb15k-237"):
        found = load(f"benchmark_unseen_{name}")
        for way, label in {"words": "words", "encoder": "words and encoder"}.items():
            if way in found:
                cells = [_ranked(found[way], (key,)) for key in ("without", "with_texts")]
                frequency = f"{found['frequency']['mrr']:.3f}"
                rows.append(f"| {NAMES[name]}, {label} | {found['triples']:,} | {frequency} | {' | '.join(cells)} |")
    return "\n".join(rows) if len(rows) > 2 else "not measured"


def classification_table() -> str:
    """Return the accuracy of triple classification by models, by texts, and by both; what was chosen on valid is bold."""
    found = {name: part for name in ("wn11", "fb13") if (part := load(f"benchmark_text_classification_{name}"))}
    rows = [f"| test (valid) | {' | '.join(NAMES[name] for name in found)} |", "|---|" + "---|" * len(found)]
    for way in next(iter(found.values()), {"accuracy": ()})["accuracy"]:
        cells = []
        for part in found.values():
            cell = f"{part['accuracy'][way]:.1%} ({part['valid'][way]:.1%})"
            cells.append(f"**{cell}**" if part["chosen"] == way else cell)
        rows.append(f"| {way} | {' | '.join(cells)} |")
    return "\n".join(rows) if found else "not measured"


def _ranked(part: dict[str, Any], path: tuple[str, ...]) -> str:
    for step in path:
        part = part.get(step, {})
    hits = f" / {part['hits@10']:.1%}" if "hits@10" in part else ""
    return f"{part['mrr']:.3f}{hits}" if "mrr" in part else ""


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


#: By the names of their marks.
TEXT_TABLES = {
    "smoothness": smoothness_table,
    "types": penalty_table,
    "cold start": cold_start_table,
    "unseen": unseen_table,
    "text classification": classification_table,
}
