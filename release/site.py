"""What the site has beside docs/*.md: README as its first page, CONTRIBUTING and CHANGELOG, and the notebooks with their outputs."""

from __future__ import annotations

import json
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
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=as_page(path)))
    return files


def as_page(notebook: Path) -> str:
    """Return an executed notebook as Markdown: its text, its code and what the code has shown."""
    parts = []
    for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        parts += map(_shown, cell.get("outputs", []))
    parts.insert(1, f"[The notebook]({notebook.name}), to run it yourself.")
    return "\n\n".join(parts) + "\n"


def _shown(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        return f"![What the cell draws](data:image/png;base64,{''.join(data['image/png']).strip()})"
    if "text/html" in data:
        return f"<div>\n{''.join(data['text/html']).strip()}\n</div>"
    return f"```text\n{''.join(output.get('text') or data['text/plain']).rstrip()}\n```"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Lead links out of docs/ to the pages that stand for those files."""
    return _linked(markdown, r"\.\./")


def _linked(text: str, before: str) -> str:
    for name, page in PAGES.items():
        text = re.sub(rf"\]\({before}{re.escape(name)}", f"]({page}", text)
    return text
