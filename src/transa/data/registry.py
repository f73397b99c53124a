"""The benchmark datasets: their names and sizes, where they are on this machine, and where they are downloaded from."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path

import platformdirs

from transa.data.download import DownloadError, download
from transa.errors import InputError, TransaError

#: The environment variable that names a folder of datasets, one folder each. It comes before the cache and the network.
ENVIRONMENT = "TRANSA_DATA"


FileProgress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class RemoteFile:
    """A file of a dataset: its name in the dataset's folder, its public address, its SHA-256."""

    name: str
    url: str
    sha256: str


@dataclass(frozen=True)
class Dataset:
    """A benchmark dataset.

    Attributes
    ----------
    name
        As people write it.
    entities, relations, train, valid, test
        How many it has of each; valid and test count labelled negatives too.
    source
        Who made it.
    files
        What to download; empty for the datasets that the package contains.
    """

    name: str
    entities: int
    relations: int
    train: int
    valid: int
    test: int
    source: str
    files: tuple[RemoteFile, ...] = ()

    @property
    def embedded(self) -> bool:
        """Whether the package contains it."""
        return not self.files


def _files(base: str, **names_and_sums: tuple[str, str]) -> tuple[RemoteFile, ...]:
    return tuple(RemoteFile(f"{name}.txt", f"{base}/{remote}", sha) for name, (remote, sha) in names_and_sums.items())


_VILLMOW = "https://raw.githubusercontent.com/villmow/datasets_knowledge_embedding/master"
_SOCHER = "https://raw.githubusercontent.com/dddoss/tensorflow-socher-ntn/master/data"

DATASETS: dict[str, Dataset] = {
    "umls": Dataset("UMLS", 135, 46, 5_216, 652, 661, "Kemp et al. 2006"),
    "kinship": Dataset("Kinship", 104, 25, 8_544, 1_068, 1_074, "Kemp et al. 2006"),
    "nations": Dataset("Nations", 14, 55, 1_592, 199, 201, "Kemp et al. 2006"),
    "fb15k": Dataset(
        *("FB15K", 14_951, 1_345, 483_142, 50_000, 59_071, "Bordes et al. 2013"),
        _files(
            f"{_VILLMOW}/FB15k",
            train=("train.txt", "f9cdfd2685f6483bd3a499d433919b15d62f0715c6cf18b2ca30c2aa5c47a704"),
            valid=("valid.txt", "471929cde9cf74b1caa8348c2b601c8010d6b2f2a56bae49b4ebfd14c9bce855"),
            test=("test.txt", "5b60b4de325482c3368e22d0b7452d465b09a610fea0ce3768d8b1e8b5a7e42a"),
        ),
    ),
    "fb15k-237": Dataset(
        *("FB15k-237", 14_541, 237, 272_115, 17_535, 20_466, "Toutanova and Chen 2015"),
        _files(
            f"{_VILLMOW}/FB15k-237",
            train=("train.txt", "61099230e4439f90885ca9767739e31e8e32f54736fa1c35952b27997bc7c08a"),
            valid=("valid.txt", "749cbe9d923bac7b9354da5614ecfed2e0220256d442c3e04a6b303db1f273d9"),
            test=("test.txt", "e2e35e8e6113de220140b6f44dc71a5207b0fc6872d575e874aefe13259b655b"),
        ),
    ),
    "wn18": Dataset(
        *("WN18", 40_943, 18, 141_442, 5_000, 5_000, "Bordes et al. 2013"),
        _files(
            f"{_VILLMOW}/WN18/original",
            train=("train.txt", "24c9b02dc57d3ae8ca8467ce355995edee7be8eddc3bd070ee34d3c6fc3c95eb"),
            valid=("valid.txt", "13347bfb5e17d1cae003e0bfe29b4716d3ab748e8cfb6af997138d37da3a51dc"),
            test=("test.txt", "d22c19d176d4ba6a6f0d0c6bfce39ab3c16e3b20e1df6f9efe0d9ed86542fa10"),
        ),
    ),
    "wn18rr": Dataset(
        *("WN18RR", 40_943, 11, 86_835, 3_034, 3_134, "Dettmers et al. 2018"),
        _files(
            f"{_VILLMOW}/WN18RR/original",
            train=("train.txt", "038612e783c215ee5f3ca9fbfca27b8d0739be1028fe4ee7c174aecf0b83d5df"),
            valid=("valid.txt", "453ce7202afa58094a04d2b1560ee2b02660f1c260b32ce6651c8ccedd1028ab"),
            test=("test.txt", "0383bceaaa1096cf3c03ec021ed0048068e2355dbfc0239b292cefdac821cec5"),
        ),
    ),
    "wn11": Dataset(
        *("WN11", 38_696, 11, 112_581, 5_218, 21_088, "Socher et al. 2013"),
        _files(
            f"{_SOCHER}/Wordnet",
            entities=("entities.txt", "63c0ff6dc0e194aadcfa67aad6e28c1513b316ccf813ec30eb6974cb5ce657ff"),
            train=("train.txt", "1a49d78c8bbd2285514f7aaa4d5c9390c1fbb4fdd7151013d8285b01420b4651"),
            valid=("dev.txt", "c98b66ad43717096069551df27b4261f5ddf336d6c742848b52d5f17c3bfaaa0"),
            test=("test.txt", "ebcf1c6f84d5f27c85e173f399ae7c4755fd582a0d95c7173369f6ca539c9f0f"),
        ),
    ),
    "fb13": Dataset(
        *("FB13", 75_043, 13, 316_232, 11_816, 47_466, "Socher et al. 2013"),
        _files(
            f"{_SOCHER}/Freebase",
            entities=("entities.txt", "5a11268f94eda269d2254edde0b6ec886d7e96d38e5b4a40598a21b395956e11"),
            train=("train.txt", "a5fbd015907724cea39d1eb8379cdd5b4859515196beda261e302401428035fb"),
            valid=("dev.txt", "431d05a8dd27cf5adbfc9ae5f7f3f40037bcdc9632bfc87eccdb4895e2633c6c"),
            test=("test.txt", "a85b2e843f64b2020987bf3e99aac0a875ac5d05e900f5a63a37305b7c34741b"),
        ),
    ),
}

