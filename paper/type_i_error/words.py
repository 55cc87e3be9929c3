"""How numbers are printed."""

from __future__ import annotations

import pandas as pd


def rate(value: float, digits: int = 3) -> str:
    """.052

    >>> rate(0.0516), rate(1.0), rate(0.0), rate(-0.4, 1)
    ('.052', '1', '0', '-.4')
    """
    if pd.isna(value):
        return "--"
    if value in (0, 1):
        return f"{value:.0f}"
    return f"{value:.{digits}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.{digits}f}"


def count(value: float) -> str:
    r"""200{,}000: no blank after the comma, also in math."""
    assert value == int(value), value
    return f"{int(value):,}".replace(",", "{,}")


def percent(value: float) -> str:
    return rf"{100 * value:.0f}\%"


def plain(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}" if abs(value) >= 1 else rate(value, digits)


def short(value: float) -> str:
    """.1, 10"""
    return f"{value:g}".replace("0.", ".", 1) if abs(value) < 1 and value else f"{value:g}"
