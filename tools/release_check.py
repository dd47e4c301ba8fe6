"""What a machine can check before a release. `make release-check`; see RELEASING.md.

Each check is a function that returns what is wrong, in sentences. Addresses that only
the owner knows are told and do not fail, unless `--publish` is given.

    python tools/release_check.py              all checks
    python tools/release_check.py --install    also installs the wheel into an empty
                                               environment and runs the demo there
"""

import email
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tools")]

import changelog  # noqa: E402
import sbom  # noqa: E402

PLACEHOLDER = "example.org"
ADDRESSED = ("pyproject.toml", "CITATION.cff", "SECURITY.md", "CODE_OF_CONDUCT.md")
LOOPS = "pansophy.linear_model.Lasso"  # a name whose loops are compiled quickly
NEEDED_FIELDS = (
    "Name", "Version", "Summary", "License-Expression", "License-File", "Keywords",
    "Requires-Python", "Description-Content-Type", "Author",
)  # fmt: skip


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def copy_of_sources(folder) -> Path:
    """The files that belong to the project, as they are now, in another folder."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(words, cwd=ROOT, check=True, capture_output=True).stdout
    target = Path(folder) / "pansophy"
    for name in filter(None, names.decode().split("\0")):
        source = ROOT / name
        if source.is_file() and not source.is_symlink():
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, place)
    return target


def build_backend(folder) -> dict:
    """Variables of a process with the pinned build requirements, installed apart."""
    place = Path(folder) / "build_requirements"
    requirements = project()["build-system"]["requires"]
    assert all("==" in r for r in requirements), "build requirements are pinned"
    words = [sys.executable, "-m", "pip", "install", "-q", "--target", str(place)]
    subprocess.run([*words, *requirements], check=True, stdout=subprocess.DEVNULL)
    return {**os.environ, "PYTHONPATH": str(place)}


def build(source, environment, *targets) -> list[Path]:
    """Build distributions of the sources in a folder, with the time of the commit."""
    words = ["git", "log", "-1", "--format=%ct"]
    time = subprocess.run(words, cwd=ROOT, capture_output=True, text=True).stdout
    out = source.parent / "dist"
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(out)]
        + [word for t in targets for word in ("-t", t)],
        cwd=source,
        env={**environment, "SOURCE_DATE_EPOCH": time.strip() or "1700000000"},
        check=True,
        capture_output=True,
    )
    return sorted(out.iterdir())


def check_two_builds(first, second) -> list[str]:
    """The same files, byte for byte, from two folders and at two times."""
    digest = lambda path: hashlib.sha256(path.read_bytes()).hexdigest()
    if [p.name for p in first] != [p.name for p in second]:
        return ["two builds give files of different names"]
    return [
        f"{a.name}: two builds differ"
        for a, b in zip(first, second, strict=True)
        if digest(a) != digest(b)
    ]


def wheel_metadata(wheel):
    """The METADATA of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def check_metadata(wheel) -> list[str]:
    """Fields that an index shows, and addresses."""
    about = wheel_metadata(wheel)
    out = [f"the metadata lack {f}" for f in NEEDED_FIELDS if not about.get(f)]
    labels = {line.split(",")[0] for line in about.get_all("Project-URL") or ()}
    missing = {"Homepage", "Source", "Documentation", "Changelog", "Issues"} - labels
    out += [f"the metadata lack the address {label}" for label in sorted(missing)]
    if len(about.get_payload()) < 1000:
        out.append("the metadata lack the README")
    return out


