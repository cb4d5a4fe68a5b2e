"""A source plugin for prebrief: each Markdown file under `decisions/` becomes a passage that every task may draw from."""

from __future__ import annotations

from pathlib import Path


class DecisionSource:
    """Reads `decisions/*.md` of the working folder."""

    name = "decisions"

    def load(self, request):
        items, findings = [], []
        folder = Path(request.cwd) / "decisions"
        for path in sorted(folder.glob("*.md")):
            text = path.read_text("utf-8").strip()
            if not text:
                message = "It is empty; it was left out."
                findings.append({"severity": "info", "code": "DECISION_EMPTY", "where": path.name, "message": message})
                continue
            items.append(
                {
                    "item_id": path.stem,
                    "text": text,
                    "kind": "retrieved_doc",
                    "section": "reference",
                    "path": f"decisions/{path.name}",
                    "tags": ["decision"],
                }
            )
        return items, findings
