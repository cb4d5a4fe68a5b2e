"""One target a loader: bytes in, and whatever they are, rows and findings or a `PrebriefError` come out.

`read` is what the loader's own code does, some hundred times a second, so that a fuzzer learns its branches. `whole`
also loads the input beside sound ones, some ten times a second: what a reader lets through has to pass the masking, the
settling and the schemas of the frames too.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.credentials import warm
from tasks.errors import InputError, PrebriefError
from tasks.markdown import embed
from tasks.settings import Settings, load_settings
from tasks.sources.commands import CommandFile, command_items, read_command
from tasks.sources.documents import as_markdown, read_document
from tasks.sources.engineering import engineering_items, read_engineering
from tasks.sources.files import InputFile, decode
from tasks.sources.history import history_items, read_log
from tasks.sources.inputs import Inputs, RuleFile, SpecFile
from tasks.sources.load import load
from tasks.sources.plan_files import PlanFile
from tasks.sources.plans import formats, recognised
from tasks.sources.plans.plan import PlanSource
from tasks.sources.rules import rule_items
from tasks.sources.specs import spec_items
from tasks.sources.tools import sorted_json
from tasks.sources.values import UnreadableJsonError, parse_json
from tasks.summaries import summarise
from tasks.tokens import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROOT = Path(__file__).parents[2]
DATA = ROOT / "data"
EXAMPLES = Path(__file__).parent / "examples"

_GRAPH = {
    "feature": "demo",
    "tasks": [
        {
            "id": "T-1",
            "title": "Login queue",
            "description": "Retry the session.",
            "level": 1,
            "dependencies": [],
            "files": {"create": ["app/login.py"]},
            "tools": ["run_query"],
        }
    ],
}


@cache
def _settings() -> Settings:
    return load_settings(tokens={"cache": False})


@cache
def _sound() -> PlanFile:
    return _plan(json.dumps(_GRAPH).encode(), "zerg")


def _plan(data: bytes, name: str | None) -> PlanFile:
    """The plan in some bytes, in a format or in the one that recognises it."""
    file = InputFile.of("plan/file.json", data)
    text, odd = decode(file)
    known = formats()[name] if name is not None else recognised(text) or formats()["zerg"]
    source = PlanSource(file, text)
    return PlanFile(known.read(source), (file,), source, known, (), tuple(odd))


def _load(**parts: object) -> None:
    with suppress(InputError):
        load(Inputs(**{"graphs": (_sound(),), **parts}), _settings())  # type: ignore[arg-type]


def _file(name: str, data: bytes) -> InputFile:
    return InputFile.of(name, data)


# ---- readers ----------------------------------------------------------------------------------------------------


def _read_plan(name: str | None) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        plan = _plan(data, name)
        assert plan.strings is not None
        for row in plan.read.rows:
            embed(row["description"])

    return read


def _read_specs(data: bytes) -> None:
    for name in ("a/requirements.md", "a/contract.yaml"):
        document = as_markdown(read_document(_file(name, data))[0])
        for row in spec_items(document, "demo", "requirements"):
            embed(row["text"])


def _read_rules(data: bytes) -> None:
    for row in rule_items(read_document(_file("rules/a.md", data))[0], "core", "a.md")[0]:
        embed(row["text"])


def _read_engineering(data: bytes) -> None:
    engineering_items([read_engineering(_file("team.yaml", data))])


def _read_history(data: bytes) -> None:
    for row in history_items(read_log(_file("history.jsonl", data)))[0]:
        embed(row["text"])


def _read_commands(data: bytes) -> None:
    command_items([read_command(command)[0] for command in _commands(data)])


def _read_tools(data: bytes) -> None:
    text, _ = decode(_file("tools.json", data))
    with suppress(UnreadableJsonError):
        embed(sorted_json(parse_json(text)))


def _read_settings(data: bytes) -> None:
    file = _folder() / f"prebrief-{os.getpid()}.toml"
    file.write_bytes(data)
    with suppress(PrebriefError):
        load_settings(file)


def _read_summary(data: bytes) -> None:
    embed(summarise(data.decode("utf-8", "replace"), handle="artifact:log/e1", media_type=None))


# ---- whole loads ------------------------------------------------------------------------------------------------


def _load_plan(name: str | None) -> Callable[[bytes], None]:
    return lambda data: _load(graphs=(_plan(data, name),))


def _load_specs(data: bytes) -> None:
    _load(specs=(SpecFile(_file("plan/requirements.md", data), _sound().label, "requirements"),))


def _load_rules(data: bytes) -> None:
    _load(rules=(RuleFile(_file("rules/_core/owasp-2025.md", data), "core", "_core/owasp-2025.md"),))


def _load_engineering(data: bytes) -> None:
    _load(engineering=(_file("rules/engineering/team.yaml", data),))


def _load_history(data: bytes) -> None:
    _load(logs=(_file("logs/history.jsonl", data),))


def _load_commands(data: bytes) -> None:
    _load(commands=_commands(data))


def _load_tools(data: bytes) -> None:
    _load(tools=_file("tools.json", data))


def _commands(data: bytes) -> tuple[CommandFile, ...]:
    """The bytes as a command, and as the core and the details of a split one."""
    files = [_file(f"commands/work{suffix}", data) for suffix in (".md", ".core.md", ".details.md")]
    return CommandFile("work", (files[0],)), CommandFile("work", tuple(files[1:]))


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="prebrief-fuzz-"))


@dataclass(frozen=True)
class Target:
    """A loader under attack: how it reads some bytes, and how they are loaded whole, where that is more."""

    read: Callable[[bytes], None]
    load: Callable[[bytes], None] | None = None

    def whole(self, data: bytes) -> None:
        """Both, whatever the bytes are."""
        self.read(data)
        if self.load is not None:
            self.load(data)


TARGETS: Mapping[str, Target] = {
    "graph": Target(_read_plan(None), _load_plan(None)),
    "task_master": Target(_read_plan("task-master"), _load_plan("task-master")),
    "spec_kit": Target(_read_plan("spec-kit"), _load_plan("spec-kit")),
    "beads": Target(_read_plan("beads"), _load_plan("beads")),
    "specs": Target(_read_specs, _load_specs),
    "rules": Target(_read_rules, _load_rules),
    "engineering": Target(_read_engineering, _load_engineering),
    "history": Target(_read_history, _load_history),
    "commands": Target(_read_commands, _load_commands),
    "tools": Target(_read_tools, _load_tools),
    "settings": Target(_read_settings),
    "summary": Target(_read_summary),
}


def prepare() -> None:
    """What takes seconds once, so that no input is blamed for it: the credential rules, the vocabulary, the frames."""
    warm(cache_folder())
    _load()


_SEEDS: Mapping[str, tuple[str, ...]] = {
    "graph": ("quickstart/task-graph.json", "tools/task-graph.json"),
    "specs": ("quickstart/requirements.md", "quickstart/design.md"),
    "rules": ("../rules/containers/docker/CLAUDE.md", "../rules/_core/owasp-2025.md"),
    "engineering": ("engineering/team.yaml",),
    "history": ("quickstart/history.jsonl",),
    "commands": ("commands/work-on-task.md",),
    "tools": ("tools/tools.json",),
    "task_master": ("plans/task-master/.taskmaster/tasks/tasks.json",),
    "spec_kit": ("plans/spec-kit/specs/001-tide-times/tasks.md",),
    "beads": ("plans/beads/.beads/issues.jsonl",),
    "settings": (),
    "summary": (),
}
_SETTINGS = """[budget]\ntokens = 3000\nallocation = "by_files"\n[policy]\nphase = "answer"\nkind_limits = {policy = 3}
[scoring]\nsimilarity = "bm25"\n[scoring.weights]\nrecency = 0.1\n[rules]\nloaded_elsewhere = ["core"]\n[plan]\nstatus = ["all"]
[dedup]\nthreshold = 0.9\n[tokens]\nmargin = 1.1\n[render]\nstyle = "labelled"\n"""
_OUTPUT = 'collected 3 items\n\na.py::test_one FAILED\n\nTraceback (most recent call last):\n  File "a.py", line 3\nValueError: x\n'  # fmt: skip


def seeds(name: str) -> dict[str, bytes]:
    """What fuzzing of a target starts from: our own samples, and what it once found."""
    found = {Path(place).name: (DATA / place).read_bytes() for place in _SEEDS[name]}
    if name == "settings":
        found["prebrief.toml"] = _SETTINGS.encode()
    if name == "summary":
        found["output.txt"] = _OUTPUT.encode()
        found |= {path.name: path.read_bytes() for path in sorted((ROOT / "tests/firewall/cases").glob("*.toml"))}
    return found | examples(name)


def examples(name: str) -> dict[str, bytes]:
    """Inputs that broke a target once."""
    return {path.name: path.read_bytes() for path in sorted((EXAMPLES / name).glob("*")) if path.is_file()}