def check_contents(sdist, wheel) -> list[str]:
    """Licence, types and bill of materials are in the wheel, and no tests are."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        wanted = ("licenses/LICENSE", "sboms/sbom.cdx.json", "pansophy/py.typed")
        out = [f"the wheel lacks {w}" for w in wanted if not any(w in n for n in names)]
        own = ("pansophy/", "pansophy-")
        out += [f"the wheel holds {n}" for n in names if not n.startswith(own)][:5]
    with tarfile.open(sdist) as archive:
        names = {n.partition("/")[2] for n in archive.getnames()}
    wanted = ("LICENSE", "README.md", "CHANGELOG.md", "constraints.txt", "Makefile")
    return out + [f"the sdist lacks {w}" for w in wanted if w not in names]


def check_versions() -> list[str]:
    """One version everywhere."""
    version = changelog.read_version()
    text = lambda name: (ROOT / name).read_text("utf-8")
    found = {
        "CITATION.cff": re.findall(r"^version: (.+)$", text("CITATION.cff"), re.M),
        "CHANGELOG.md": re.findall(r"^## (\S+) ", text("CHANGELOG.md"), re.M)[:1],
        "docs/signatures.txt": re.findall(
            r"of pansophy (\S+);", text("docs/signatures.txt")
        ),
        "Containerfile": re.findall(r'version="([^"]+)"', text("Containerfile")),
    }
    return [
        f"{name} says {', '.join(said) or 'no version'}, the package {version}"
        for name, said in found.items()
        if said != [version]
    ]


def check_changelog() -> list[str]:
    """The change log has the fragments of today, and says something."""
    page = (ROOT / "CHANGELOG.md").read_text("utf-8")
    version = changelog.read_version()
    parts = re.split(r"^## ", page, flags=re.MULTILINE)
    own = next((p for p in parts if p.startswith(f"{version} ")), "")
    if len(own.split()) < 20:
        return [f"CHANGELOG.md says nothing of {version}"]
    has_fragments = any(changelog.read_fragments().values())
    if has_fragments and changelog.page_now() != page:
        return ["CHANGELOG.md is not that of the fragments: make changelog"]
    return []


def check_sbom() -> list[str]:
    """The bill of materials is that of `pyproject.toml`."""
    same = (ROOT / "sbom.cdx.json").read_text("utf-8") == sbom.text()
    return [] if same else ["sbom.cdx.json is not that of pyproject.toml: make sbom"]


def check_signatures() -> list[str]:
    """No public signature of the record is broken."""
    import signatures

    recorded = signatures.read_signatures(signatures.FILE.read_text("utf-8"))
    return signatures.breaks(recorded, signatures.current_signatures())


def addresses_to_fill() -> list[str]:
    """Places that the owner has to fill in."""
    return [
        f"{name}: {line.strip()}"
        for name in ADDRESSED
        for line in (ROOT / name).read_text("utf-8").splitlines()
        if PLACEHOLDER in line
    ]


def wheel_with_loops(source, environment) -> Path | None:
    """A wheel with a few compiled loops inside; None where none are shipped."""
    subprocess.run(
        [sys.executable, "tools/build_wheel.py", "--names", LOOPS, "--jobs", "1"],
        cwd=source,
        env={**environment, "PYTHONPATH": str(source / "src")},
        check=True,
        capture_output=True,
    )
    found = [p for p in (source / "dist").glob("*.whl") if "none-any" not in p.name]
    return found[0] if found else None


def check_manylinux(wheel) -> list[str]:
    """The tag of a wheel with machine code, against what auditwheel finds in it.

    auditwheel looks for shared libraries and what they ask of the system. The loops are
    none: with none inside, it says that every tag would do.
    """
    tag = wheel.name.removesuffix(".whl").rsplit("-", 1)[1]
    if not tag.startswith("manylinux"):
        return [f"{wheel.name}: {tag} is no tag that an index takes"]
    words = [sys.executable, "-m", "auditwheel", "show", str(wheel)]
    done = subprocess.run(words, capture_output=True, text=True)
    said = " ".join((done.stdout + done.stderr).split())
    no_libraries = "no ELF" in said or "not look like a platform wheel" in said
    if no_libraries or f'"{tag}"' in said or f"tag: {tag}" in said:
        return []
    return [f"{wheel.name}: auditwheel says: {said}"]


def check_installation(wheel, folder) -> list[str]:
    """The wheel alone in an empty environment: version, demo, a prediction."""
    place = Path(folder) / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    python = place / "bin" / "python"
    limits = ["-c", str(ROOT / "constraints.txt")]
    install = [str(python), "-m", "pip", "install", "-q", *limits, str(wheel)]
    subprocess.run(install, check=True)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment |= {"HOME": str(folder), "http_proxy": "http://127.0.0.1:9"}
    environment |= {"https_proxy": "http://127.0.0.1:9"}
    tool = str(place / "bin" / "pansophy")
    lines = [
        [tool, "--version"],
        [tool, "demo", "--out", "demo"],
        [tool, "predict", "demo", "demo/table.csv", "--out", "answers.csv"],
    ]
    for words in lines:
        done = subprocess.run(
            words, cwd=folder, env=environment, capture_output=True, text=True
        )
        if done.returncode:
            return [f"{' '.join(words)}: {done.stderr.strip().splitlines()[-1]}"]
    return []


def main(words) -> int:
    failed = False

    def tell(what, problems):
        nonlocal failed
        failed |= bool(problems)
        print(f"{'FAILED' if problems else 'ok':7}{what}", flush=True)
        for problem in problems:
            print(f"       {problem}")

    tell("one version everywhere", check_versions())
    tell("change log", check_changelog())
    tell("bill of materials", check_sbom())
    tell("public signatures", check_signatures())
    with tempfile.TemporaryDirectory() as folder:
        environment = build_backend(folder)
        builds = []
        for name in ("first", "second"):
            source = copy_of_sources(Path(folder) / name)
            builds.append(build(source, environment, "sdist", "wheel"))
        tell("two builds, equal bytes", check_two_builds(*builds))
        sdist, wheel = sorted(builds[0], key=lambda p: p.suffix)
        tell("metadata", check_metadata(wheel))
        tell("files in the wheel and the sdist", check_contents(sdist, wheel))
        if sys.platform == "linux":
            platform_wheel = wheel_with_loops(
                copy_of_sources(Path(folder) / "third"), os.environ
            )
            tell("manylinux tag", check_manylinux(platform_wheel))
        if "--install" in words:
            tell("installation and demo", check_installation(wheel, folder))
    left = addresses_to_fill()
    if "--publish" in words:
        tell("addresses of the owner", left)
    else:
        print(f"{len(left)} addresses are to be filled in by the owner:")
        print("\n".join(f"       {line}" for line in left))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
