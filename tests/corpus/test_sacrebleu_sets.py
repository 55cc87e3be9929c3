"""sacrebleu's test sets, from a cache as sacrebleu itself fills it; no network."""

import pytest
import sacrebleu.dataset.base
from sacrebleu.dataset import DATASETS

from replitune.corpus.reader import read_testset
from replitune.corpus.testset import TestSet
from replitune.errors import ReplituneError

REFERENCE = """<refset setid="newstest2014" srclang="any" trglang="en">
<doc sysid="ref" docid="1-bbc" genre="news" origlang="de">
<p>
<seg id="1">Hello &amp; welcome</seg>
<seg id="2">Bye</seg>
</p>
</doc>
<doc sysid="ref" docid="2-cnn" genre="news" origlang="en">
<seg id="1">Again</seg>
</doc>
</refset>
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """wmt14/full de-en as unpacked, before sacrebleu has made text of it."""
    dataset = DATASETS["wmt14/full"]
    raw = tmp_path / "wmt14" / "raw"
    monkeypatch.setattr(dataset, "_outdir", str(tmp_path / "wmt14"))
    monkeypatch.setattr(dataset, "_rawdir", str(raw))
    for name, text in zip(
        dataset.langpairs["de-en"], (REFERENCE.replace("Bye", "Tschüss"), REFERENCE), strict=True
    ):
        (raw / name).parent.mkdir(parents=True, exist_ok=True)
        (raw / name).write_text(text, encoding="utf-8")
    return dataset


def test_source_reference_and_documents(cache, monkeypatch):
    monkeypatch.setattr(cache, "maybe_download", lambda: None)
    testset = read_testset("sacrebleu:wmt14/full/de-en")
    assert testset == TestSet(
        (["Hello &amp; welcome", "Bye", "Again"],),  # as sacrebleu has it
        ["Hello &amp; welcome", "Tschüss", "Again"],
        ["1-bbc", "1-bbc", "2-cnn"],
    )
    assert read_testset("wmt14/full/de-en", format="sacrebleu") == testset
    assert read_testset("sacrebleu:wmt14/full/de-en", names=["ref"]) == testset


def test_without_network_the_message_says_what_to_do(cache, monkeypatch):
    def no_network(*args, **kwargs):
        raise OSError("Name or service not known")

    monkeypatch.setattr(sacrebleu.dataset.base, "download_file", no_network)
    with pytest.raises(ReplituneError, match="could not fetch") as error:
        read_testset("sacrebleu:wmt14/full/de-en")
    assert "Name or service not known" in str(error.value)
    assert "SACREBLEU" in str(error.value)


def test_a_damaged_download_exits_sacrebleu_and_not_us(cache, monkeypatch):
    def wrong_md5(*args, **kwargs):
        raise SystemExit(1)

    monkeypatch.setattr(sacrebleu.dataset.base, "download_file", wrong_md5)
    with pytest.raises(ReplituneError, match="could not fetch"):
        read_testset("sacrebleu:wmt14/full/de-en")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sacrebleu:wmt41/de-en", "no such test set"),
        ("sacrebleu:wmt14", "no such test set"),
        ("sacrebleu:", "no such test set"),
        ("sacrebleu:wmt14/full/de-xx", "no such language pair"),
    ],
)
def test_unknown_names(name, message):
    with pytest.raises(ReplituneError, match=message):
        read_testset(name)


def test_unknown_reference(cache, monkeypatch):
    monkeypatch.setattr(cache, "maybe_download", lambda: None)
    with pytest.raises(ReplituneError, match="one of ref"):
        read_testset("sacrebleu:wmt14/full/de-en", names=["B"])
