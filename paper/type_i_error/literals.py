"""Numbers that are typed in paper.tex: none but those declared here, as often as said here.

What a count or a rate is comes from values.py. What remains are formulas, the levels and sizes that
were asked for, names, and words such as "two systems". A phrase that is typed once more than it is
declared is as wrong as one that is not declared.
"""

from __future__ import annotations

import re

FORMULAS = {
    r"1/(2n-1)": 1,
    r"d_i^2/(2n-1)": 1,
    r"D/(2n-1)": 2,
    r"d_i^2/(4n-2)": 1,
    r"2S_i^2/n": 1,
    r"$S_i^2$": 2,
    r"the $2n$ outputs": 1,
    r"2\Phi": 1,
    r"\frac{\sigma^2_{a,s}}{n_s}": 1,
    r"\frac{\sigma^2_d}{N}": 1,
    r"\frac{\sigma^2_{e,s}}{n_s N}": 1,
    r"$\sigma^2_d$": 1,
    r"(1\,|\,$segment$)": 1,
    r"(1\,|\,$run$)": 1,
    r"$s^2_s$": 1,
    r"s_s^2/n_s": 1,
    r"$n_s-1$": 1,
    r"=N-1$": 1,
    r"u_{(1)}\le u_{(2)}": 1,
    r"u_{(j-1)}": 1,
    r"$u_{(0)}=0$": 1,
    r"\max(\Vseg-\Vint, 0)": 1,
    r"\max\Bigl(1,": 1,
    r"($R=0$, $n=1$)": 1,
    r"($R/D=0$)": 1,
}
LEVELS = {
    r"at .05": 10,
    r"at .05 and .01": 1,
    r".05 be": 2,
    r"and .01 be": 1,
    r"at .01": 2,
    r".05 can become": 1,
    r".05 is up to": 1,
    r"99\% interval": 1,
    r"95\% interval lies above .05": 1,
    r"$p\le.05$": 1,
    r"at .05 / .01": 1,
}
SIZES = {
    r"with $n=3$ and": 2,
    r"with $n=5$ (Fig": 1,
    r"with $n=3$, 5, 10 and 20": 1,
    r"with $n=5$, 10 and 20": 1,
    r"($n=3$ and 5)": 1,
    r"at $n=3$ when runs prevail": 1,
    r"with $n=3$, \val with 5, \val with 10 and \val with 20": 1,
    r"with $n=3$, 5 and 10": 1,
    r"\val with $n=3$)": 1,
    r"with $n=10$": 1,
    r"with 3, 5 and 10 runs": 1,
    r"with 3, 5, 10 and 20 runs each": 1,
    r"of these errors ($n=5$)": 1,
    r"trials ($n=5$)": 1,
    r"$N=100$, $R/D=1$": 1,
    r"$R/D=10$": 1,
    r"with 3 against 30": 1,
    r"$t$ with 3 degrees of freedom": 1,
}
NAMES = {
    r"Multi30k": 1,
    r"flickr 2016": 1,
    r"\test{dl6}": 4,
    r"\test{dl2}": 3,
    r"\texttt{clark2011}": 1,
    r"\texttt{fu2016}": 1,
}
WORDS = {
    "two sides": 1,
    "two equally good systems": 2,
    "Two null hypotheses, three scopes": 1,
    "mean two things": 1,
    "hundreds of degrees": 1,
    "the two systems": 1,
    "Two pools of a": 1,
    "Two older pools": 1,
    "two disjoint sets": 1,
    "two different systems": 1,
    "seven systems": 4,
    "two pairs after": 1,
    "three runs or more": 2,
    "three tuners": 1,
    "five runs a side": 1,
    "with five runs of each system": 1,
    "Two runs are not enough": 1,
    "about three runs costs": 1,
    "three standard deviations": 4,
    "between three runs and five": 1,
    "three runs a side": 1,
    "\\val at three standard deviations and \\val at five": 1,
    "three metrics": 1,
    "nine to one": 1,
    "At five standard deviations": 1,
    "three real pairs": 1,
    "five runs cost": 1,
    "three to five": 1,
    "five to twenty": 1,
    "time of five": 1,
    "Make three runs of each system at least, five if": 1,
    "one run in five of A": 1,
    "Two runs of each system stay": 1,
    "halves the noise": 1,
}
DECLARED = FORMULAS | LEVELS | SIZES | NAMES | WORDS
KEYS = (
    r"\\val\{[^}]*\}",
    r"\\(?:cite[pt]?|label|ref|input|bibliography|bibliographystyle)\{[^}]*\}",
    r"\\setlength\{[^}]*\}\{[^}]*\}",
    r"\\includegraphics\[[^]]*\]\{[^}]*\}",
)
"""What is no text: names of values, references and files, lengths."""
NUMBER = re.compile(
    r"\d[\d.,]*|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|"
    r"forty|fifty|sixty|seventy|eighty|ninety|hundreds?|thousands?|half|halves|thirds?|quarters?|"
    r"fifths?|tenths?|twice|thrice|dozens?|doubled?s?|per ?cent)\b",
    re.IGNORECASE,
)


def words_of(source: str) -> str:
    """The title and all that follows, without comments and keys; a value is \\val."""
    text = re.sub(r"(?<!\\)%.*", "", source)
    text = text[text.index(r"\title{") :]
    for pattern in KEYS:
        text = re.sub(pattern, r"\\val" if pattern.startswith(r"\\val") else " ", text)
    return re.sub(r"\s+", " ", text)


def undeclared(source: str) -> list[str]:
    """What is wrong with the numbers in the text of paper.tex; nothing if nothing is."""
    text = words_of(source)
    wrong = []
    for phrase in sorted(DECLARED, key=len, reverse=True):
        found = text.count(phrase)
        if found != DECLARED[phrase]:
            wrong.append(f"{phrase!r} is there {found} times, declared {DECLARED[phrase]} times")
        text = text.replace(phrase, " ~ ")
    for found in NUMBER.finditer(text):
        around = text[max(0, found.start() - 40) : found.end() + 40]
        wrong.append(f"{found[0]!r} is typed: ...{around}...")
    return wrong
