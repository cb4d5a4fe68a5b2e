"""Runs in the peer's own environment: one build over a log, its seconds as JSON on stdout."""

import json
import sys
import time
from pathlib import Path

from contextweaver.context.manager import ContextManager
from contextweaver.store.event_log import InMemoryEventLog
from contextweaver.types import ContextItem, ItemKind, Phase

log = InMemoryEventLog()
for line in Path(sys.argv[1]).read_text("utf-8").splitlines():
    event = json.loads(line)
    log.append(
        ContextItem(id=event["id"], kind=ItemKind(event["kind"]), text=event["text"], parent_id=event.get("parent_id"))
    )
manager = ContextManager(event_log=log)
started = time.perf_counter()
manager.build_sync(phase=Phase.interpret, query="deliver every event once and in order")
print(json.dumps({"seconds": time.perf_counter() - started}))
