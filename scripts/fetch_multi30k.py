"""Fetch Multi30k (task 1, tokenised and lower-cased) into DIR/multi30k, checked by sha256.

    python scripts/fetch_multi30k.py DIR
    replitune run config/experiments/multi30k.yaml --corpora DIR

Elliott et al. 2016, 2017; Barrault et al. 2018. For non-commercial research and education.
Files that already exist are checked and kept.
"""

from __future__ import annotations

import gzip
import hashlib
import sys
import urllib.request
from pathlib import Path

from replitune.running.files import atomic_path, read_bytes

ADDRESS = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/tok/"

FILES = {
    "test_2016_flickr.de": "c6a33d39d48f9f510de147651316cd9d918e09ad0219df734a2f16b6baccacc4",
    "test_2016_flickr.en": "5b7f32627cf99eced828311b955dae9800bb52bc8b91cf8b6526829e605b29d2",
    "test_2016_flickr.fr": "1463bd5960f9bfe098ec3cd752d3df0c49c84dc646fb518964a29232658cd836",
    "test_2017_flickr.de": "02067e4a9402786a4fcb8c1b6f4307e4a5073ced64800abead5273b54f5f31f6",
    "test_2017_flickr.en": "c9d1dfd7a26add989382e534af235af9f0f658b2a30e7eb0efdaf142496ee54f",
    "test_2017_flickr.fr": "c0583117a47b31e8a6c6a97cfe8de153e462074668f4e994764fcc80b21d33b4",
    "test_2017_mscoco.de": "e2825990b8a4e5289d2cdba801d57c187810bab9b4f5d87a30c35800a0d871b6",
    "test_2017_mscoco.en": "fe69ae004d71c42ead0301e70c57de5b1b6b5fb7f52210d42b22801e98e656f3",
    "test_2017_mscoco.fr": "0b6a4620f02b6b9acf7811fda23f90fed9c6baa0b96aa224db50a273078c84d1",
    "test_2018_flickr.de": "45ce6b121708adf538d3a8c71dc1acbcb1e0f2bca74ace8e58652f9ea5b96335",
    "test_2018_flickr.en": "a66e25cbb8323d74a40873dcd222659f39e30ee7687a6ed5445833aed0673239",
    "test_2018_flickr.fr": "22d44a4ba21e050f218399f2c4f9e1a36875f209820c1f1c9af5b76a2947a71c",
    "train.de": "cb5a23529b65ec2061f1dc446192a9c37382b63cc75f81a0be59d34894b3a505",
    "train.en": "08925f8e0572bcd5a006702fc5fe20e2d77c6917d4eebd576fc20de6693c2119",
    "train.fr": "8fa41bb718412bcb7c5dfa58603842810a01543eae86a51279f9886b901266e1",
    "val.de": "97232bd273eceb7207f689527386a97e4be2616b18ada47576bdaf96c8ae1f00",
    "val.en": "46573ce391ae227f1c72f873392436a20ef18e0a6d518098cfbd70b77c8572ec",
    "val.fr": "b303e301aa21fe7822a846b2b3fb2d5a1121ec807cd5b1d006fb7b2b5507168a",
}
"""SHA-256 of the unpacked text; `test_2016_flickr.de` is test_2016_flickr.lc.norm.tok.de."""


def is_there(path: Path, sha256: str) -> bool:
    return path.exists() and hashlib.sha256(read_bytes(path)).hexdigest() == sha256


def download(address: str, sha256: str) -> bytes:
    """The content at an address, which must have this SHA-256."""
    print(f"fetching {address.rpartition('/')[2]}")
    with urllib.request.urlopen(address, timeout=60) as answer:
        data: bytes = answer.read()
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise SystemExit(f"{address}: sha256 {found}, expected {sha256}: not kept")
    return data


def write(path: Path, data: bytes) -> None:
    with atomic_path(path) as temporary:
        temporary.write_bytes(gzip.compress(data, mtime=0))


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[1]) / "multi30k"
    for short, expected in FILES.items():
        part, language = short.split(".")
        name = f"{part}.lc.norm.tok.{language}"
        if not is_there(folder / f"{name}.gz", expected):
            write(folder / f"{name}.gz", download(ADDRESS + name, expected))
    print(f"{len(FILES)} files in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
