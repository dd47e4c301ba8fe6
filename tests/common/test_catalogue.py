"""The catalogue is true: names import, ids are unique, the page is up to date."""

from pathlib import Path

import pytest

from pansophy.catalogue import catalogue_page, read_catalogue, resolve_name
from pansophy.testing import all_estimators

ROOT = Path(__file__).parents[2]
NAMES = sorted({name for entry in read_catalogue() for name in entry.names})


@pytest.mark.parametrize("name", NAMES)
def test_name_imports(name):
    assert resolve_name(name) is not None


def test_ids_and_families():
    ids = [e.id for e in read_catalogue()]
    assert ids == sorted(set(ids))
    assert all(
        e.id.startswith("K") and e.topic and e.family and e.names
        for e in read_catalogue()
    )


def test_every_estimator_has_a_row():
    known = {part for name in NAMES for part in name.split(".")}
    missing = [name for name, _ in all_estimators() if name not in known]
    assert not missing


def test_curriculum_is_current():
    page = (ROOT / "docs" / "curriculum.md").read_text("utf-8")
    assert page == catalogue_page(), "run `make docs`"


def test_references_exist():
    library = (ROOT / "docs" / "references.bib").read_text("utf-8")
    missing = [
        k for e in read_catalogue() for k in e.references if f"{{{k}," not in library
    ]
    assert not missing, f"add to docs/references.bib: {missing}"
