"""Write the tables of README and docs from results/, so that no figure is typed.

python benchmarks/tables.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from text_tables import TEXT_TABLES

from transa.data.registry import DATASETS
from transa.format1 import upgrade
from transa.reproduction.paper import printed
from transa.reproduction.plan import PAPER_DATASETS, TASKS, plan_table
from transa.reproduction.records import Results

#: What the front page shows: the best recipe of TransA by valid.
QUALITY = (
    ("table2", "fb15k", "softmax"),
    ("table2", "wn18", "softmax"),
    ("table2", "fb15k-237", "softmax"),
    ("table2", "wn18rr", "softmax"),
    ("table4", "wn11", "softmax"),
    ("table4", "fb13", "modern"),
)

ROOT = Path(__file__).resolve().parent.parent
#: Multiplications for one residual: score, and score with gradient.
OPERATIONS = {
    "transh": ("3 k", "11 k"),
    "transr": ("k d", "3 k d, and 6 k d a positive for its soft constraint"),
    "se": ("2 k²", "6 k²"),
    "ntn": ("s k² + 2 s k, s = 2", "3 s k² + 6 s k"),
    "rescal": ("k²", "3 k²"),
}
TITLES = {
    "umls": "UMLS",
    "nations": "Nations",
    "kinship": "Kinship",
    "nell186": "NELL186",
    "wn18rr": "WN18RR",
    "fb15k-237": "FB15k-237",
}
#: How a training was bounded, for people.
SIZES = {"dim": "k", "epochs": "epochs"}
GROWN = {
    "start_only": "start only",
    "extend": "extend",
    "extend_refine_5": "extend and 5 epochs",
    "trained_on_all": "trained on all",
}


def read(name: str) -> Any:
    return upgrade(json.loads((ROOT / "results" / f"{name}.json").read_text()))


def model_table() -> str:
    models = read("benchmark_models")
    rows = ["| model | score | with gradient | triples/s | PyKEEN | ratio |", "|---|---|---|---|---|---|"]
    for name, (score, gradient) in OPERATIONS.items():
        pace = models[name]["triples_per_second"]
        peer = max(value for system, value in pace.items() if system.startswith("pykeen"))
        rows.append(
            f"| {name} | {score} | {gradient} | {pace['transa']:,.0f} | {peer:,.0f} | {models[name]['ratio']:.1f} |"
        )
    return "\n".join(rows)


def extending_table() -> str:
    found = read("benchmark_extending")
    rows = [f"| | random | {' | '.join(GROWN.values())} |", "|---|" + "---|" * (1 + len(GROWN))]
    for name in ("umls", "wn18"):
        part = found[name]
        title = f"{name.upper()}, {part['held_out']:,} of {part['entities']:,} entities, {part['test_triples']} test triples"
        rows.append(
            f"| {title}: MRR | {part['random_mrr']:.2g} | "
            + " | ".join(f"{part[key]['mrr']:.3f}" for key in GROWN)
            + " |"
        )
        rows.append("| Hits@10 | | " + " | ".join(f"{part[key]['hits@10']:.1%}" for key in GROWN) + " |")
    return "\n".join(rows)


def calibration_table() -> str:
    found = read("benchmark_calibration")
    kinds = {
        "answered_top1": "best new answer",
        "answered_top10": "10 best",
        "fresh_top1": "best, none known",
        "discoveries": "1,000 discoveries",
    }
    rows = [f"| | {' | '.join(kinds.values())} |", "|---|" + "---|" * len(kinds)]
    titles = {"umls": "UMLS", "fb15k-237": "FB15k-237", "nell186": "NELL186", "functional": "generated, functional"}
    for name, title in titles.items():
        if name not in found:
            continue
        cells = []
        for kind in kinds:
            before, after = (found[name][kind][when] for when in ("before", "after"))
            true = f", {after['share_true']:.1%} true" if after["answers"] else ""
            cells.append(f"{before['ece']:.3f} → {after['ece']:.3f}{true}" if after["answers"] else "-")
        rows.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(rows)


def predicting_table() -> str:
    found = read("benchmark_predicting")
    rows = [
        "| questions | L1 | full metric | ratio | from nothing | brute force, L1 | brute force, full metric |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, title in (("fb15k", "FB15K"), ("generated", "generated")):
        part = found[name]
        plain, full = part["transe"], part["transa"]
        rows.append(
            f"| {part['queries']:,}, {title}, {part['entities']:,} entities, k={part['dim']} | {plain['seconds']:.2f} s "
            f"| {full['seconds']:.2f} s | {part['ratio']:.1f} | {part['ratio_from_nothing']:.1f} "
            f"| {plain['brute_force_seconds']:,.0f} s | {full['brute_force_seconds']:,.0f} s |"
        )
    known, million = found["fb15k"], found["generated"]
    rows += [
        "",
        f"The same answers as brute force in double precision: all {known['transa']['compared']:,} on FB15K, "
        f"{known['transa']['compared_with_ties']:,} more with ties, and {million['transa']['compared']:,} on the generated "
        f"entities. From nothing: with the eigenpairs of the {known['relations_asked']:,} metrics asked for, which are kept as long "
        "as the model is. Brute force: torch in single precision, "
        f"from {known['transa']['brute_force_sample']} questions.",
    ]
    return "\n".join(rows)


def general_table() -> str:
    """Return what the general recipe reaches on valid beside settings that were searched for one graph."""
    rows = [
        "| valid, MRR | general recipe | tuned settings | share | general recipe, CPU minutes |",
        "|---|---|---|---|---|",
    ]
    found = read("benchmark_general")["datasets"]
    for name, title in TITLES.items():
        part = found[name]
        general, tuned = part["general"], part["tuned"]
        minutes = general["cpu_seconds"] / 60
        rows.append(
            f"| {title} | {general['valid_mrr']:.3f} | {tuned['valid_mrr']:.3f} | {part['share']:.1%} | {minutes:.1f} |"
        )
    return "\n".join(rows)


def tuning_table() -> str:
    """Return what a search for settings is worth beside the default."""
    rows = [
        "| graph | settings | valid, MRR | test, MRR | test, Hits@10 | training took |",
        "|---|---|---|---|---|---|",
    ]
    for name, part in read("benchmark_tuning")["datasets"].items():
        size = "".join(f", {label} = {part['size'][key]}" for key, label in SIZES.items() if key in part["size"])
        search = part["search"]
        ended = f"{search['trials'].get('pruned', 0)} ended early"
        trials = f"{sum(search['trials'].values())} trials, {ended}, {search['repetitions']} repetitions"
        for kind, title in (("default", "default"), ("tuned", f"found in {search['minutes']:g} minutes: {trials}")):
            row = part[kind]
            seeds = len(row["valid_mrr_by_seed"])
            spread = f" ± {row['valid_mrr_spread']:.4f} ({seeds} seeds)" if seeds > 1 else ""
            rules = ", with rules" if row["with_rules"] else ""
            rows.append(
                f"| {TITLES[name]}{size} | {title}{rules} | {row['valid_mrr']:.4f}{spread} | {row['test_mrr']:.4f} "
                f"| {row['test_hits@10']:.1%} | {row['seconds']:.0f} s |"
            )
    return "\n".join(rows)


def quality_table() -> str:
    """Return what TransA reaches beside TransE trained alike, and what the paper prints for TransA."""
    kept = Results(ROOT / "results")
    rows = [
        "| test split | TransA | TransE trained alike | the paper's TransA | TransA's training |",
        "|---|---|---|---|---|",
    ]
    for table, dataset, recipe in QUALITY:
        task = TASKS[table]
        cells = [
            cell
            for cell in plan_table("metric", None, [dataset]).cells
            if cell.row.variant == recipe and not cell.settings.seed
        ]
        found = {cell.row.model: kept.find(cell, task=task) for cell in cells}
        if found.get("transa") is None:
            continue
        said = printed(table, dataset, "transa") if dataset in PAPER_DATASETS[table] else None
        theirs = ""
        if said is not None and task == "classification":
            theirs = f"accuracy {said[0]}%"
        elif said is not None:
            tails = found["transa"][task]["tail"]["filtered"]["hits@10"]  # type: ignore[index]
            theirs = f"Hits@10 of tails {said[3]}% (ours {tails:.1%})"
        minutes = found["transa"]["seconds"]["training"] / 60  # type: ignore[index]
        ours, plain = (_quality(found.get(model), task) for model in ("transa", "transe"))
        rows.append(f"| {DATASETS[dataset].name}, `{recipe}` | {ours} | {plain} | {theirs} | {minutes:.0f} min |")
    return "\n".join(rows)


def rules_table() -> str:
    """Return what rules reach alone, what TransA reaches alone, and both together."""
    kept = Results(ROOT / "results")
    rows = ["| test, MRR / Hits@10 | rules alone | TransA, `softmax` | both |", "|---|---|---|---|"]
    ways: tuple[tuple[str, dict[str, Any]], ...] = (
        ("rules:modern", {}),
        ("transa:softmax", {}),
        ("transa:softmax", {"with_rules": True}),
    )
    for dataset in ("fb15k", "wn18", "fb15k-237", "wn18rr"):
        shown = []
        for model, changes in ways:
            record = kept.find(*plan_table("table2", [model], [dataset], changes).cells, task="link_prediction")
            measures = record["link_prediction"]["both"]["filtered"] if record else None
            shown.append(f"{measures['mrr']:.3f} / {measures['hits@10']:.1%}" if measures else "not measured yet")
        rows.append(f"| {DATASETS[dataset].name} | {' | '.join(shown)} |")
    return "\n".join(rows)


def _quality(record: Any, task: str) -> str:
    if record is None:
        return "not measured yet"
    if task == "classification":
        return f"accuracy {record[task]['accuracy']:.1%}"
    measures = record[task]["both"]["filtered"]
    prior = record[task].get("loop_prior")
    plain = f" ({prior['without']['both']['filtered']['mrr']:.3f} without the loop prior)" if prior else ""
    return f"MRR {measures['mrr']:.3f}{plain}, Hits@10 {measures['hits@10']:.1%}, MR {measures['mr']:.0f}"


def speed_table() -> str:
    reading, training, ranking = read("benchmark_reading"), read("benchmark_training"), read("benchmark_ranking")
    rows = [
        "| task | transa | PyKEEN | ratio |",
        "|---|---|---|---|",
        "| read FB15K's training file | {transa_seconds:.2f} s | {pykeen_seconds:.2f} s | {ratio:.0f} |".format(
            **reading["fb15k"]
        ),
    ]
    for name, dim in (("wn18", 50), ("fb15k", 200)):
        part = training[name]
        peer = part["pykeen"]["seconds_per_epoch"]
        for mode, label in (("deterministic", "deterministic"), ("lock_free", "lock-free")):
            rows.append(
                f"| TransE epoch, {name.upper()}, k={dim}, {label} | {part[mode]['seconds_per_epoch'] * 1e3:.0f} ms "
                f"| {peer * 1e3:.0f} ms | {part[f'{mode}_ratio']:.0f} |"
            )
    mine, whole = ranking["fb15k"]["transe"]["seconds"], ranking["pykeen"]["seconds_per_triple"] * 59_071
    rows.append(
        f"| exact ranks of FB15K's test split, TransE, k=200 | {mine:.1f} s | {whole:.0f} s (from 500 triples) "
        f"| {ranking['ratio_to_pykeen']:.0f} |"
    )
    million = ranking["million"]["transe"][-1]
    paper, big = training["paper"], reading["ten_million"]
    rows += [
        "",
        "An epoch of TransA's `paper` recipe on FB15K, with full 200 x 200 metrics, takes {:.1f} s ({:.1f} TransE epochs) "
        "at a peak of {:.2f} GB.".format(
            paper["seconds_per_epoch"], paper["ratio_to_transe"], paper["peak_memory_gigabytes"]
        ),
        "Exact ranks under these metrics take {:.1f} s at a peak of {:.2f} GB; {:.1%} of the scores are "
        "computed in full.".format(
            ranking["fb15k"]["transa"]["seconds"],
            ranking["fb15k"]["transa"]["peak_memory_gigabytes"],
            ranking["fb15k"]["transa"]["rescored"],
        ),
        "Against 1,000,000 entities (k=100), 1,000 questions take {:.1f} s at a peak of {:.2f} GB, 0.4 GB of it the vectors.".format(
            million["seconds"], million["peak_memory_gigabytes"]
        ),
        "Ten million triples are read in {seconds:.0f} s at a peak of {peak_memory_gigabytes:.2f} GB.".format(**big),
    ]
    return "\n".join(rows)


def auditing_table() -> str:
    """Return precision of the first 100 and area under the curve, for each kind of wrong facts."""
    found = read("benchmark_auditing")
    kinds = {"all": "all", "random": "random tail", "role": "tail of the right role", "functional": "second answer"}
    rows = [
        f"| precision, area | {' | '.join(kinds.values())} | functional conflicts: precision |",
        "|---|" + "---|" * (len(kinds) + 1),
    ]
    for name, title in (("umls", "UMLS"), ("nell186", "NELL186"), ("fb15k", "FB15K")):
        for label in ("discover --errors", "audit, mined", "audit, functional given"):
            part = found.get(name, {}).get(label)
            if part is None:
                continue
            cells = [
                f"{part[kind]['precision@100']:.2f}, {part[kind]['auc']:.3f}" if kind in part else "" for kind in kinds
            ]
            source = found[name]["audit, functional given"] if label == "discover --errors" else part
            key = "functional_conflicts_by_errors" if label == "discover --errors" else "functional_conflicts"
            some = source[key]
            cells.append(f"{some['precision@100']:.2f} ({some['facts']:,} facts)" if some["facts"] >= 100 else "")
            rows.append(f"| {title}, `{label}` | {' | '.join(cells)} |")
    return "\n".join(rows)


def implications_table() -> str:
    """Return our rows beside those printed elsewhere."""
    found = read("benchmark_implications")
    graphs = ("NELL-sports", "NELL-location")
    rows = [f"| MRR / Hits@1 / Hits@10 | {' | '.join(graphs)} |", "|---|---|---|"]
    for system in found[graphs[0]]["published"]:
        cells = ("{:.3f} / {:.1f} / {:.1f}".format(*found[graph]["published"][system]) for graph in graphs)
        rows.append(f"| {system}, as published | {' | '.join(cells)} |")
    for label in ("TransA", "TransA with implications"):
        cells = (
            "{:.3f} / {:.1f} / {:.1f}".format(
                part["mrr"]["mean"], 100 * part["hits@1"]["mean"], 100 * part["hits@10"]["mean"]
            )
            for part in (found[graph][label] for graph in graphs)
        )
        rows.append(f"| {label} | {' | '.join(cells)} |")
    shares = (f"{found[graph]['test_that_follows']:.1%}" for graph in graphs)
    rows.append(f"| test triples that are in train or follow from it | {' | '.join(shares)} |")
    return "\n".join(rows)


def serving_table() -> str:
    found = read("benchmark_serving")
    titles = {
        "one at a time": "1 client, one question at a time",
        "not joined": "{} clients, not joined",
        "joined": "{} clients, joined",
    }
    rows = ["| | questions a second | p50 | p99 | processor time of a question |", "|---|---|---|---|---|"]
    for name, title in titles.items():
        turns = found["turns"][name]
        middle = sorted(turns, key=lambda turn: turn["per_second"])[len(turns) // 2]
        work = found.get("processor_milliseconds", {}).get(name)
        cells = (
            f"{middle['per_second']:.1f}",
            *(f"{middle[f'{part}_milliseconds']:,.0f} ms" for part in ("p50", "p99")),
            "-" if work is None else f"{work:.1f} ms",
        )
        rows.append(f"| {title.format(middle['clients'])} | {' | '.join(cells)} |")
    long, ratios = found["minutes"], found["joined_over"]
    refused = sum(long["statuses"].get(each, 0) for each in ("429", "503"))
    second, last = (f"{long[f'memory_{part}_quarter'] / 1e6:,.0f} MB" for part in ("second", "last"))
    measured = (
        f"FB15K, k = {found['dim']}, full metric, ten answers with probabilities (`benchmarks/serving.py`, "
        "`results/benchmark_serving.json`), on one thread of a machine that other work filled: the figures say how the rows compare, "
        "and not how fast a free machine is. "
        f"Joined is {ratios['one at a time']:.1f} times one at a time, and {ratios['not joined']:.1f} times not joined."
    )
    load = (
        f"{long['clients']} clients for {long['seconds'] / 60:.0f} minutes: {long['answered']:,} answers, {long['errors']} errors, "
        f"{refused} refused with 429 or 503; memory {second} in the second quarter and {last} in the last; {long['compared']} "
        "different questions compared with `transa predict`, all the same."
    )
    return "\n".join([*rows, "", measured, "", load])


def api_text() -> str:
    found = read("reliability_api")
    counts = f"{found['cases']:,} calls of {len(found['operations'])} operations"
    return f"Last figures (`results/reliability_api.json`): {counts}, no surprise."


#: What the page on scale shows: a name, entities, relations, triples, dimension, workers.
SCALES = (
    ("FB15K", 14_951, 1_345, 483_142, 200, 1),
    ("a million entities", 1_000_000, 1_000, 5_000_000, 128, 1),
    ("Wikidata5M", 4_594_485, 822, 20_614_279, 128, 2),
    ("Wikidata5M", 4_594_485, 822, 20_614_279, 200, 2),
    ("Freebase", 86_054_151, 14_824, 338_586_276, 128, 8),
    ("Freebase", 86_054_151, 14_824, 338_586_276, 400, 8),
)


def scale_table() -> str:
    from transa.training import load_recipe
    from transa.training.sharded.plan import Sizes, plan

    rows = [
        "| graph | entities | triples | k | workers | a worker | on a machine | sent by a worker in an epoch |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, entities, relations, triples, dim, workers in SCALES:
        how = {"dim": dim, "negatives": 64, "batch_size": 16384, "lane_negatives": True, "optimizer": "adagrad_row"}
        found = plan(
            Sizes(entities, relations, triples), load_recipe("transe", "modern", None, how), workers, mapped=True
        )
        of_worker, total, sent = (f"{size / 1e9:,.1f} GB" for size in (found.of_worker, found.total, found.sent))
        rows.append(f"| {name} | {entities:,} | {triples:,} | {dim} | {workers} | {of_worker} | {total} | {sent} |")
    return "\n".join(rows)


def peaks_table() -> str:
    rows = ["| entities | triples | k | planned | measured | planned / measured |", "|---|---|---|---|---|---|"]
    for found in read("benchmark_plan")["sizes"].values():
        planned, peak = (f"{found[name] / 1e9:.2f} GB" for name in ("planned", "peak"))
        sizes = f"{found['entities']:,} | {found['triples']:,} | {found['dim']}"
        rows.append(f"| {sizes} | {planned} | {peak} | {found['ratio']:.2f} |")
    return "\n".join(rows)


def lane_negatives_table() -> str:
    return _on_valid("benchmark_lane_negatives", "negatives")


def parts_table() -> str:
    return _on_valid("benchmark_parts", "parts")


def _on_valid(record: str, what: str) -> str:
    """Return the measures on the validation split of FB15K, for each of some ways to train."""
    found = read(record)
    rows = [f"| FB15K, valid, {what} | MRR | Hits@1 | Hits@10 | MR | seconds |", "|---|---|---|---|---|---|"]
    for name, row in found["valid"].items():
        hits = " | ".join(f"{100 * row[f'hits@{k}']:.1f}" for k in (1, 10))
        rows.append(f"| {name} | {row['mrr']:.3f} | {hits} | {row['mr']:.0f} | {row['seconds']:.0f} |")
    how = f"{found['epochs']} epochs, k = {found['dim']}, {found['negatives']} negatives"
    return "\n".join([*rows, "", f"({how}; `results/{record}.json`)"])


def large_table() -> str:
    """Return what the generated graph took, as far as it was measured."""
    record = read("benchmark_scale")
    found = record["figures"]
    rows = ["| | CPU-seconds | peak of memory | positives per CPU-second |", "|---|---|---|---|"]
    for name, row in found.items():
        if "peak_bytes" in row:
            rate = f"{row['positives_per_cpu_second']:,}" if "positives_per_cpu_second" in row else ""
            rows.append(f"| {name} | {row['cpu_seconds']:,.0f} | {row['peak_bytes'] / 1e9:.2f} GB | {rate} |")
    sizes = f"{record['entities']:,} entities, {record['triples']:,} triples, k = {record['dim']}"
    return "\n".join([*rows, "", f"({sizes}; `results/benchmark_scale.json`)"])


def fill(path: str, name: str, table: str) -> None:
    """Put a table between its marks."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    file = ROOT / path
    file.write_text(re.sub(f"{begin}.*?{end}", lambda _: f"{begin}\n{table}\n{end}", file.read_text(), flags=re.DOTALL))


if __name__ == "__main__":
    fill("README.md", "speed", speed_table())
    fill("README.md", "quality", quality_table())
    fill("docs/training.md", "general", general_table())
    fill("docs/training.md", "models", model_table())
    fill("docs/tuning.md", "tuning", tuning_table())
    fill("docs/inference.md", "extending", extending_table())
    fill("docs/inference.md", "calibration", calibration_table())
    if (ROOT / "results" / "benchmark_predicting.json").exists():
        fill("docs/inference.md", "predicting", predicting_table())
    fill("docs/rules.md", "rules", rules_table())
    fill("docs/auditing.md", "auditing", auditing_table())
    fill("docs/auditing.md", "implications", implications_table())
    for name, table in TEXT_TABLES.items():
        fill("docs/text.md", name, table())
    fill("docs/serving.md", "serving", serving_table())
    fill("docs/serving.md", "api", api_text())
    fill("docs/scale.md", "scale", scale_table())
    for name, table in (
        ("plan", peaks_table),
        ("lane_negatives", lane_negatives_table),
        ("parts", parts_table),
        ("scale", large_table),
    ):
        if (ROOT / "results" / f"benchmark_{name}.json").exists():
            fill("docs/scale.md", "large" if name == "scale" else name.replace("_", " "), table())
