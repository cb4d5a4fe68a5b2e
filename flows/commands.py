"""Typer's commands, made when they are called, and their values looked at where there is something to look at.

Typer makes all commands at each start, and imports pydantic to check even what was not given. That is half of what a
small command takes.
"""

from __future__ import annotations

import sys
from copy import copy
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from typer.models import CommandFunctionType, CommandInfo


class App(typer.Typer):
    """A group of commands. As a process it makes the one that is called; help and mistaken names see them all."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - typer's own
        super().__init__(cls=_Group, **options)

    def command(
        self,
        name: str | None = None,
        **options: Any,  # noqa: ANN401 - typer's own
    ) -> Callable[[CommandFunctionType], CommandFunctionType]:
        """Registers a command, as `typer.Typer.command` does."""
        return super().command(name, cls=_Command, **options)

    def __call__(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401
        """Runs what the words of the process say, or those given."""
        called = sys.argv[1] if len(sys.argv) > 1 and not args and not options else None
        one = copy(self)
        one.registered_commands = [command for command in self.registered_commands if _name(command) == called]
        one.registered_groups = [group for group in self.registered_groups if group.name == called]
        if one.registered_commands or one.registered_groups:
            return super(App, one).__call__()
        return super().__call__(*args, **options)


def _name(command: CommandInfo) -> str:
    return command.name or get_command_name(getattr(command.callback, "__name__", ""))


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> Any:  # noqa: ANN401 - classes that typer keeps to itself
        return _unchecked_where_plain(super().get_params(ctx))


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> Any:  # noqa: ANN401
        return _unchecked_where_plain(super().get_params(ctx))


def _unchecked_where_plain(parameters: Any) -> Any:  # noqa: ANN401
    """The parameters, which from now on take what was not given, and plain text where text is wanted, as it is."""
    for parameter in parameters:
        if "process_value" not in vars(parameter):
            parameter.process_value = _process(parameter)
    return parameters


def _process(parameter: Any) -> Callable[[Any, Any], Any]:  # noqa: ANN401
    check = parameter.process_value
    wants_text = getattr(getattr(parameter, "type_descriptor", None), "annotation", None) is str

    def process_value(context: Any, value: Any) -> Any:  # noqa: ANN401
        if value is None and not parameter.required:
            value = () if parameter.multiple or parameter.nargs == -1 else None
        elif not (wants_text and isinstance(value, str) and value.isascii()):
            return check(context, value)
        return parameter.callback(context, parameter, value) if parameter.callback is not None else value

    return process_value
