"""Every example runs, every reference key exists."""

import re
import runpy
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# nets that are trained for two epochs only, unless the slow tests are asked for
LONG_TRAINING = ("generative_digits", "long_memory", "two_moons_generators")
KEY = re.compile(r"\[([A-Z][A-Za-z]+\d{4}[a-z]?)\]")


def run_example(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    plt.close("all")
    assert capsys.readouterr().out, "an example shows something"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_runs(path, tmp_path, monkeypatch, capsys):
    if path.stem in LONG_TRAINING:
        from pansophy import nn

        whole = nn.Training.__init__
        brief = lambda self, *args, epochs=10, **options: whole(
            self, *args, epochs=min(epochs, 2), **options
        )
        monkeypatch.setattr(nn.Training, "__init__", brief)
    run_example(path, tmp_path, monkeypatch, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG_TRAINING)
def test_example_runs_with_all_its_training(name, tmp_path, monkeypatch, capsys):
    run_example(ROOT / "examples" / f"{name}.py", tmp_path, monkeypatch, capsys)


def test_references_of_module_texts_exist():
    library = (ROOT / "docs" / "references.bib").read_text("utf-8")
    used = {
        (key, path.relative_to(ROOT))
        for path in (ROOT / "src").rglob("*.py")
        for key in KEY.findall(path.read_text("utf-8"))
    }
    missing = sorted(
        f"{key} in {path}" for key, path in used if f"{{{key}," not in library
    )
    assert not missing, "add to docs/references.bib: " + "; ".join(missing)


def test_files_to_imitate_exist():
    text = (ROOT / "docs" / "new_method.md").read_text("utf-8")
    files = re.findall(r"\| `([a-z_]+(?:/[a-z_]+)+\.py)`", text)
    assert len(files) == 5
    assert all((ROOT / "src" / "pansophy" / f).exists() for f in files)
