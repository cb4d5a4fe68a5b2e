"""Settings from `PREBRIEF_*` variables: by themselves, since few have any and what reads them takes long to import."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict
from pydantic_settings import SettingsError as UnreadableVariableError

from tasks.errors import SettingsError
from tasks.settings import AS_WRITTEN, VARIABLES, Settings

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo
    from pydantic_settings import PydanticBaseSettingsSource


class _Source(EnvSettingsSource):
    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:  # noqa: ANN401 - pydantic's
        return value if AS_WRITTEN in field.metadata else super().decode_complex_value(field_name, field, value)


class _Variables(BaseSettings, Settings):
    model_config = SettingsConfigDict(
        env_prefix=VARIABLES, env_nested_delimiter="__", extra="forbid", frozen=True, case_sensitive=False
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the signature is pydantic's
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only the environment: no dotenv file is ever picked up by chance."""
        return (_Source(settings_cls),)


def settings_of_variables() -> dict[str, Any]:
    """What the variables say, by section and name.

    Raises:
        SettingsError: one is not the JSON that it has to be.
        ValidationError: a value is unknown or out of range.
    """
    try:
        return _Variables().model_dump(exclude_unset=True)
    except UnreadableVariableError as error:
        raise SettingsError(f"{_variable_in(error)} is not the JSON that it has to be; correct or unset it.") from error


def _variable_in(error: UnreadableVariableError) -> str:
    """The variable that could not be read: the error names its section alone, so it may be one of several."""
    section = re.search(r'field "(\w+)"', str(error))
    prefix = f"{VARIABLES}{section[1] if section else ''}".upper()
    return " or ".join(sorted(name for name in os.environ if name.upper().startswith(prefix)))
