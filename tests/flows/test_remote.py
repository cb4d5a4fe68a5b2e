"""The flow and the gate before a launch, with a build that goes to a URL."""

from __future__ import annotations

import uuid

import pytest

from tests.buckets import buckets_in_environment
from tests.flows.serving import contents
from tests.flows.test_launch import command, run

pytest.importorskip("moto.server")
pytest.importorskip("s3fs")


@pytest.fixture(scope="module")
def s3():
    with buckets_in_environment() as buckets:
        yield buckets


def test_the_gate_opens_for_a_sound_build_at_a_url(built, server, sample, s3):
    from flows.prelaunch import prelaunch

    prefix = uuid.uuid4().hex
    url = f"s3://{s3.bucket}/{prefix}"
    assert prelaunch(**sample, out=url) == f"{url}/{built.path.name}"
    there = s3.objects(f"{prefix}/{built.path.name}")
    assert there.pop("timings.parquet")
    assert there == contents(built.path)
    assert s3.get(f"{prefix}/latest") == built.path.name.encode()


def test_what_is_audited_is_what_lies_there(server, sample, s3, monkeypatch):
    from flows import prelaunch as module
    from tasks.errors import BuildMissingError

    prefix = uuid.uuid4().hex

    def damaged(**given):
        outcome = build(**given)
        s3.put(f"{prefix}/{outcome['build_id']}/tasks.parquet", b"other")
        return outcome

    build = module.build_contexts
    monkeypatch.setattr(module, "build_contexts", damaged)
    with pytest.raises(BuildMissingError, match=r"is not whole \(tasks.parquet is not what its manifest lists\)"):
        module.prelaunch(**sample, out=f"s3://{s3.bucket}/{prefix}")
    assert server.latest_run("prelaunch")["state_type"] == "FAILED"


def test_the_command_says_the_same_of_a_flow_and_of_a_direct_build(server, sample, s3):
    url = f"s3://{s3.bucket}/{uuid.uuid4().hex}"
    environment = server.environment(**s3.environment)
    flow = run(command(sample, "--out", url, "--flow"), environment)
    assert (flow.returncode, flow.stderr) == (0, "")
    direct = run(command(sample, "--out", url), environment)
    assert direct.stdout == flow.stdout.replace("built:", "already built:")
