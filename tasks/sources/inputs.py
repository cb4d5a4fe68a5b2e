"""What was asked for, and the files that this means."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.regular import is_folder
from tasks.resources import bundled_rules
from tasks.scopes import CORE, ENGINEERING, SCOPE_FILES
from tasks.sources.commands import CommandFile, find_commands
from tasks.sources.files import Allowance, InputFile, Labels, absolute, exists, read_input, read_inside
from tasks.sources.findings import Row, finding
from tasks.sources.plan_files import Plan, PlanFile, named_plans, read_plan
from tasks.sources.plans import DEFAULT
from tasks.sources.specs import find_specs, fixed_part, spec_paths
from tasks.terms import SECTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tasks.settings import Settings
    from tasks.sources.plugin_items import PluginRead

_BUNDLED = "prebrief/rules"


@dataclass(frozen=True)
class Request:
    """What a person names for a build. Relative paths count from `cwd`; `rules` None takes those that ship along.

    `graphs` are plans of any known format, or folders that one lies in.
    """

    graphs: tuple[Path, ...]
    specs: Path | None = None
    rules: Path | None = None
    history: tuple[Path, ...] = ()
    commands: Path | None = None
    tools: Path | None = None
    cwd: Path = field(default_factory=Path.cwd)


@dataclass(frozen=True)
class SpecFile:
    """A document of a graph: `graph` is the label of the plan's file, `section` what the document is to it."""

    file: InputFile
    graph: str
    section: str


@dataclass(frozen=True)
class RuleFile:
    """The rules of a scope; `path` is the file's place in its rule set."""

    file: InputFile
    scope: str
    path: str


@dataclass(frozen=True)
class Inputs:
    """Every file of a build, read, under the name by which the build knows it. The order is by these names."""

    graphs: tuple[PlanFile, ...]
    specs: tuple[SpecFile, ...] = ()
    rules: tuple[RuleFile, ...] = ()
    logs: tuple[InputFile, ...] = ()
    commands: tuple[CommandFile, ...] = ()
    engineering: tuple[InputFile, ...] = ()
    plugins: tuple[PluginRead, ...] = ()
    tools: InputFile | None = None
    findings: tuple[Row, ...] = ()

    @property
    def files(self) -> tuple[InputFile, ...]:
        """Every file once."""
        held = {
            file.label: file
            for file in (
                *(file for graph in self.graphs for file in graph.files),
                *(spec.file for spec in self.specs),
                *(rule.file for rule in self.rules),
                *self.logs,
                *(file for command in self.commands for file in command.files),
                *self.engineering,
                *(plugin.file for plugin in self.plugins),
                *([self.tools] if self.tools else []),
            )
        }
        return tuple(held[label] for label in sorted(held))


def discover(request: Request, settings: Settings) -> Inputs:
    """Reads every file that a build takes in. The order in which they were named changes nothing.

    Plans are parsed too: their features and formats say where their documents lie. What cannot be read is a finding.

    Raises:
        InputError: the settings ask for a format of plans that there is not.
    """
    findings: list[Row] = []
    cwd = absolute(request.cwd)
    allowance = Allowance.of(settings.reading)
    named = named_plans([cwd / path for path in request.graphs], settings, allowance)
    labels = Labels(_folders(request, named, settings, cwd), cwd)
    if request.specs is not None and not is_folder(folder := cwd / fixed_part(request.specs)):
        message = "There is no such folder; specs are looked for beside their graphs."
        findings.append(finding("warning", "SPECS_MISSING", labels.of(folder), message))
    graphs: list[PlanFile] = []
    specs: list[SpecFile] = []
    for plan in sorted(named, key=lambda plan: labels.of(plan.path)):
        graph, odd = read_plan(plan, labels.of, settings, allowance)
        findings += odd
        if graph is not None:
            graphs.append(graph)
            specs += _specs(plan, graph, request, labels, allowance, findings)
    rules: list[RuleFile] = []
    engineering: list[InputFile] = []
    if settings.rules.enabled:
        rules = _rules(request, cwd, labels, settings, allowance, findings)
        engineering = _engineering(request, cwd, labels, settings, allowance, findings)
    findings += _elsewhere(settings)
    logs = _read_named(request.history, cwd, labels, allowance, findings)
    commands = _commands(request, cwd, labels, allowance, findings)
    tools = _read_named(filter(None, [request.tools]), cwd, labels, allowance, findings)
    return Inputs(
        graphs=tuple(graphs),
        specs=tuple(sorted(specs, key=lambda spec: (spec.graph, SECTIONS.index(spec.section)))),
        rules=tuple(rules),
        logs=tuple(file for _, file in logs),
        commands=tuple(commands),
        engineering=tuple(engineering),
        plugins=_plugins(request, settings),
        tools=tools[0][1] if tools else None,
        findings=tuple(findings),
    )


