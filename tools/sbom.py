"""The bill of materials that the wheel carries (CycloneDX 1.6, `sbom.cdx.json`).

It lists what the package declares to need, and that nothing is copied into it: the
wheel has no code of others inside. `make sbom` writes the file; `make release-check`
fails if it is not that of `pyproject.toml`.
"""

import json
import re
import tomllib
from pathlib import Path

from changelog import read_version

ROOT = Path(__file__).parents[1]
FILE = ROOT / "sbom.cdx.json"


def component(line, scope) -> dict:
    """A component of the bill from a requirement such as `numpy>=2.0`."""
    name, bounds = re.fullmatch(r"([\w.-]+)(?:\[[^]]*\])?(.*)", line).groups()
    name = re.sub(r"[-_.]+", "-", name).lower()
    out = {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}",
        "name": name,
        "purl": f"pkg:pypi/{name}",
        "scope": scope,
    }
    if bounds.strip():
        out["properties"] = [{"name": "pansophy:versions", "value": bounds.strip()}]
    return out


def bill() -> dict:
    """The bill as plain data, without a date: two builds are equal."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    version = read_version()
    needed = [component(line, "required") for line in project["dependencies"]]
    extras = project["optional-dependencies"]
    asked = re.search(r"\[(.*)\]", extras["all"][0])[1].split(",")
    optional = [component(line, "optional") for e in asked for line in extras[e]]
    known = {c["name"] for c in needed}
    components = needed + [
        c
        for i, c in enumerate(optional)
        if c["name"] not in known | {o["name"] for o in optional[:i]}
    ]
    own = f"pkg:pypi/pansophy@{version}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": own,
                "name": "pansophy",
                "version": version,
                "purl": own,
                "licenses": [{"expression": project["license"]}],
            }
        },
        "components": components,
        "dependencies": [
            {"ref": own, "dependsOn": [c["bom-ref"] for c in needed]},
            *({"ref": c["bom-ref"]} for c in components),
        ],
    }


def text() -> str:
    return json.dumps(bill(), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
    print(f"wrote {FILE.name}")