_ALIASES = {"kinships": "kinship", "wordnet18": "wn18", "wordnet11": "wn11", "wordnet": "wn11", "freebase13": "fb13"}


def canonical(name: str) -> str | None:
    """Return the registry's spelling of a dataset's name, or None: FB15k-237, fb15k_237 and FB15K 237 all mean the same one."""
    squeezed = _squeeze(name)
    known = {_squeeze(key): key for key in DATASETS} | _ALIASES
    return known.get(squeezed) if not set(name) & {"/", "\\", "."} else None


def locate(name: str, progress: FileProgress | None = None) -> Path:
    """Return the folder of a dataset: in ``$TRANSA_DATA``, in the package or in the user's cache, after a download if need be.

    Parameters
    ----------
    name
        The registry's spelling.
    progress
        Called while a file is downloaded: with its name, the bytes that have arrived, and those expected (None if the server does
        not say).
    """
    place = whereabouts(name)
    if place is not None:
        return place
    dataset, folder = DATASETS[name], cache_folder() / name
    for file in dataset.files:
        shown = None if progress is None else partial(progress, f"{dataset.name}/{file.name}")
        try:
            download(file.url, folder / file.name, file.sha256, shown)
        except DownloadError as error:
            wanted = ", ".join(other.name for other in dataset.files)
            raise TransaError(
                f"{dataset.name} could not be downloaded: {error}\n"
                f"Without a network, put {wanted} into {folder}, or into the folder {dataset.name} of a folder that the "
                f"environment variable {ENVIRONMENT} names."
            ) from None
    return folder


def whereabouts(name: str) -> Path | None:
    """Return the folder that holds a dataset on this machine, or None if it must be downloaded first."""
    given = os.environ.get(ENVIRONMENT)
    if given:
        root = Path(given)
        if not root.is_dir():
            raise InputError(f"the environment variable {ENVIRONMENT} names no folder: {given!r}")
        for entry in sorted(root.iterdir()):
            if entry.is_dir() and _squeeze(entry.name) == _squeeze(name):
                return entry
    if DATASETS[name].embedded:
        return Path(str(resources.files("transa.data"))) / "embedded" / name
    folder = cache_folder() / name
    return folder if all((folder / file.name).exists() for file in DATASETS[name].files) else None


def cache_folder() -> Path:
    """Return where downloaded datasets are kept."""
    return Path(platformdirs.user_cache_dir("transa", appauthor=False)) / "datasets"


def _squeeze(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())
