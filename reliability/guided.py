"""The same targets under atheris, which looks which lines an input reaches and breaks files further from there.

    pip install atheris
    python reliability/guided.py train.csv -runs=100000 -seed=1

What follows the target goes to libFuzzer. An input that fails is written to the current folder as ``crash-*``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import atheris

#: numba compiles functions as they are written, without what atheris would add.
COMPILED = [f"transa.kernels.{path.stem}" for path in (ROOT / "src/transa/kernels").glob("*.py")]

with atheris.instrument_imports(include=["transa"], exclude=COMPILED):
    from reliability.targets import SHARES, targets


def main() -> None:
    """Fuzz one target; its whole files are where atheris starts."""
    if len(sys.argv) < 2 or sys.argv[1] not in SHARES:
        sys.exit(f"usage: guided.py TARGET [options of libFuzzer]; targets: {', '.join(SHARES)}")
    target = targets()[sys.argv.pop(1)]
    with TemporaryDirectory() as place:
        folder, corpus = Path(place) / "folder", Path(place) / "corpus"
        folder.mkdir()
        corpus.mkdir()
        target.prepare(folder)
        names = list(target.broken)
        for number, name in enumerate(names):
            (corpus / str(number)).write_bytes(bytes([number]) + target.files[name])

        def once(data: bytes) -> None:
            if data:
                target.accepts(folder, names[data[0] % len(names)], data[1:])

        atheris.Setup([*sys.argv, "-timeout=5", "-rss_limit_mb=2048", "-max_len=4096", str(corpus)], once)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
