"""Calls of the API that the OpenAPI document allows, and calls that it forbids: none may break the server or surprise a client.

    python reliability/api.py [RUN ...] [--cases 5000] [--seed 0]

schemathesis makes the calls from the document: for every operation, as many that follow it as ones that do not. A server on a
loopback address answers them. No answer may be an error of the server, or have a status, a type or a form that the document does not
name. Without a run, a small one is made. A failure ends the script with code 1 and the call that failed.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from benchmarks import record
from transa.server.app import API, make_app
from transa.server.limits import Limits
from transa.server.runs import open_runs
from transa.server.serving import Address, listen, make_server

#: About how many operations there are.
OPERATIONS = 22
CHECKS = [
    content_type_conformance,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
]


@contextmanager
def serving(runs: Sequence[Path]) -> Iterator[str]:
    """Serve runs by a thread of this process, and yield the address."""
    listening = listen(Address(port=0))
    server = make_server(make_app(open_runs(runs)), Limits())
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def count_cases(runs: Sequence[Path], cases: int, seed: int = 0) -> Counter[str]:
    """Make so many calls of every operation, half of them wrong, and return how many there were; fail at the first surprise."""
    counts: Counter[str] = Counter()
    with serving(runs) as address:
        schema = schemathesis.openapi.from_url(f"{address}{API}/openapi.json")
        names = [path.name for path in runs]
        for found in schema.get_all_operations():
            operation = found.ok()
            for mode in GenerationMode:
                check_operation(operation, mode, (cases + 1) // 2, seed, names, counts)
    return counts


def check_operation(
    operation: schemathesis.schemas.APIOperation,
    mode: GenerationMode,
    cases: int,
    number: int,
    names: Sequence[str],
    counts: Counter[str],
) -> None:
    """Make calls of one operation, most of them with the name of a run that there is."""

    @seed(number)
    @settings(
        max_examples=cases,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def calls(case: schemathesis.Case) -> None:
        label = f"{operation.method.upper()} {operation.path}"
        counts[label] += 1
        if "run" in case.path_parameters and counts[label] % 8:
            case.path_parameters["run"] = names[counts[label] % len(names)]
        case.call_and_validate(checks=CHECKS, timeout=120)

    with suppress(Unsatisfiable):  # an operation without parameters cannot be called wrongly
        calls()


def main() -> int:
    """Make the calls, and write down how many there were."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--cases", type=int, default=5000, help="in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-record", action="store_true")
    asked = parser.parse_args()
    started = time.time()
    with TemporaryDirectory() as folder:
        if asked.runs:
            runs = [Path(shutil.copytree(run, Path(folder) / run.name)) for run in asked.runs]
        else:
            from tests.inference.runs import kept

            runs = [kept(Path(folder) / "line", named=True)]
        counts, number = Counter[str](), asked.seed
        while counts.total() < asked.cases:
            left = asked.cases - counts.total()
            counts += count_cases(runs, max(2, left // OPERATIONS), number)
            number += 1
    print(f"{counts.total():,} calls of {len(counts)} operations, no surprise")
    if not asked.no_record:
        figures = {
            "seed": asked.seed,
            "runs": [run.name for run in runs],
            "cases": counts.total(),
            "operations": counts,
        }
        print(record.save("reliability_api", started, **figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
