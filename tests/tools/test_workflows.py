"""Workflows of the forge run commands that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_workflows_call_targets_of_the_makefile():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    checks = (ROOT / ".github/workflows/checks.yml").read_text()
    assert set(re.findall(r"run: make ([a-z-]+)$", checks, re.M)) == {"lint", "test"}
    weekly = (ROOT / ".github/workflows/weekly.yml").read_text()
    named = re.search(r"target:\n((?: +- .*\n)+)", weekly)[1]
    called = {line.split()[1] for line in named.splitlines()}
    assert called and called | {"lint", "test"} <= targets


def test_hooks_before_a_commit_run_the_tools_of_lint():
    recipe = re.search(
        r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.M
    )
    lint = set(re.findall(r"ruff (?:check|format)|tools/\w+\.py", recipe[1]))
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    assert lint == {"ruff check", "ruff format", "tools/check.py"}
    assert all(tool in hooks for tool in lint)
