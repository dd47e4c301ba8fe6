"""The tool that runs tests with the kernels of other processors."""

import subprocess
import sys
from pathlib import Path

from tools.test_elsewhere import settings, without_effect

ROOT = Path(__file__).parents[2]


def test_a_test_runs_once_for_each_setting(tmp_path):
    log = tmp_path / "log"
    (tmp_path / "test_it.py").write_text(
        "import os\n"
        "def test_it():\n"
        f"    with open({str(log)!r}, 'a') as f:\n"
        "        print(os.environ.get('ATEN_CPU_CAPABILITY', 'native'), file=f)\n"
    )
    tool = str(ROOT / "tools" / "test_elsewhere.py")
    done = subprocess.run(
        [sys.executable, tool, "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    runs = log.read_text().split()
    repeated = "not run again" in done.stdout
    assert runs == ["default"] if repeated else runs[0] == "default" and len(runs) == 2


def test_settings_that_mean_nothing_are_told():
    variables = settings("x86_64", ["X86_V3"])["oldest"]
    assert variables["NPY_DISABLE_CPU_FEATURES"] == "X86_V3"
    facts = {"OpenBLAS": ["Nehalem"], "NumPy": [], "torch": "DEFAULT"}
    assert not list(without_effect(variables, facts))
    other = {"OpenBLAS": ["Zen"], "NumPy": ["X86_V3"], "torch": "AVX2"}
    assert len(list(without_effect(variables, other))) == 3
