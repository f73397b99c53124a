"""Write the README's speed table from results/, so that no figure is typed.

python benchmarks/tables.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- speed:begin -->", "<!-- speed:end -->"


def speed_table() -> str:
    reading = json.loads((ROOT / "results" / "benchmark_reading.json").read_text())
    training = json.loads((ROOT / "results" / "benchmark_training.json").read_text())
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
                f"| TransE round, {name.upper()}, k={dim}, {label} | {part[mode]['seconds_per_round'] * 1e3:.0f} ms "
                f"| {peer * 1e3:.0f} ms | {part[f'{mode}_ratio']:.0f} |"
            )
    ranking = json.loads((ROOT / "results" / "benchmark_ranking.json").read_text())
    mine, whole = ranking["fb15k"]["transe"]["seconds"], ranking["pykeen"]["seconds_per_triple"] * 59_071
    rows.append(
        f"| exact ranks of FB15K's test split, TransE, k=200 | {mine:.1f} s | {whole:.0f} s (from 500 triples) "
        f"| {ranking['ratio_to_pykeen']:.0f} |"
    )
    million = ranking["million"]["transe"][-1]
    paper, big = training["paper"], reading["ten_million"]
    rows += [
        "",
        "A round of TransA's `paper` recipe on FB15K, with full 200 x 200 metrics, takes {:.1f} s ({:.1f} TransE rounds) "
        "at a peak of {:.2f} GB.".format(
            paper["seconds_per_round"], paper["ratio_to_transe"], paper["peak_memory_gigabytes"]
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


if __name__ == "__main__":
    readme = ROOT / "README.md"
    text = readme.read_text()
    readme.write_text(re.sub(f"{BEGIN}.*?{END}", f"{BEGIN}\n{speed_table()}\n{END}", text, flags=re.DOTALL))
