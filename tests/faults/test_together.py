"""Several builds into one folder at once: each is whole, `latest` is one of them, and the bytes are those of one alone."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from tasks.building import build
from tasks.settings import load_settings
from tests.faults.commands import assert_latest_is_whole, names
from tests.swarms import Built, event, task, write_swarm

EVENTS = [event("u1", "user_turn", "login goes on"), event("r1", "tool_result", "row of a login\n" * 200)]


def asked(folder, title):
    return write_swarm(folder / title, [task("T-1", title), task("T-2", "Logout")], events=EVENTS)


def test_while_others_damage_and_read(tmp_path):
    """Threads build two swarms into one folder again and again; whoever looks at `latest` finds a whole build."""
    requests = [asked(tmp_path, "Login"), asked(tmp_path, "Payment")]
    out = tmp_path / "out"
    build(requests[0], load_settings(), out)
    troubles: list[BaseException] = []

    def work(request):
        try:
            for _ in range(2):
                made = build(request, load_settings(), out)
                (made.path / "findings.parquet").touch()
        except BaseException as error:  # noqa: BLE001 - whatever a thread meets
            troubles.append(error)

    threads = [threading.Thread(target=work, args=(request,)) for request in requests * 2]
    for thread in threads:
        thread.start()
    looks = 0
    while any(thread.is_alive() for thread in threads):
        assert (out / "latest" / "manifest.json").is_file()
        looks += 1
    assert looks > 1
    assert troubles == []
    assert_latest_is_whole(out)
    assert len(names(out)) == 3


def test_two_that_replace_the_same_damaged_build(tmp_path):
    request = asked(tmp_path, "Login")
    out = tmp_path / "out"
    before = Built(build(request, load_settings(), out).path).bytes()
    damaged = next((out / "latest" / "contexts").rglob("*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with ThreadPoolExecutor(3) as pool:
        made = list(pool.map(lambda _: build(request, load_settings(), out), range(3)))
    assert any(one.fresh for one in made)
    assert names(out) == sorted([made[0].path.name, "latest"])
    assert Built((out / "latest").resolve()).bytes() == before
