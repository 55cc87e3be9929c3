"""Fetch real neural replicas into DIR/flores-seeds, checked by sha256: the outputs of six transformers
with five training seeds each on the devtest of FLoRes, Nepali to English.

    python scripts/fetch_flores_seeds.py DIR
    replitune run config/experiments/flores-seeds.yaml --corpora DIR

Guzmán et al. 2019 (texts: CC BY-SA 4.0); outputs of the public repository j0ma/flores.
Files that already exist are checked and kept.
"""

from __future__ import annotations

import io
import sys
import tarfile
from pathlib import Path

from fetch_multi30k import download, is_there, write

ADDRESS = "https://raw.githubusercontent.com/j0ma/flores/ea23e17d9be82b7e7d097bdc90cd8ebfa20abeb5/"
TEXTS = "data/wikipedia_en_ne_si_test_sets.tgz"
TEXTS_SHA256 = "7a0245bb29fd03b46a1129831c183dfba0efc8452a9739d962759f25141aa648"
MEMBERS = {
    "source.ne": ("ne", "74d2dfe465cdd71e08dfc4382933bc68a8cdbb619672f9da3c048c87311f5384"),
    "reference.en": ("en", "a436279201365ea21e0100483bfe62bde932fb21ccb54a100f29ba129d850a54"),
    "doc_id": ("doc_id", "1f63a11045e9060eba1c59496ab11be1ce0485e1d9ae9907a772dbb86de09ea8"),
}
"""Members of the archive of texts (suffix, SHA-256), by the names that they get here."""

OUTPUTS = {
    "baseline.seed-10": "3c5da07489d295659104d4742d490bf9255758a6f7e7d3ed11f2e70ad175c938",
    "baseline.seed-11": "5d14e7bf8e93a32b52e62cd74b824d5f921bdd8853e3215a7a32139c5ba1812d",
    "baseline.seed-12": "92396dddf83175b4001c881b18ddae81399e07f289b0947d39c8581e08862279",
    "baseline.seed-13": "fe42f6f6b745527ba9940bae6f64dc905e2ec6c746b5440bdc0bc5453bfd8275",
    "baseline.seed-14": "e202c7c721729e27ed251eec4309e67e5bcaa2f040caf8e8d88a2f444b2b4423",
    "baseline-fp16.seed-10": "8f62c477aca127f0c0b6bf0d9e514dc608a19d0083ce840409bb4eae0cb80b33",
    "baseline-fp16.seed-11": "70e1a40f39df1cacea127592481384881c16efe2c533785d3948adce9882b465",
    "baseline-fp16.seed-12": "c19508a6b81ef063ae2d258fbc5759cc670249b85f4b2124a5951a1217851d30",
    "baseline-fp16.seed-13": "ec9041a2391157f4b5d577d67f427dcff04086b64bff242fa1782f89c53e8106",
    "baseline-fp16.seed-14": "6922fa40afdf2460bb309bbc09439ba83086f777ea845737329f1e8e0f7add94",
    "lmvr.seed-10": "520ddade566ea4a2c5a0d9e0d1ed2929a339dd1afb72763b12fe8cbcf3b22de6",
    "lmvr.seed-11": "ebb800a00da516f6bdbc55c717f9425963d04eba4068dd4477e2cbc26ee16b0e",
    "lmvr.seed-12": "8205666c514d52662eaf19438a6bfa9d6fe552aa94a15564224596674594d053",
    "lmvr.seed-13": "60c3d24d87262416ba1949cb829db19c01b106ffe09226c3318a05bce54258cf",
    "lmvr.seed-14": "4d64a80cc5f6d45b812273e5506425cc1b156ab6b0446d7cba2806df7b72b205",
    "lmvr-tuned.seed-10": "ab5e10789782d52cdadab91e3834b391d08f017aeca0bee12df766e4389bcba1",
    "lmvr-tuned.seed-11": "577ed6bd06c7f1ce1cd5f2df989a8aead94e469e98bfcef3c26fb837d819d8c0",
    "lmvr-tuned.seed-12": "cfe642388ac7e37d753bc9422dcffbe820345af2850bd299f9d413e4d029ba71",
    "lmvr-tuned.seed-13": "249665b0009e65a181734763bd8ffd9535a7614724dda4ae928fd93031809ef5",
    "lmvr-tuned.seed-14": "52749d27d1734644022974008ebe2c24ff1da6ea6a7807e3a2d9f3bb36cea241",
    "morsel.seed-10": "7abe02f8c9794ed289ef4456711d300fe35af3cc3209451b8b737391114db5c1",
    "morsel.seed-11": "f4e5927278ddb5b865f376f12c723b58b2685af0d7695e9b5209a19b4f045ed5",
    "morsel.seed-12": "ee9ba21fb2314846a6892fd46b31e8290fec2e3f46859f80d1a8aef8a4e7e581",
    "morsel.seed-13": "8efeef99bcf7a8f312150d4cffe6775cac7c2b45ea463ee5fd3e1faa9886953f",
    "morsel.seed-14": "8d3cbafd2e3c6e1aad2649f50e09ddab3aa60bf32a6b5552cae71b70bd3603bc",
    "subword-nmt.seed-10": "195680eac5198a1a23a057d0ac3a1193a17724de9c24b8f28d8ee3c4993c21ec",
    "subword-nmt.seed-11": "aaa21bdf9fcb61631136255aeef6ee9b0ee560f53952440a0bfb2c15438bbb5d",
    "subword-nmt.seed-12": "f5eb6852e5230cfe7e21db4e037e37556a2d3ee237091afe1f8ccb78e42d24c7",
    "subword-nmt.seed-13": "fc76fc678dcee3ad83548bbf37318658fa8b52a7c008e81774cd20ac95fe51b8",
    "subword-nmt.seed-14": "f3855486c2571584db1607bff29eb1a49d086f11b0e109bcf7477ba0adf0263f",
}
"""SHA-256 of the unpacked text, by system and seed."""


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[1]) / "flores-seeds" / "ne-en"
    if not all(is_there(folder / f"{name}.gz", sha256) for name, (_, sha256) in MEMBERS.items()):
        packed = download(ADDRESS + TEXTS, TEXTS_SHA256)
        with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
            for name, (suffix, _) in MEMBERS.items():
                text = tar.extractfile(f"wikipedia_en_ne_si_test_sets/wikipedia.devtest.ne-en.{suffix}")
                assert text is not None
                write(folder / f"{name}.gz", text.read())
    for name, sha256 in OUTPUTS.items():
        if not is_there(folder / f"{name}.gz", sha256):
            system, seed = name.split(".")
            place = f"translation-output/{system}/{seed}/ne-en.output.raw.stitched.detok.en"
            write(folder / f"{name}.gz", download(ADDRESS + place, sha256))
    print(f"{len(MEMBERS) + len(OUTPUTS)} files in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
