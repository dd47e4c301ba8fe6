"""A folder with a table and a finished run, and a visitor of its studio."""

import json
import shutil

import pytest
from starlette.testclient import TestClient

from pansophy.compare import compare
from pansophy.studio.access import StudioAccess
from pansophy.studio.application import studio_application
from tests.studio.small_folder import METHODS, write_survey

PORT = 8765
CHANGE = {"x-pansophy": "studio", "origin": f"http://localhost:{PORT}"}


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A folder with a table of people and a run that has ended."""
    root = tmp_path_factory.mktemp("studio")
    write_survey(root / "survey.csv")
    run = root / "survey-pansophy"
    result = compare(
        root / "survey.csv",
        "bought",
        roles={"age": "number"},
        methods=METHODS,
        repeats=1,
        workers=0,
        folder=run,
    )
    (run / "results.json").write_text(json.dumps(result.to_dict()), "utf-8")
    result.save(run / "model.pansophy")
    (run / "report.html").write_text("<!DOCTYPE html><p>A report.", "utf-8")
    return root


@pytest.fixture
def root(finished, tmp_path):
    """The same, to change."""
    place = tmp_path / "tables"
    shutil.copytree(finished, place)
    return place


@pytest.fixture
def visitor(root):
    """A client that was let in."""
    access = StudioAccess(PORT)
    application = studio_application(root, access, 100_000)
    with TestClient(application, base_url=f"http://localhost:{PORT}") as client:
        assert client.get(f"/?token={access.token}").status_code == 200
        client.change = lambda url, **more: client.post(url, headers=CHANGE, **more)
        client.root = root
        yield client
