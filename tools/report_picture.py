"""Draws docs/images/report.png, the picture of a report that the README shows.

It needs Chromium (`apt-get install chromium`); nothing else does, and no test runs it.

    python tools/report_picture.py FOLDER/report.html
"""

import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "report.png"
SIZE = (1280, 900)
COLORS = 200


def main(words) -> int:
    if len(words) != 1:
        sys.exit(__doc__)
    browser = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    if browser is None:
        sys.exit("There is no Chromium here.")
    page = Path(words[0]).resolve()
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    options += [f"--window-size={SIZE[0]},{SIZE[1]}", f"--screenshot={PICTURE}"]
    subprocess.run([browser, *options, page.as_uri()], check=True, capture_output=True)
    with Image.open(PICTURE) as picture:
        small = picture.convert("RGB").quantize(COLORS, Image.Quantize.MAXCOVERAGE)
    small.save(PICTURE, optimize=True)
    print(f"wrote {PICTURE.name}: {PICTURE.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
