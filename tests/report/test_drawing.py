"""Names and colours in figures."""

from __future__ import annotations

import pytest

from replitune.report.drawing import COLUMN, Figure, add_legend, elided, render

LONG = [f"transformer-big-deep-encoder-relative-positions-and-{k:08d}" for k in range(3)]


def test_names_are_short_where_they_agree_and_never_where_they_differ():
    assert elided(["a", "better"]) == {}
    assert list(elided(LONG).values()) == ["…00000000", "…00000001", "…00000002"]
    both = [f"the-same-beginning-of-{word}-and-the-same-end" for word in ("old", "older", "oldest")]
    assert list(elided(both).values()) == ["…old…", "…older…", "…oldest…"]
    assert [*elided(["x" * 60, "y" * 60])["y" * 60]] == ["y"] * 11 + ["…"] + ["y"] * 12
    assert elided(["a" * 30 + middle + "z" * 30 for middle in "bc"]) == {}, "nothing can go"


def test_what_the_font_cannot_write_has_its_number():
    assert elided(["Übergröße", "翻訳システム大", "Система", "نظام"]) == {
        "翻訳システム大": "system 2",
        "نظام": "system 4",
    }


@pytest.mark.filterwarnings("error")
def test_a_figure_of_long_names_has_room_for_its_axes_and_no_type_3_font():
    texts = []

    def draw(axes: object) -> None:
        for name in LONG:
            axes.plot([0, 1], label=f"{name} (n = 5)")  # type: ignore[attr-defined]
        axes.set_yticks(range(3), LONG)  # type: ignore[attr-defined]
        axes.set_title(f"{LONG[0]} better", loc="right")  # type: ignore[attr-defined]
        axes.text(0, 0, LONG[1])  # type: ignore[attr-defined]
        add_legend(axes)
        texts.append(axes)

    drawn = render("x", Figure("", draw, names=elided(LONG)), ("pdf", "svg"))
    assert b"/Type3" not in drawn["pdf"]
    (axes,) = texts
    shown = [axes.get_title(loc="right"), *(text.get_text() for text in axes.texts)]
    shown += [label.get_text() for label in axes.get_yticklabels()]
    assert shown == ["…00000000 better", "…00000001", "…00000000", "…00000001", "…00000002"]
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == [f"…0000000{k} (n = 5)" for k in range(3)]
    assert axes.get_position().width * COLUMN > 0.6 * COLUMN
