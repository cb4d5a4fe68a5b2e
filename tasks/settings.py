"""Every setting: its meaning, unit, range and default, read from `prebrief.toml`, `PREBRIEF_*` and flags."""

from __future__ import annotations

import json
import math
import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from tasks.errors import SettingsError
from tasks.regular import MOST_BYTES, NotAFileError, read_regular
from tasks.scopes import ENGINEERING, SCOPE_FILES

Phase = Literal["route", "call", "interpret", "answer"]
Sensitivity = Literal["public", "internal", "confidential", "restricted"]
Share = Annotated[float, Field(ge=0, le=1)]

#: How the variables of the environment begin that hold settings.
VARIABLES = "PREBRIEF_"
#: Marks a setting whose variable need not be JSON.
AS_WRITTEN = "as written"


def _known_scope(name: str) -> str:
    """A scope that rules can have: a mistaken one would be paid for twice in silence."""
    known = (*SCOPE_FILES, ENGINEERING)
    if name not in known:
        raise ValueError(f"{name!r} is no scope of rules; there are {', '.join(sorted(known))}")
    return name


RuleScope = Annotated[str, AfterValidator(_known_scope)]


def _listed(value: object) -> object:
    """The names in a text, as a variable of the environment has them: a JSON list, or words with commas between."""
    if not isinstance(value, str):
        return value
    if value.strip().startswith("["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            raise ValueError("it begins like a JSON list and is none") from error
    return tuple(filter(None, (name.strip() for name in value.split(","))))


def _listed_or_switch(value: object) -> object:
    """The same, but for the words that turn something on or off."""
    return value if isinstance(value, str) and value.strip().lower() in _SWITCHES else _listed(value)


_SWITCHES = frozenset({"true", "false", "1", "0", "yes", "no", "on", "off"})

#: Tokens that a phase may spend on one prompt.
PHASE_BUDGETS: dict[str, int] = {"route": 2000, "call": 3000, "interpret": 4000, "answer": 6000}


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class BudgetSettings(_Section):
    """How many tokens a prompt may hold."""

    tokens: int | None = Field(default=None, gt=0, description="Tokens for every task; None takes the phase's budget.")
    allocation: Literal["uniform", "by_files"] = Field(
        default="uniform",
        description="The budget for every task, or divided by the files that it creates or modifies (at least 500).",
    )


class PolicySettings(_Section):
    """Who may see what, and what happens to tasks that break a stage."""

    phase: Phase = Field(default="interpret", description="Decides which kinds of items are candidates.")
    sensitivity_floor: Sensitivity = Field(default="confidential", description="Items at or above it stay out.")
    sensitivity_action: Literal["drop", "redact"] = Field(
        default="drop", description="Leave such items out, or put a placeholder in their place."
    )
    kind_limit: int = Field(default=50, ge=0, description="Most items of one kind in a prompt.")
    kind_limits: dict[str, int] = Field(
        default={"policy": 200, "doc_snippet": 1000}, description="Other limits, by kind; standing documents are many."
    )
    fallback_to_full: bool = Field(
        default=True, description="A task that breaks a stage gets core rules and the head of its spec."
    )


class PlanSettings(_Section):
    """How plans are read."""

    format: str | None = Field(default=None, description="Of all plans; None finds it out by content.")
    tag: str | None = Field(default=None, description="The tag of a Task Master plan; None takes the current one.")
    status: Annotated[tuple[str, ...], AS_WRITTEN, BeforeValidator(_listed)] = Field(
        default=(),
        description="Tasks that get a context, by status in any tool's words, or all; () is what is still to do.",
    )


class SpecSettings(_Section):
    """How spec passages become candidates."""

    top: int | None = Field(
        default=None, gt=0, description="Keep the best passages of a document; None fills by score."
    )


class Weights(_Section):
    """What each part adds to a candidate's score; they need not sum to 1."""

    recency: float = Field(default=0.30, ge=0)
    similarity: float = Field(default=0.25, ge=0)
    kind: float = Field(default=0.35, ge=0)
    penalty: float = Field(default=0.10, ge=0)


class ScoringSettings(_Section):
    """How candidates are ranked."""

    weights: Weights = Weights()
    similarity: Literal["jaccard", "bm25", "tfidf", "tags"] = Field(
        default="jaccard", description="What similarity means; tags falls back to jaccard where an item has none."
    )
    words: Literal["unicode", "ascii"] = Field(
        default="unicode", description="How text is split: any script and camelCase, or the plain ASCII rule."
    )


class DedupSettings(_Section):
    """When one candidate repeats another."""

    threshold: float = Field(
        default=0.85, ge=0, description="Least Jaccard similarity of two duplicates; above 1: off."
    )
    guards: bool = Field(
        default=True, description="Relatives, negations, changed numbers, policies and the brief are no duplicates."
    )


class PackingSettings(_Section):
    """How the budget is filled. What the two shares leave is for the brief, headings and separators."""

    rule: Literal["sections", "plain"] = Field(
        default="sections", description="Shares by section with ancestors, or one greedy pass over bare texts."
    )
    rules_share: Share = Field(default=0.30, description="Of the budget, for the rules section.")
    spec_share: Share = Field(default=0.50, description="Of the budget, for requirements and design together.")
    horizon: int = Field(default=2000, gt=0, description="Best candidates of a section that packing considers.")


class FirewallSettings(_Section):
    """How raw tool output is replaced."""

    summariser: Literal["shape", "lead"] = Field(
        default="shape", description="Know the output's shape, or take its first paragraph (500 characters)."
    )


class RulesSettings(_Section):
    """Where rules come from."""

    enabled: bool = Field(default=True, description="Off when the agents load the rules elsewhere.")
    loaded_elsewhere: Annotated[tuple[RuleScope, ...], AS_WRITTEN, BeforeValidator(_listed)] = Field(
        default=(), description="Scopes whose rules the agents load elsewhere, such as core, python or engineering."
    )
    engineering: Path | None = Field(
        default=None, description="Folder of engineering rules (YAML); None looks for them in the rules folder."
    )


class SourcesSettings(_Section):
    """What gives candidates besides specs, rules, history and commands."""

    plugins: Annotated[bool | tuple[str, ...], AS_WRITTEN, BeforeValidator(_listed_or_switch)] = Field(
        default=False, description="Installed plugins that are run: all, none, or those of these names."
    )


class TokenSettings(_Section):
    """How tokens are counted. The tokenizer is not Claude's: a margin above 1 allows for the difference."""

    tokenizer: str = Field(default="o200k_base", description="An encoding of tiktoken.")
    margin: float = Field(default=1.0, ge=1, description="Counted tokens times this must fit the budget.")
    counter: str = Field(default="tiktoken", description="`tiktoken`, or `module:function` for a counter of your own.")
    cache: bool = Field(default=True, description="Keep token counts and compiled rules in the cache folder.")


class RenderSettings(_Section):
    """How a prompt looks."""

    style: Literal["markdown", "labelled"] = Field(default="markdown")


class AuditSettings(_Section):
    """How much of the reasoning is written down."""

    max_rows_per_task: int = Field(default=2000, ge=0, description="Rows in a context file; 0 writes all.")


class ReadingSettings(_Section):
    """What is read at all."""

    max_bytes: int = Field(default=MOST_BYTES, gt=0, description="A larger input file is left out, with a finding.")
    max_total_bytes: int = Field(
        default=16 * MOST_BYTES, gt=0, description="So is a file with which all inputs together would be larger."
    )


class RunSettings(_Section):
    """How the work is cut. It never changes a byte of the outcome, so it is no part of a build's identity."""

    shard_pairs: int = Field(default=250_000, gt=0, description="Listed candidates that a stage works on at once.")
    shards: int = Field(default=8, gt=0, description="Least parts of a build that a runner spreads.")


class Settings(_Section):
    """All settings of a build."""

    budget: BudgetSettings = BudgetSettings()
    policy: PolicySettings = PolicySettings()
    plan: PlanSettings = PlanSettings()
    spec: SpecSettings = SpecSettings()
    scoring: ScoringSettings = ScoringSettings()
    dedup: DedupSettings = DedupSettings()
    packing: PackingSettings = PackingSettings()
    firewall: FirewallSettings = FirewallSettings()
    rules: RulesSettings = RulesSettings()
    sources: SourcesSettings = SourcesSettings()
    tokens: TokenSettings = TokenSettings()
    render: RenderSettings = RenderSettings()
    audit: AuditSettings = AuditSettings()
    reading: ReadingSettings = ReadingSettings()
    run: RunSettings = RunSettings()

    def countable(self, own_budget: int | None = None) -> int:
        """Tokens that may be counted in a prompt, so that the count times the margin fits the task's budget."""
        budget = self.budget_of(own_budget)
        tokens = math.floor(budget / self.tokens.margin)
        while tokens * self.tokens.margin > budget:
            tokens -= 1
        return tokens

    def budget_of(self, own_budget: int | None = None) -> int:
        """Tokens that a prompt may hold, margin included: the one set for all, else its own, else the phase's.

        Where budgets are allocated by files, a task's own was made from the one set for all, and goes before it.
        """
        if self.budget.allocation == "by_files" and own_budget:
            return own_budget
        return self.budget.tokens or own_budget or PHASE_BUDGETS[self.policy.phase]

    def identity(self) -> dict[str, Any]:
        """The settings that may change a byte of a build, as plain data. Of a folder its files count, not its place."""
        return self.model_dump(mode="json", exclude={"run": True, "tokens": {"cache"}, "rules": {"engineering"}})


def load_settings(file: Path | None = None, **flags: dict[str, Any]) -> Settings:
    """Settings from a file, the environment and flags given as `section={name: value}` (None: not given).

    Flags win over `PREBRIEF_SECTION__NAME`, these over the file, the file over defaults.

    Raises:
        SettingsError: the file cannot be read, or a value is unknown or out of range.
    """
    merged = _read(file) if file else {}
    environment = _environment()
    for layer in (environment, flags):
        for section, values in layer.items():
            given = {name: value for name, value in values.items() if value is not None}
            if given:
                merged[section] = {**_table(merged, section), **given}
    try:
        return Settings(**merged)
    except ValidationError as error:
        raise SettingsError(_sentence(error, file)) from error


def find_settings_file(given: Path | None) -> Path | None:
    """The settings file that was named, else `prebrief.toml` in the working folder where there is one."""
    default = Path("prebrief.toml")
    return given or (default if default.is_file() else None)


def _environment() -> dict[str, Any]:
    """What `PREBRIEF_*` says, so that it can be laid between the file and the flags, name by name."""
    if not any(name.upper().startswith(VARIABLES) for name in os.environ):
        return {}
    from tasks.environment import settings_of_variables  # brings pydantic-settings, a tenth of a found build's time

    try:
        return settings_of_variables()
    except ValidationError as error:
        raise SettingsError(_sentence(error, None)) from error


def _table(merged: dict[str, Any], section: str) -> dict[str, Any]:
    values = merged.get(section, {})
    return values if isinstance(values, dict) else {"value": values}


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_regular(file).decode("utf-8"))
    except NotAFileError as error:
        raise SettingsError(f"{file} is no regular file; name a readable settings file.") from error
    except OSError as error:
        raise SettingsError(f"{file} cannot be read ({error.strerror}); name a readable settings file.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} is not valid TOML ({error}); mend it, or name another by --config.") from error


def _sentence(error: ValidationError, file: Path | None) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "settings"
    why = (
        "There is no such setting" if first["type"] == "extra_forbidden" else first["msg"].removeprefix("Value error, ")
    )
    return f"setting {place}{f' (see {file})' if file else ''}: {why}; correct it there, by flag or PREBRIEF_*."
