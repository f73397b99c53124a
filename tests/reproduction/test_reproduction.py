"""Plans, records and tables of the reproduction."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

import transa
from transa.data.relations import RelationStatistics
from transa.errors import InputError
from transa.evaluation import evaluate
from transa.models import MODELS
from transa.reproduction import Event, Results, make_tables, plan_table, reproduce
from transa.reproduction.first_defaults import FIRST
from transa.reproduction.metric_plot import draw_study
from transa.reproduction.metric_study import beside, findings
from transa.reproduction.page import reproduction_page
from transa.reproduction.paper import OUR_CATEGORY_COUNTS, PAPER_CATEGORY_COUNTS, implied_sides, printed
from transa.reproduction.paper_tables import ONE_SIDED
from transa.reproduction.plan import SYSTEMS, without_metric
from transa.reproduction.records import dataset_fingerprint, run_key
from transa.reproduction.running import mean_rank_parts
from transa.training import TrainingError, recipe_from
from transa.training.recipe import Recipe
from transa.training.recipe_files import load_recipe
from transa.training.trainer import start_model

TINY = {"epochs": 2, "dim": 8, "validate_every": 0, "negatives": 1}
ROWS = ["transe:paper", "transa:paper"]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("reproduction")
    plan = plan_table("table2", ROWS, ["umls"], TINY)
    outcome = reproduce(plan, Results(folder / "results"), folder / "runs")
    assert outcome.done == ["umls_transe_paper", "umls_transa_paper"]
    return folder / "results", folder / "runs"


def test_every_system_of_the_paper_has_a_row_and_transa_one_for_each_recipe() -> None:
    plan = plan_table("table2")
    assert {row.model for row in plan.rows} == set(SYSTEMS) <= set(MODELS)
    assert [row.recipe for row in plan.rows if row.model == "transa"] == ["paper", "authors", "modern", "softmax"]
    assert plan.datasets == ("wn18", "fb15k", "fb15k-237", "wn18rr", "umls")
    assert plan_table("table4").datasets == ("wn11", "fb13")
    for table in ("table2", "table3", "table4"):
        for dataset in ("wn18", "fb15k", "wn11", "fb13"):
            assert set(printed(table, dataset) or {}) <= set(SYSTEMS)


def test_an_option_is_set_for_the_models_that_have_it() -> None:
    plan = plan_table("table2", ROWS, ["umls"], {"norm": 2, "dim": 9})
    assert [dict(cell.overrides) for cell in plan.cells] == [{"dim": 9, "norm": 2}, {"dim": 9}]
    assert plan.cells[0].settings.norm == 2
    with pytest.raises(InputError, match="norm: transa has no such option"):
        plan_table("table2", ["transa:paper"], ["umls"], {"norm": 2})


def test_the_papers_mean_is_that_of_its_columns() -> None:
    for system, (mean,) in printed("table4", "mean").items():
        both = printed("table4", "wn11", system)[0] + printed("table4", "fb13", system)[0]
        assert abs(both / 2 - mean) < 0.1
    for dataset, row in {name: printed("table1", name) for name in ("wn18", "fb15k", "wn11", "fb13")}.items():
        assert abs((row["train"] + row["valid"] + row["test"]) / row["entities"] - row["atpe"]) < 0.01, dataset


def test_table_3_implies_that_table_2_is_one_sided() -> None:
    sides = implied_sides(PAPER_CATEGORY_COUNTS)
    assert {side: round(value, 1) for side, value in sides.items()} == {"head": 74.4, "tail": 80.4, "both": 77.4}
    assert printed("table2", "fb15k", "transa")[3] == 80.4


@pytest.mark.slow
def test_a_run_that_is_there_is_not_repeated(done: tuple[Path, Path], tmp_path: Path) -> None:
    results, _ = done
    events: list[Event] = []
    before = {path: path.read_bytes() for path in results.glob("*.json")}
    outcome = reproduce(plan_table("table2", ROWS, ["umls"], TINY), Results(results), tmp_path, callback=events.append)
    assert (len(outcome.skipped), outcome.done) == (2, [])
    assert [event.kind for event in events] == ["skipped", "skipped"]
    assert {path: path.read_bytes() for path in results.glob("*.json")} == before
    assert list(tmp_path.iterdir()) == []
    other = plan_table("table2", ROWS, ["umls"], {**TINY, "seed": 1})
    assert len(reproduce(other, Results(results), tmp_path, budget=0).left) == 2


@pytest.mark.slow
def test_a_second_task_is_added_to_the_record_without_training_again(done: tuple[Path, Path]) -> None:
    results, runs = done
    events: list[Event] = []
    plan = plan_table("table4", ["transe:paper"], ["umls"], TINY)
    reproduce(plan, Results(results), runs, callback=events.append)
    assert [event.kind for event in events] == ["evaluate", "done"]
    record = Results(results).find(plan.cells[0])
    assert record is not None
    assert {"link_prediction", "classification"} <= set(record)
    assert record["command"].count("transa reproduce") == 2


@pytest.mark.slow
def test_a_record_says_how_to_repeat_it(done: tuple[Path, Path]) -> None:
    record = json.loads(next(done[0].glob("umls_transa_paper_*.json")).read_text("utf-8"))
    fields = {
        "command",
        "seed",
        "commit",
        "versions",
        "wall_seconds",
        "recipe",
        "dataset",
        "split",
        "training",
        "machine",
    }
    assert fields <= set(record)
    assert record["command"].startswith("transa reproduce table2 --models transa:paper --datasets umls --set dim=8")
    for side in ("head", "tail", "both"):
        assert {"raw", "filtered"} == set(record["link_prediction"][side])
    assert "categories" in record["link_prediction"]
    graph = transa.load("umls")
    assert record["dataset"]["fingerprint"] == dataset_fingerprint(graph)


def test_the_key_depends_on_settings_dataset_and_split() -> None:
    first, second = (
        plan_table("table2", ["transe:paper"], ["umls"], {"seed": seed}).cells[0].settings for seed in (0, 1)
    )
    keys = {run_key(first, "a"), run_key(second, "a"), run_key(first, "b"), run_key(first, "a", "valid")}
    assert len(keys) == 4
    assert dataset_fingerprint(transa.load("umls")) != dataset_fingerprint(transa.load("nations"))


def test_every_setting_has_the_value_that_records_without_it_mean() -> None:
    missing = set(Recipe.model_fields) - set(FIRST)
    assert not missing, f"add {', '.join(sorted(missing))} to FIRST, with the value that means what was done before"


def test_a_changed_default_is_another_run_and_leaves_old_records_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = plan_table("table2", ["transe:paper"], ["umls"], TINY).cells[0]
    before = replace(cell, settings=cell.settings.model_copy(update={"validate_sample": 500}))
    monkeypatch.setitem(FIRST, "validate_sample", 500)  # the default of then; today's is another
    assert cell.settings.validate_sample == 1000
    old = Results(tmp_path).add(before, "a", link_prediction={"which": "old"})
    record = json.loads(old.read_text("utf-8"))
    del record["recipe"]["validate_sample"]  # made before there was such a setting
    old = old.rename(tmp_path / "a name of its own.json")
    old.write_text(json.dumps(record), "utf-8")
    results = Results(tmp_path)
    for fingerprint in ("a", None):
        assert results.find(cell, fingerprint) is None
        assert results.find(before, fingerprint) is not None
    new = results.add(cell, "a", link_prediction={"which": "new"})
    assert new != old
    assert results.add(before, "a", classification={}) == old  # what was measured beside it goes to the same file
    again = Results(tmp_path)
    assert again.find(before, "a", "link_prediction")["link_prediction"] == {"which": "old"}  # type: ignore[index]
    assert again.find(cell, "a", "link_prediction")["link_prediction"] == {"which": "new"}  # type: ignore[index]
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.slow
def test_interrupted_training_is_taken_up_again(tmp_path: Path) -> None:
    plan = plan_table("table2", ["transe:paper"], ["nations"], {**TINY, "epochs": 4})

    def interrupt(event: Event) -> None:
        if event.kind == "epoch" and event.progress is not None and event.progress.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(plan, Results(tmp_path / "results"), tmp_path / "runs", callback=interrupt)
    assert len(reproduce(plan, Results(tmp_path / "results"), tmp_path / "runs").done) == 1
    (run,) = (tmp_path / "runs").iterdir()
    assert len((run / "log.jsonl").read_text("utf-8").splitlines()) == 4


def test_a_budget_that_is_used_up_starts_no_run(tmp_path: Path) -> None:
    plan = plan_table("table2", ["transe:paper", "um"], ["nations"], TINY)
    outcome = reproduce(plan, Results(tmp_path / "results"), tmp_path / "runs", budget=1e-9)
    assert len(outcome.left) == 2
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_a_run_that_comes_to_nothing_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transa.training import Trainer

    real = Trainer.fit

    def fit(self: Trainer, *arguments: object, **options: object) -> object:
        if self.recipe.model == "um":
            raise TrainingError("epoch 1: the loss is NaN or infinite")
        return real(self, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Trainer, "fit", fit)
    plan = plan_table("table2", ["um", "transe:paper"], ["nations"], TINY)
    outcome = reproduce(plan, Results(tmp_path / "results"), tmp_path / "runs")
    assert (list(outcome.failed), outcome.done) == (["nations_um"], ["nations_transe_paper"])


@pytest.mark.slow
def test_paper_and_measured_figures_stand_in_columns_of_their_own(done: tuple[Path, Path]) -> None:
    plan = plan_table("table2", ROWS, ["wn18", "umls"], TINY)
    wn18, umls = make_tables(plan, Results(done[0]))
    assert [column.key.partition("_")[0] for column in wn18.columns if column.source != "name"].count("paper") == 4
    for column in wn18.columns:
        assert column.source == "name" or column.key.startswith(f"{column.source}_")
    transe, both, tail = wn18.rows
    assert (transe["paper_mr_filtered"], both["paper_hits10_filtered"], tail["side"]) == (251, 94.3, "tail")
    assert all(row[column.key] is None for row in wn18.rows for column in wn18.columns if column.source == "measured")
    assert all(row[column.key] is None for row in umls.rows for column in umls.columns if column.source == "paper")
    assert all(
        row[column.key] is not None for row in umls.rows for column in umls.columns if column.source == "measured"
    )
    assert umls.rows[1]["measured_mr_raw"] != umls.rows[2]["measured_mr_raw"]
    assert {row["system"] for row in wn18.rows if row["side"] == "tail"} == {SYSTEMS[ONE_SIDED[0]]}


@pytest.mark.slow
def test_tables_are_markdown_csv_and_latex(done: tuple[Path, Path]) -> None:
    (table,) = make_tables(plan_table("table3", ROWS, ["umls"], TINY), Results(done[0]))
    lines = table.markdown().splitlines()
    assert len({line.count("|") for line in lines if line.startswith("|")}) == 1
    assert "head 1-N<br>paper | head 1-N<br>ours" in lines[2]
    rows = list(csv.DictReader(io.StringIO(table.csv())))
    assert [row["system"] for row in rows] == ["TransE", "TransA"]
    assert rows[0]["paper_head_1-1"] == ""
    assert float(rows[0]["measured_tail_N-N"]) == table.rows[0]["measured_tail_N-N"]
    assert r"\begin{tabular}" in table.latex()
    assert r"(\%, filtered)" in table.latex()


@pytest.mark.slow
def test_table_4_has_a_mean_only_where_both_were_measured(done: tuple[Path, Path]) -> None:
    (table,) = make_tables(plan_table("table4"), Results(done[0]))
    row = next(row for row in table.rows if row["system"] == "NTN")
    assert (row["paper_accuracy_wn11"], row["paper_mean"], row["measured_mean"]) == (70.4, 78.8, None)


def test_transe_is_trained_as_transa_is_but_for_the_metric() -> None:
    ours = load_recipe("transa", "authors", "wn18")
    plain = without_metric(ours)
    changed = {name for name, value in plain.model_dump().items() if value != getattr(ours, name)}
    assert changed == {"model", "training_score", "metric_update", "metric_scale", "metric_clip"}
    assert (plain.model, plain.norm, plain.epochs) == ("transe", 1, ours.epochs)


def test_the_study_of_the_metric_takes_no_models() -> None:
    with pytest.raises(InputError, match="--models"):
        plan_table("metric", ["transh"], ["wn18"])


@pytest.mark.slow
def test_the_study_of_the_metric_gives_mean_and_deviation_over_seeds(tmp_path: Path) -> None:
    plan = plan_table("metric", None, ["wn18"])
    by_row = {row: [cell for cell in plan.cells if cell.row == row] for row in plan.rows}
    assert {row.variant for row, cells in by_row.items() if len(cells) == 3} == {"authors", "softmax"}
    results = Results(tmp_path)
    at = next(place for place, row in enumerate(plan.rows) if len(by_row[row]) == 3)
    row = plan.rows[at]
    for place, cell in enumerate(by_row[row]):
        side = {"raw": {}, "filtered": {"hits@10": 0.5 + 0.1 * place, "mrr": 0.3, "hits@1": 0.2, "mr": 100.0}}
        far = {"beyond": {"1000": 7}, "share_beyond": {"1000": 0.5}, "by_degree": {"2": {"n": 3, "mr": 50.0}}}
        measured = {"both": side, "tail": side, "head": side, "categories": {}, "mean_rank": far}
        results.add(cell, "fingerprint", link_prediction=measured, seconds={"training": 1.0})
    table, far = make_tables(plan, Results(tmp_path))
    assert far.rows[at]["measured_beyond_1000"] == 7
    assert far.rows[at]["measured_by_degree_2"] == 50.0
    line = table.rows[at]
    assert line["measured_seeds"] == 3
    assert line["measured_hits10"] == pytest.approx(60.0)
    assert line["measured_hits10_deviation"] == pytest.approx(10.0)
    assert line["measured_mrr_deviation"] == pytest.approx(0.0)
    assert table.rows[at + 1]["measured_hits10"] is None
    assert findings(table) == []
    side["filtered"]["hits@10"] = 0.75
    results.add(by_row[plan.rows[at + 1]][0], "fingerprint", link_prediction=measured, seconds={"training": 1.0})
    (said,) = findings(make_tables(plan, Results(tmp_path))[0])
    assert said.startswith("- WN18, *authors* (1 seed beside 3): Hits@10 +15.0, MRR +0.000")
    picture = draw_study(make_tables(plan, Results(tmp_path)), tmp_path / "study.svg").read_text()
    assert "WN18" in picture
    assert "authors" in picture
    assert "softmax" not in picture  # not measured


def test_a_variant_is_compared_with_the_transe_that_is_trained_alike() -> None:
    (table, *_) = make_tables(plan_table("metric", None, ["wn18rr"]), Results(Path("none")))
    names = {str(row["recipe"]): plain["recipe"] for row in table.rows if (plain := beside(table, row)) is not None}
    assert names["softmax"] == "softmax"
    assert names["small, weights >= 0"] == "small"
    assert names["small, one direction"] == "small, one direction"


def test_what_makes_up_the_mean_rank() -> None:
    graph = transa.load("umls")
    found = evaluate(start_model(graph, recipe_from({"model": "transe", "dim": 4})), graph)
    parts, ranks = mean_rank_parts(found), found.ranks()
    groups = parts["by_degree"].values()
    assert sum(group["n"] for group in groups) == len(graph.test)
    assert sum(group["n"] * group["mr"] for group in groups) / len(graph.test) == pytest.approx(ranks.mean())
    assert parts["beyond"] == {"1000": 0, "10000": 0, "30000": 0}


def test_the_page_shows_the_paper_and_leaves_what_is_missing_empty(tmp_path: Path) -> None:
    page = reproduction_page(Results(tmp_path))
    assert "$" not in page
    assert "| TransA | paper | tail | 155 |  | 74 |  | 56.1 |  | 80.4 |  |  |  |  |" in page
    assert "gives Hits@10 of 74.4 for\nheads, 80.4 for tails and 77.4 for both" in page
    assert "846 / 5,275 / 8,641 / 44,309" in page
    assert "There is no record of a run yet" in page


def test_files_that_are_no_records_are_left_alone_and_damaged_ones_named(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"seconds": 1}')
    assert Results(tmp_path).records == {}
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(InputError, match=r"bad\.json"):
        Results(tmp_path)


def test_the_categories_of_fb15k(benchmark_data: Path) -> None:
    graph = transa.load("fb15k")
    relations = graph.test[:, 1]
    categories = RelationStatistics.of(graph.training_facts).categories
    ours = [categories[one] for one in relations]
    assert {name: ours.count(name) for name in OUR_CATEGORY_COUNTS} == OUR_CATEGORY_COUNTS  # type: ignore[arg-type]
    everything = RelationStatistics.of(graph.known())
    heads, tails = everything.heads_per_tail[relations] > 1.5, everything.tails_per_head[relations] > 1.5
    counts = [
        int((~heads & ~tails).sum()),
        int((~heads & tails).sum()),
        int((heads & ~tails).sum()),
        int((heads & tails).sum()),
    ]
    assert counts == list(PAPER_CATEGORY_COUNTS.values())
