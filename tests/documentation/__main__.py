"""`python -m tests.documentation` writes the generated pages of docs/ anew, and draws the run."""

import sys

from tests.documentation.pages import DOCS, PAGES
from tests.documentation.picture import PICTURE, draw, first_run

for name, page in PAGES.items():
    (DOCS / name).write_text(page(), encoding="utf-8")
    sys.stderr.write(f"wrote docs/{name}\n")
PICTURE.write_text(draw(first_run()), encoding="utf-8")
sys.stderr.write(f"drew docs/{PICTURE.name}\n")
