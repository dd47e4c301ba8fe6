"""Tools for a release: change log, bill of materials, one version everywhere."""

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import changelog  # noqa: E402
import release_check  # noqa: E402
import sbom  # noqa: E402


def test_fragments_become_a_section_by_kind(tmp_path):
    (tmp_path / "one.fix.md").write_text("Mended\nthis.\n")
    (tmp_path / "two.api.md").write_text("Renamed that.")
    (tmp_path / "README.md").write_text("not a fragment")
    found = changelog.read_fragments(tmp_path)
    text = changelog.section("1.2", "2030-01-02", "Summary.", found)
    assert text.index("## 1.2 (2030-01-02)") < text.index("Summary.")
    assert text.index("- Renamed that.") < text.index("- Mended this.")
    assert "### Faster" not in text


@pytest.mark.parametrize("name", ["one.md", "one.feat.md", "a b.fix.md"])
def test_a_fragment_of_another_name_is_told(tmp_path, name):
    (tmp_path / name).write_text("Something.")
    with pytest.raises(ValueError, match=re.escape(name)):
        changelog.read_fragments(tmp_path)


def test_sections_of_earlier_versions_stay():
    page = changelog.with_section(
        "# Changes\n\n## 0.9 (x)\n\n- old\n", "1.0", "## 1.0 (y)"
    )
    again = changelog.with_section(page, "1.0", "## 1.0 (z)\n\n- new\n")
    assert re.findall(r"^## .*", again, re.M) == ["## 1.0 (z)", "## 0.9 (x)"]
    assert again.count("# Changes") == 1 and "- old" in again


def test_all_fragments_of_the_project_can_be_read():
    assert sum(map(len, changelog.read_fragments().values())) > 0


def test_one_version_everywhere():
    assert release_check.check_versions() == []


def test_the_bill_of_materials_is_that_of_the_project():
    assert release_check.check_sbom() == []
    bill = sbom.bill()
    names = [c["name"] for c in bill["components"]]
    assert len(names) == len(set(names)) and {"numpy", "torch"} <= set(names)
    refs = {d["ref"] for d in bill["dependencies"]}
    assert refs == {c["bom-ref"] for c in bill["components"]} | {
        bill["metadata"]["component"]["bom-ref"]
    }
    assert json.loads(sbom.text()) == bill


def test_what_releasing_asks_for_is_there():
    """Targets and files that RELEASING.md and the container recipe name exist."""
    text = (ROOT / "RELEASING.md").read_text()
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    for line in re.findall(r"`make ([a-z -]+)`", text):
        assert set(line.split()) <= set(targets)
    recipe = (ROOT / "Containerfile").read_text()
    copied = [
        w for line in re.findall(r"^COPY (.*)", recipe, re.M) for w in line.split()
    ]
    assert all((ROOT / w).exists() for w in copied if not w.startswith("/"))
    addresses = release_check.addresses_to_fill()
    assert all(release_check.PLACEHOLDER in line for line in addresses)


def test_the_manylinux_check_reads_the_tag():
    path = Path("pansophy-1-cp311-cp311-linux_x86_64.whl")
    assert "is no tag that an index takes" in release_check.check_manylinux(path)[0]
