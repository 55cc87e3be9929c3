"""Finds the files of the workflow: below this folder in a wheel (setup.py), at the top of a clone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from replitune.errors import ReplituneError

PROFILES = ("workstation", "slurm")
PROFILE = "profile"
"""Folder of the Snakemake profile, beside the experiment."""


def top() -> Path:
    """The folder of the Snakefile, config, workflow, envs and scripts."""
    here = Path(__file__).resolve()
    for folder in (here.with_name("files"), here.parents[3]):
        if (folder / "Snakefile").is_file():
            return folder
    raise ReplituneError(
        "the files of the workflow are not in the installation",
        file=here.with_name("files"),
        fix="install replitune again",
    )


def profile(name: str) -> Path:
    """The folder of a profile: one of ours by its name, or the user's own folder."""
    given = Path(name)
    folder = top() / "workflow" / "profiles" / name if name in PROFILES else given
    if not (folder / "config.yaml").is_file():
        raise ReplituneError(
            f"no profile {name!r}", expected=f"{', '.join(PROFILES)}, or a folder with config.yaml"
        )
    return folder


def profile_of(file: Path, given: str | None = None) -> Path:
    """The folder of the profile that runs an experiment file: the given one, or else the one beside the
    file, or else that of a workstation."""
    own = file.parent / PROFILE
    if given is None and (own / "config.yaml").is_file():
        given = str(own)
    return profile(given or "workstation")


def executor(profile: Path) -> str:
    """The name of what runs a profile's jobs: `local` for this machine, or that of a cluster."""
    return str(_settings(profile).get("executor", "local"))


STORAGE = "default-storage-provider"


def stores_elsewhere(profile: Path, options: Sequence[str] = ()) -> bool:
    """Whether a profile or options of Snakemake put results into a storage."""
    return STORAGE in _settings(profile) or any(word.startswith(f"--{STORAGE}") for word in options)


def _settings(profile: Path) -> dict[str, Any]:
    from replitune.experiment.yaml_file import read_yaml

    settings: dict[str, Any] = read_yaml(profile / "config.yaml")[0]
    return settings
