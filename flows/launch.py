"""Starts the Prefect flow for the command: a quiet, offline Prefect that leaves nothing in the user's home."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.building import Built
from tasks.credential_scanner import begin_compiling
from tasks.errors import PrebriefError
from tasks.outputs.places import as_place, below, folder_lock
from tasks.scratch import scratch_folder
from tasks.settings import find_settings_file, load_settings
from tasks.tokens import cache_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_STARTUP_SECONDS = "180"  # a first start migrates a database; on a busy machine that takes a minute
_RETRIES = "3"  # bridges 14 s; Prefect's own 5 let a person wait minutes for word that a server is gone
_LOOPBACK = "127.0.0.1,localhost"


class ServerError(PrebriefError):
    """Prefect's server does not start, cannot be reached or went away."""

    code = "SERVER"


def build_in_flow(
    graphs: list[str],
    *,
    specs: str | None,
    rules: str | None,
    history: list[str],
    commands: str | None = None,
    tools: str | None = None,
    plan: dict[str, Any] | None = None,
    config: str | None,
    budget: int | None,
    phase: str | None,
    out: str,
    cache: bool,
    runner: str | None = None,
    address: str | None = None,
) -> Built:
    """Runs `build_contexts` in this process, on the server of `PREFECT_API_URL`, else on an embedded one.

    Raises:
        PrebriefError: what a build raises, as it is.
        ServerError: Prefect's server does not start, cannot be reached or went away.
    """
    prepare_environment(cache=cache)
    given = find_settings_file(Path(config) if config else None)
    with _ending_in_order(), _naming_server_trouble():
        begin_compiling(load_settings(given, tokens={"cache": None if cache else False}).tokens)  # beside the imports
        _start_server()
        from flows.build import build_contexts
        from tasks.outputs.reader import find_build

        with _without_heartbeats():
            done = build_contexts(
                graphs=graphs,
                specs=specs,
                rules=rules,
                history=history,
                commands=commands,
                tools=tools,
                plan=plan,
                config=config,
                budget=budget,
                phase=phase,
                out=out,
                cache=cache,
                runner=runner,
                address=address,
            )
        place = as_place(out)
        if isinstance(place, str):
            url = below(place, done["build_id"])
            return Built(find_build(url), fresh=done["fresh"], url=url)
        return Built(Path(done["path"]), fresh=done["fresh"])


@contextmanager
def _without_heartbeats() -> Iterator[None]:
    """Lets no flow tell the server every few minutes that it still runs, unless the user has said how often.

    Someone sees this process end; Prefect would let that person wait for the thread that tells, up to a second.
    """
    from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

    with temporary_settings(set_defaults={PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        yield


def prepare_environment(*, cache: bool = True) -> None:
    """Settles what Prefect reads when it is first imported; whatever the user has set stays.

    Without a Prefect home of the user's own, a folder in the cache serves, since a build writes nothing else; without
    a cache, one that goes when the process ends.
    """
    if not os.environ.get("PREFECT_HOME") and not (Path.home() / ".prefect").exists():
        os.environ["PREFECT_HOME"] = str(_own_home(cache=cache))
    os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
    os.environ.setdefault("DO_NOT_TRACK", "1")
    os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", _STARTUP_SECONDS)
    os.environ.setdefault("PREFECT_CLIENT_MAX_RETRIES", _RETRIES)
    if "PREFECT_LOGGING_LEVEL" not in os.environ:  # else someone wants to read along
        os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
        os.environ.setdefault("PREFECT_LOGGING_INTERNAL_LEVEL", "CRITICAL")
        os.environ.setdefault("PREFECT_SERVER_LOGGING_LEVEL", "CRITICAL")
        logging.raiseExceptions = False  # what cannot be sent to a server that is gone is not worth a traceback
    for name in ("NO_PROXY", "no_proxy"):  # the embedded server is on this machine, whatever proxy leads out of it
        os.environ[name] = ",".join(filter(None, (os.environ.get(name), _LOOPBACK)))


def _own_home(*, cache: bool) -> Path:
    if cache:
        home = cache_folder() / "prefect"
        try:
            home.mkdir(parents=True, exist_ok=True)
        except OSError:
            cache = False
        else:
            return home.absolute()
    return scratch_folder("prefect")  # before Prefect is imported, so that it goes after the server's end


def _start_server() -> None:
    """Starts the embedded server, or finds the configured one.

    Two first starts in one home would both create its database, so they take turns.

    Raises:
        ServerError: it does not start or answer.
    """
    try:
        from prefect.client.orchestration import get_client
        from prefect.settings import PREFECT_API_URL, PREFECT_HOME

        home = PREFECT_HOME.value()
        home.mkdir(parents=True, exist_ok=True)
        with folder_lock(home), get_client(sync_client=True) as client:
            trouble = client.api_healthcheck()
    except Exception as error:
        why = str(error).strip().partition("\n")[0] or type(error).__name__
        raise ServerError(f"Prefect does not start ({why}); mend that, or build with --direct.") from error
    if trouble is not None:
        where = PREFECT_API_URL.value() or "this machine"
        raise ServerError(
            f"no Prefect server answers at {where} ({type(trouble).__name__}); start it, unset PREFECT_API_URL, "
            "or build with --direct."
        )


@contextmanager
def _naming_server_trouble() -> Iterator[None]:
    """Turns what a flow raises when its server goes away into one sentence."""
    try:
        yield
    except PrebriefError:
        raise
    except Exception as error:
        if not _is_server_trouble(error):
            raise
        raise ServerError(
            f"Prefect's server stopped answering ({type(error).__name__}); see to it and run again - what is built "
            "already is found again - or build with --direct."
        ) from error


def _is_server_trouble(error: Exception) -> bool:
    import httpx
    from prefect.exceptions import PrefectException

    return isinstance(error, (httpx.HTTPError, PrefectException)) or "Failed to reach API" in str(error)


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """Ends on SIGTERM and SIGHUP as a process does that is done, so that the embedded server does not outlive it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signature is the system's
        sys.exit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
