"""New experiments: a folder with what `replitune run` needs, made from the files in config/.

The files are the same as in a clone. Where a new folder differs (names of files, the user's systems),
their text is edited, so that comments stay.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from replitune.errors import ReplituneError
from replitune.running.files import atomic_open
from replitune.workflow.places import PROFILE, top

EXPERIMENT = "experiment.yaml"

IGNORED = """# what runs make: everything in here can be made again
results/
.snakemake/
"""

SNAKEFILE = f"""# So that `snakemake --cores all` runs this experiment as `replitune run` does.

from replitune.workflow.places import top


configfile: "{EXPERIMENT}"


include: str(top() / "workflow" / "Snakefile")


rule default:  # Snakemake takes no default target from a file that is included
    default_target: True
    input:
        rules.all.input,
"""


@dataclass(frozen=True)
class Template:
    about: str
    file: str
    """Its path below the top of the workflow."""
    scripts: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    """Extras needed besides `workflow`."""
    first: str = ""
    """A command to run before the first run."""


FETCH = "scripts/fetch_multi30k.py"
TEMPLATES = {
    "quickstart": Template(
        "two phrase-based systems on a made-up language pair; needs no data", "config/config.yaml"
    ),
    "own-outputs": Template("systems whose outputs you have", "config/experiments/own-outputs.yaml"),
    "multi30k": Template(
        "phrase-based systems on real text, German to English",
        "config/experiments/multi30k.yaml",
        (FETCH,),
        first=f"python {FETCH} .",
    ),
    "nmt-seeds": Template(
        "neural systems by Marian, a seed per run, on the same text",
        "config/experiments/nmt-seeds.yaml",
        (FETCH,),
        ("nmt",),
        f"python {FETCH} .",
    ),
    "transformers": Template(
        "a pretrained model of `transformers`, fine-tuned with a seed per run",
        "config/experiments/transformers.yaml",
        (FETCH, "scripts/train_transformers.py", "scripts/translate_transformers.py"),
        first=f"pip install torch transformers sentencepiece && python {FETCH} .",
    ),
}


@dataclass(frozen=True)
class Given:
    """The user's outputs, by names relative to the new folder."""

    references: Sequence[str]
    systems: Mapping[str, Sequence[str]] = field(default_factory=dict)


def write_experiment(folder: Path, name: str, given: Given | None = None) -> list[Path]:
    """Write a new experiment into `folder`: its file, the schema, a profile, a Snakefile, a .gitignore.
    No existing file is overwritten."""
    template, files = TEMPLATES[name], top()
    text = (files / template.file).read_text("utf-8")
    text = text.replace("$schema=../schema/", "$schema=schema/")
    schema = "experiment.schema.json"
    texts = {
        EXPERIMENT: text if given is None else with_outputs(text, given),
        f"schema/{schema}": (files / "config" / "schema" / schema).read_text("utf-8"),
        f"{PROFILE}/config.yaml": profile_text(files),
        "Snakefile": SNAKEFILE,
        ".gitignore": IGNORED,
        **{script: (files / script).read_text("utf-8") for script in template.scripts},
    }
    texts = {path: text.replace(template.file, EXPERIMENT) for path, text in texts.items()}
    for path in texts:
        if (folder / path).exists():
            raise ReplituneError(
                "already exists", file=folder / path, fix="choose another folder, or remove it"
            )
    for path, text in texts.items():
        with atomic_open(folder / path) as handle:
            handle.write(text)
    return [folder / path for path in texts]


def profile_text(files: Path) -> str:
    """The profile of a workstation, for the user to edit."""
    text = (files / "workflow" / "profiles" / "workstation" / "config.yaml").read_text("utf-8")
    _, settings = text.split("\n", 1)
    return f"# Options of Snakemake for `replitune run` in this folder.\n{settings}"


def with_outputs(text: str, given: Given) -> str:
    """The template `own-outputs` with these outputs in place of the example's."""
    first = next(iter(given.systems))
    lines = [
        line
        for name, files in given.systems.items()
        for line in (f"  {name}:", "    backend: outputs", f"    files: {{test: {_words(files)}}}")
    ]
    for pattern, new in (
        (r"(?ms)^#\n# As it stands.*?(?=^\n)", ""),
        (r"(?<=references: )\S+ +# a list for several", _words(given.references)),
        (r"(?ms)^  baseline:\n.*?(?=^\n)", "\n".join(lines) + "\n"),
        (r"(?m)^  - \{name: bleu,.*$", "  - bleu    # of tokenised text: bleu:tokenize=none"),
        (r"(?<=\{baseline: )baseline(?=\})", first),
    ):
        text, number = re.subn(pattern, lambda _, new=new: new, text, flags=re.MULTILINE)  # type: ignore[misc]
        assert number == 1, pattern
    return text.replace("test2010", "test")


def _words(files: Sequence[str]) -> str:
    """A name, or a list of names, in YAML."""
    names = list(files)
    return json.dumps(names[0] if len(names) == 1 else names, ensure_ascii=False)


# ---- made-up outputs


SEGMENTS = 300
EXAMPLE = {"baseline": 0.24, "better": 0.20}
"""The systems of the example, with their shares of wrong words."""
RUNS = 3


def write_example(folder: Path) -> Given:
    """Write made-up outputs of two systems, for users who have none yet."""
    from replitune.backends.corruption import corrupted_replica
    from replitune.corpus.synthetic import synthetic_testset
    from replitune.running.files import write_lines

    references = synthetic_testset(1, "test", SEGMENTS).references[0]
    write_lines(folder / "outputs" / "ref.txt", references)
    for system, errors in EXAMPLE.items():
        for number in range(1, RUNS + 1):
            lines = corrupted_replica(
                references,
                seed=1,
                system=system,
                replica=f"run-{number:03d}",
                testset="test",
                errors=errors,
                spread=0.02,
            )
            write_lines(folder / "outputs" / f"{system}.{number}.txt", lines)
    return Given(["outputs/ref.txt"], {name: [f"outputs/{name}.*.txt"] for name in EXAMPLE})


def seen_from(folder: Path, names: Sequence[str]) -> list[str]:
    """Names relative to the working directory, made relative to `folder`; absolute ones stay."""
    return [n if os.path.isabs(n) else os.path.relpath(n, folder) for n in names]
