"""What the site has beside docs/: README as its first page, CONTRIBUTING and CHANGELOG, with links that work there too."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
#: Files beside docs/, and the pages that they become.
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that stand outside docs/."""
    for name, page in PAGES.items():
        text = re.sub(r"\]\(docs/", "](", (ROOT / name).read_text("utf-8"))
        files.append(File.generated(config, page, content=_linked(text, "")))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Lead links out of docs/ to the pages that stand for those files."""
    return _linked(markdown, r"\.\./")


def _linked(text: str, before: str) -> str:
    for name, page in PAGES.items():
        text = re.sub(rf"\]\({before}{re.escape(name)}", f"]({page}", text)
    return text
