"""What is said of a release in several files is the same everywhere."""

from __future__ import annotations

import json
import re
import tomllib

import pytest
import yaml

import replitune
from support import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
RECIPE = yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text("utf-8"))
ZENODO = json.loads((ROOT / ".zenodo.json").read_text("utf-8"))


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


@pytest.mark.parametrize(
    "said",
    [
        PROJECT["version"],
        CITATION["version"],
        ZENODO["version"],
        RECIPE["context"]["version"],
        *re.findall(r'^VERSION = "(.*)"', text("workflow/Snakefile"), re.MULTILINE),
        *re.findall(r'tag[= ]"?v([\d.]*\d)', text("config/README.md")),
        *re.findall(r"replitune-([\d.]*\d)-py3", text("docs/start.md")),
        re.findall(r"^## (\S+)", text("CHANGELOG.md"), re.MULTILINE)[0],
    ],
)
def test_every_file_names_the_same_version(said: str):
    assert said == replitune.__version__


def test_every_file_names_the_same_license_and_authors():
    assert CITATION["license"] == ZENODO["license"] == "Apache-2.0"
    assert PROJECT["license"] == CITATION["license"]
    names = [author["name"] for author in PROJECT["authors"]]
    assert names == [author["name"] for author in CITATION["authors"]]
    assert names == [author["name"] for author in ZENODO["creators"]]


def test_every_file_names_the_same_repository():
    repository = PROJECT["urls"]["Repository"]
    assert CITATION["repository-code"] == repository
    site = PROJECT["urls"]["Documentation"]
    about = RECIPE["about"]
    assert (about["repository"], about["homepage"], about["license"]) == (
        repository,
        site,
        PROJECT["license"],
    )
    (inspect,) = yaml.safe_load(text("packaging/inspect/extensions.yml"))
    assert inspect["name"] == f"[replitune]({site})"
    assert inspect["author"] == f"[{CITATION['authors'][0]['name']}]({repository})"
    assert CITATION["url"] == site
    assert f"site_url: {site}\n" in text("mkdocs.yml")
    name = repository.removeprefix("https://github.com/")
    assert f'github("{name}", path="workflow/Snakefile"' in text("config/README.md")
    assert f"deploy-workflow {repository} " in text("config/README.md")


def test_versions_of_python_are_those_that_can_be_installed():
    low, high = re.findall(r"3\.(\d+)", PROJECT["requires-python"])
    said = re.findall(r"Python :: 3\.(\d+)", "\n".join(PROJECT["classifiers"]))
    assert said == [str(minor) for minor in range(int(low), int(high))]
    tested = yaml.safe_load(text(".github/workflows/ci.yml"))["jobs"]
    others = tested["tests"]["strategy"]["matrix"]["python"]
    assert [f"3.{minor}" for minor in said] == ["3.11", *others]


def test_the_conda_package_needs_what_the_core_tables_and_plots_need():
    other = {"pyarrow": "pyarrow-core", "matplotlib": "matplotlib-base"}
    wanted = PROJECT["dependencies"] + [
        each for extra in ("tables", "plots") for each in PROJECT["optional-dependencies"][extra]
    ]
    python, *needed = RECIPE["requirements"]["run"]
    assert python == f"python {PROJECT['requires-python']}"
    split = [re.fullmatch(r"([a-z0-9-]+)(.*)", each).groups() for each in wanted]
    assert sorted(needed) == sorted(f"{other.get(name, name)} {bounds}" for name, bounds in split)


def test_the_paper_has_what_its_journal_asks_for():
    _, metadata, body = text("paper/paper.md").split("---\n", 2)
    assert re.findall(r"^# (.*)", body, re.MULTILINE) == [
        "Summary",
        "Statement of need",
        "State of the field",
        "Software design",
        "Research impact statement",
        "AI usage disclosure",
        "Acknowledgements",
        "References",
    ]
    assert 750 <= len(body.split()) <= 1750
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= yaml.safe_load(
        metadata
    ).keys()


def test_actions_are_pinned_by_commit():
    """A tag can be moved."""
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        for action in re.findall(r"uses: *(.*)", path.read_text("utf-8")):
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", action), f"{path.name}: {action}"


def test_options_of_the_slurm_profile_are_known_to_every_plugin_that_is_allowed():
    plugin = pytest.importorskip("snakemake_executor_plugin_slurm")
    profile = yaml.safe_load(text("workflow/profiles/slurm/config.yaml"))
    options = {key.removeprefix("slurm-").replace("-", "_") for key in profile if key.startswith("slurm-")}
    assert options == {"no_requeue", "array_limit"}
    assert options <= plugin.ExecutorSettings.__dataclass_fields__.keys()
    (allowed,) = [one for one in PROJECT["optional-dependencies"]["slurm"] if "executor" in one]
    assert allowed.endswith(">=2.8")  # 2.7.1 does not know `no_requeue`


def test_the_slurm_profile_groups_every_rule_of_short_jobs():
    profile = yaml.safe_load(text("workflow/profiles/slurm/config.yaml"))
    rules = {
        name
        for path in (ROOT / "workflow" / "rules").glob("*.smk")
        for name in re.findall(r"^(?:rule|checkpoint) (\w+):", path.read_text("utf-8"), re.MULTILINE)
    }
    long = {"train", "tune", "train_replica", "ask", "look"}
    few = {"kernels", "derive", "human", "meta"}
    assert {group.partition("=")[0] for group in profile["groups"]} == rules - long - few


def test_citations_of_the_paper_are_in_its_bibliography():
    paper = text("paper/paper.md")
    cited = set(re.findall(r"@([a-z]+\d{4})", paper))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", text("paper/paper.bib"), re.MULTILINE))
    (figure,) = re.findall(r"\]\((\S+\.svg)\)", paper)
    assert (ROOT / "paper" / figure).is_file()


def test_numbers_of_the_paper_are_those_of_the_evidence():
    paper, evidence = text("paper/paper.md"), text("docs/evidence.md")
    calibration = paper.partition("# The test")[2].partition("![")[0]
    numbers = set(re.findall(r"\.\d{3,}", calibration))
    assert len(numbers) >= 5
    assert all(re.search(rf"{re.escape(number)}\b", evidence) for number in numbers)
