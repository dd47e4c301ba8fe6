"""Write `docs/curriculum.md` from the package's catalogue. Part of `make docs`."""

from pathlib import Path

from pansophy.catalogue import catalogue_page

if __name__ == "__main__":
    page = Path(__file__).parents[1] / "docs" / "curriculum.md"
    page.write_text(catalogue_page(), "utf-8")
    print(f"wrote {page.name}")
