"""Build hook: a wheel with compiled loops is for one platform and one Python."""

from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformTag(BuildHookInterface):
    """Marks the wheel as not pure if it holds machine code."""

    def initialize(self, version, build_data):
        loops = Path(self.root) / "src" / "pansophy" / "_compiled_loops"
        if version != "editable" and loops.is_dir() and any(loops.iterdir()):
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
