"""Coverage-guided fuzzing of one target: python tests/fuzz/guided.py TARGET [libFuzzer options].

`make fuzz` runs all of them. An input that is neither refused nor read right ends it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
# numba compiles the kernels of n-best lists from their bytecode, which has to stay as it is
with atheris.instrument_imports(include=["replitune", "yaml"], exclude=["replitune.tuning.nbest_files"]):
    from fuzz.seeds import NASTY
    from fuzz.targets import TARGETS


def main() -> None:
    name, *options = sys.argv[1:]
    target = TARGETS[name]
    corpus = Path(next(option for option in options if not option.startswith("-")))
    for number, seed in enumerate(target.seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    words = corpus.with_name(f"{name}.words")
    lines = ['"' + "".join(f"\\x{byte:02x}" for byte in word[:64]) + '"' for word in NASTY if word]
    words.write_text("\n".join(lines) + "\n")
    memory = Path("/dev/shm")  # on a disk half of the time would be waiting
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as temporary:
        folder = Path(temporary)

        def once(data: bytes) -> None:
            target(data, folder)

        atheris.Setup([sys.argv[0], f"-dict={words}", *options], once)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
