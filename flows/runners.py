"""Where the shards of a build run: threads of this process, or the workers of a Dask or Ray cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.errors import PrebriefError
from tasks.pipeline import ShardDone, Spread, run_shard

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasks.batch import Batch
    from tasks.settings import Settings

RUNNERS = ("threads", "dask", "ray")


class RunnerError(PrebriefError):
    """There is no such runner, its library is not installed, or its cluster cannot be reached."""

    code = "RUNNER"


class _Parcel:
    """A shard on its way to a worker: a plain object, in which neither Prefect nor Dask looks for futures."""

    def __init__(self, batch: Batch, settings: Settings) -> None:
        self.batch = batch
        self.settings = settings


@task(name="run_shard", task_run_name="run_shard-{number}", cache_policy=NO_CACHE, persist_result=False)
def shard_task(parcel: _Parcel, number: int) -> ShardDone:
    """The stages that work on pairs, over one shard."""
    return run_shard(parcel.batch, parcel.settings, number)


def spread_on(runner: str, address: str | None = None) -> Spread:
    """A way to run shards side by side: each is one task of Prefect, on the runner's workers.

    Args:
        runner: `threads`, `dask` or `ray`.
        address: of a cluster's scheduler; without it Dask and Ray start workers on this machine.

    Raises:
        RunnerError: see there.
    """
    made = _task_runner(runner, address)

    def spread(shards: Sequence[Batch], settings: Settings) -> Iterator[ShardDone]:
        try:
            with made.duplicate() as workers:
                futures = [
                    workers.submit(shard_task, {"parcel": _Parcel(shard, settings), "number": number})
                    for number, shard in enumerate(shards)
                ]
                for future in futures:
                    yield future.result()
        except (OSError, TimeoutError) as error:
            raise RunnerError(
                f"the {runner} cluster at {address or 'this machine'} cannot be reached ({error}); see to it, or leave "
                "--runner out."
            ) from error

    return spread


def _task_runner(runner: str, address: str | None) -> Any:  # noqa: ANN401 - a class of an optional library
    if runner not in RUNNERS:
        raise RunnerError(f"there is no runner {runner!r}; use {', '.join(RUNNERS)}.")
    if runner == "threads":
        from prefect.task_runners import ThreadPoolTaskRunner

        return ThreadPoolTaskRunner()
    try:
        if runner == "dask":
            from prefect_dask.task_runners import DaskTaskRunner

            return DaskTaskRunner(address=address)
        from prefect_ray import RayTaskRunner

        return RayTaskRunner(address=address)
    except ImportError as error:
        raise RunnerError(f"the runner {runner} is not installed; install prebrief[{runner}].") from error