def _plugins(request: Request, settings: Settings) -> tuple[PluginRead, ...]:
    if not settings.sources.plugins:
        return ()
    from tasks.sources.plugin_items import read_plugins  # brings typed frames, which no other discovery needs

    return tuple(read_plugins(request, settings))


def _folders(request: Request, plans: Iterable[Plan], settings: Settings, cwd: Path) -> list[Path]:
    """The folders that a person pointed at, directly or by a file in them; of a plan the project it lies in."""
    files = (*request.history, *([request.tools] if request.tools else []))
    named = [*(plan.root for plan in plans), *(path.parent for path in files)]
    named += [fixed_part(request.specs)] if request.specs is not None else []
    folders = (request.rules, request.commands, settings.rules.engineering)
    named += [folder for folder in folders if folder is not None]
    return [cwd / folder for folder in named]


def _read_named(
    paths: Iterable[Path], cwd: Path, labels: Labels, allowance: Allowance, findings: list[Row]
) -> list[tuple[Path, InputFile]]:
    """The files that can be read, sorted by label."""
    given = [absolute(cwd / path) for path in paths]
    found: list[tuple[Path, InputFile]] = []
    for path in sorted(set(given)):
        label = labels.of(path)
        if given.count(path) > 1:
            findings.append(finding("info", "INPUT_REPEATED", label, "It was named more than once and read once."))
        file = read_input(path, label, allowance)
        if isinstance(file, InputFile):
            found.append((path, file))
        else:
            findings.append(file)
    return sorted(found, key=lambda entry: entry[1].label)


def _specs(
    plan: Plan, graph: PlanFile, request: Request, labels: Labels, allowance: Allowance, findings: list[Row]
) -> list[SpecFile]:
    """The documents of a plan: those that its format has a place for, and those that a folder of specs holds."""
    documents = list(graph.documents)
    if plan.format.name == DEFAULT or request.specs is not None:
        paths = spec_paths(plan.path, graph.read.feature, request.specs, absolute(request.cwd))
        beside, odd = find_specs(paths, labels.of, allowance)
        findings += odd
        documents += beside
    if not documents:
        message = "No requirements and no design were found for it."
        findings.append(finding("info", "SPEC_MISSING", graph.label, message))
    return [SpecFile(document, graph.label, section) for section, document in documents]


def _rules(
    request: Request, cwd: Path, labels: Labels, settings: Settings, allowance: Allowance, findings: list[Row]
) -> list[RuleFile]:
    """The rule files of all scopes that the rule set has, sorted by label."""
    folder = bundled_rules() if request.rules is None else cwd / request.rules
    label = _BUNDLED if request.rules is None else labels.of(folder)
    if not is_folder(folder):
        findings.append(finding("error", "RULES_MISSING", label, "There is no such folder; no rules were read."))
        return []
    found: list[RuleFile] = []
    for scope, place in sorted(SCOPE_FILES.items()):
        path = folder / place
        if scope in settings.rules.loaded_elsewhere or not exists(path):
            continue
        name = f"{_BUNDLED}/{place}" if request.rules is None else labels.of(path)
        file = read_inside(path, folder, name, allowance)
        if isinstance(file, InputFile):
            found.append(RuleFile(file, scope, place))
        else:
            findings.append(file)
    if CORE not in {*settings.rules.loaded_elsewhere, *(rule.scope for rule in found)}:
        message = f"It has no {SCOPE_FILES[CORE]}, the rules that hold for every task."
        findings.append(finding("warning", "RULES_NO_CORE", label, message))
    return sorted(found, key=lambda rule: rule.file.label)


def _elsewhere(settings: Settings) -> list[Row]:
    """What is left out by that setting, whether or not there are such rules."""
    message = "The agents load these rules elsewhere, so they are no candidates."
    scopes = sorted(set(settings.rules.loaded_elsewhere))
    return [finding("info", "RULES_ELSEWHERE", f"rules.loaded_elsewhere, {scope}", message) for scope in scopes]


def _engineering(
    request: Request, cwd: Path, labels: Labels, settings: Settings, allowance: Allowance, findings: list[Row]
) -> list[InputFile]:
    """The files of engineering rules: of the folder set for them, else of the rules folder that was named."""
    own = settings.rules.engineering
    place = request.rules if own is None else own
    if place is None or (own is None and not is_folder(cwd / place)):
        return []
    if ENGINEERING in settings.rules.loaded_elsewhere:
        return []
    from tasks.sources.engineering import find_engineering  # brings YAML, which few builds need

    files, odd = find_engineering(cwd / place, labels.of, allowance)
    findings += odd
    return sorted(files, key=lambda file: file.label)


def _commands(
    request: Request, cwd: Path, labels: Labels, allowance: Allowance, findings: list[Row]
) -> list[CommandFile]:
    """The command files of the folder that was named, by name."""
    if request.commands is None:
        return []
    commands, odd = find_commands(cwd / request.commands, labels.of, allowance)
    findings += odd
    return commands
