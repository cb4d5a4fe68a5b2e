"""Markdown texts of plans, parsed once where several ask in turn."""

from __future__ import annotations

from functools import lru_cache

from tasks.sources.documents import blocks

#: `tasks.sources.documents.blocks`, the last few results kept. Nobody may change the tokens.
parsed = lru_cache(maxsize=8)(blocks)
