"""scripts/defects.py: each of its defects can be put into the tree as it is now."""

from __future__ import annotations

import runpy
import subprocess
import sys

import pytest

from support import ROOT

DEFECTS = runpy.run_path(str(ROOT / "scripts" / "defects.py"))["DEFECTS"]


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_what_a_defect_replaces_stands_exactly_once(defect):
    assert (ROOT / defect.file).read_text("utf-8").count(defect.old) == 1
    assert defect.new != defect.old


def test_what_is_to_fail_is_a_test():
    tests = sorted({defect.test for defect in DEFECTS})
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *tests],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stdout[-2000:]
