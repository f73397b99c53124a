"""A further process that takes part in a search: ``python -m transa.tuning.worker FOLDER …``, started by `transa.tune`."""

from __future__ import annotations

import argparse
import json
import os
import time
from contextlib import suppress

from transa.training import Options
from transa.tuning.study import StudyFolder
from transa.tuning.trials import Limits, search


def main() -> None:
    """Train trials until the time is over, or the process that started this one is gone."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--trial-seconds", type=float, required=True)
    parser.add_argument("--repeating", type=float, required=True)
    parser.add_argument("--trials", type=int)
    parser.add_argument("--options", type=json.loads, required=True)
    parser.add_argument("--seed", type=int, required=True)
    given = parser.parse_args()
    parent, folder = os.getppid(), StudyFolder(given.folder)
    deadline = time.monotonic() + given.seconds
    limits = Limits(deadline, given.trial_seconds, given.repeating, given.trials, lambda: os.getppid() != parent)
    with suppress(KeyboardInterrupt):  # Ctrl-C reaches all processes, and the first one answers it
        search(folder, folder.graph(), Options(**given.options), limits, given.seed, lambda: None)


if __name__ == "__main__":
    main()
