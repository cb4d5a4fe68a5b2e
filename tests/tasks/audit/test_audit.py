from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tasks.audit import CHECKS, Violation, audit
from tasks.errors import BuildMissingError
from tests.tasks.audit.damages import DAMAGES, Damage, call, write_calls
from tests.tasks.small_build import ODD, STAGES, TASK, sign, small_build

INDEPENDENT = Path(__file__).parents[4] / "shared" / "tools" / "check_build.py"

needs_reader = pytest.mark.skipif(
    not INDEPENDENT.is_file(), reason=f"{INDEPENDENT.name}, the independent reader, is not here"
)

# Loads the reader once for all folders: each start costs a second.
_DRIVER = """
import importlib.util, json, sys
from pathlib import Path
spec = importlib.util.spec_from_file_location("check_build", sys.argv[1])
reader = sys.modules["check_build"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reader)
found = {}
for folder in sys.argv[2:]:
    try:
        found[folder] = reader.check(Path(folder))[0].found
    except reader.NoBuild:
        found[folder] = None
print(json.dumps(found))
"""


def checks(violations: list[Violation]) -> set[str]:
    return {violation.check for violation in violations}


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    out = tmp_path_factory.mktemp("damaged")
    for damage in DAMAGES:
        damage.build(out / damage.name)
    return {damage.name: next((out / damage.name).iterdir()) for damage in DAMAGES}


@pytest.fixture(scope="module")
def audited(damaged: dict[str, Path]) -> dict[str, list[Violation]]:
    return {name: audit(folder) for name, folder in damaged.items()}


@pytest.fixture(scope="module")
def independent(damaged: dict[str, Path]) -> dict[str, dict[str, list[str]] | None]:
    folders = [str(folder) for folder in damaged.values()]
    run = subprocess.run(
        [sys.executable, "-c", _DRIVER, str(INDEPENDENT), *folders], capture_output=True, text=True, check=True
    )
    found = json.loads(run.stdout)
    return {name: found[str(folder)] for name, folder in damaged.items()}


@pytest.mark.parametrize("action", ["drop", "redact"])
def test_a_valid_build_has_no_violations(tmp_path: Path, action: str) -> None:
    assert audit(small_build(action).write(tmp_path)) == []


@needs_reader
@pytest.mark.parametrize("action", ["drop", "redact"])
def test_the_independent_reader_agrees_that_the_build_is_valid(tmp_path: Path, action: str) -> None:
    root = small_build(action).write(tmp_path)
    run = subprocess.run([sys.executable, str(INDEPENDENT), str(root)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_a_damage_is_found_by_the_check_it_concerns_and_by_no_other(
    damage: Damage, audited: dict[str, list[Violation]]
) -> None:
    violations = audited[damage.name]
    assert checks(violations) == set(damage.audit.split()), violations
    assert damage.where in {violation.where for violation in violations}, violations
    assert not any("cannot be checked" in violation.message for violation in violations), violations


@needs_reader
@pytest.mark.parametrize("damage", [damage for damage in DAMAGES if damage.independent], ids=lambda damage: damage.name)
def test_the_independent_reader_finds_it_too(damage: Damage, independent: dict[str, dict[str, list[str]]]) -> None:
    assert damage.independent in independent[damage.name]


@needs_reader
def test_whatever_the_independent_reader_finds_the_audit_finds(independent: dict, audited: dict) -> None:
    missed = [name for name, found in independent.items() if found and not audited[name]]
    assert missed == []


def test_every_check_is_proved_able_to_fail() -> None:
    assert {check.name for check in CHECKS} == {name for damage in DAMAGES for name in damage.audit.split()}


# ---- what is allowed --------------------------------------------------------------------------------------------


def test_call_prompts_are_part_of_a_build(tmp_path: Path) -> None:
    root = small_build().write(tmp_path)
    write_calls(root, call(tool="a"), call(tool="b", prompt=None, status="over_budget", message="Too long."))
    sign(root)
    assert audit(root) == []


def test_parents_that_are_missing_or_the_item_itself_bind_nobody(tmp_path: Path) -> None:
    build = small_build()
    build.items["log/c1"]["parent_id"] = "log/gone"
    build.items["rules/core"]["parent_id"] = "rules/core"
    assert audit(build.write(tmp_path)) == []


def test_a_cycle_of_parents_has_no_order_but_must_be_whole(tmp_path: Path) -> None:
    build = small_build()
    build.items["rules/core"]["parent_id"] = "rules/core/1"
    assert audit(build.write(tmp_path / "whole")) == []
    build.contexts[TASK]["rules/core/1"] |= {
        "decision": "dropped",
        "stage": STAGES[6],
        "reason": "budget",
        "text": None,
        "prompt_order": None,
    }
    build.settle(TASK)
    assert checks(audit(build.write(tmp_path / "torn"))) == {"closure"}


@pytest.mark.parametrize(
    ("most", "found"), [(9, set()), (8, set()), (0, {"accounting", "stages"}), (2000, {"accounting", "stages"})]
)
def test_dropped_rows_may_be_left_out_only_beyond_the_setting(tmp_path: Path, most: int, found: set[str]) -> None:
    build = small_build()
    build.settings["audit"]["max_rows_per_task"] = most
    for item_id in ("log/s1", "log/s2"):
        del build.contexts[TASK][item_id]
    assert checks(audit(build.write(tmp_path))) == found


def test_selected_rows_are_never_left_out(tmp_path: Path) -> None:
    build = small_build()
    build.settings["audit"]["max_rows_per_task"] = 5
    del build.contexts[TASK]["log/c1"]
    assert checks(audit(build.write(tmp_path))) == {"accounting", "closure"}


def test_text_that_a_tool_and_a_document_share_is_no_raw_output(tmp_path: Path) -> None:
    build = small_build()
    shared = "\n".join(f"- step {number}: {number * 7919 % 1000} of the payment flow" for number in range(40))
    build.items["design/1"]["text"] = shared
    digest = hashlib.sha256(shared.encode()).hexdigest()
    build.raw = {digest: shared.encode()}
    build.artifacts[0] |= {"sha256": digest, "size_bytes": len(shared)}
    for rows in build.contexts.values():
        if rows["design/1"]["text"] is not None:
            rows["design/1"]["text"] = shared
    build.settle(TASK, ODD)
    assert audit(build.write(tmp_path)) == []


def test_exactly_five_hundred_characters_of_a_raw_result_may_stand(tmp_path: Path) -> None:
    raw = next(iter(small_build().raw.values())).decode()
    for length, found in ((500, set()), (501, {"firewall"})):
        build = small_build()
        build.findings[0]["message"] = "> " + raw[40 : 40 + length]
        assert checks(audit(build.write(tmp_path / str(length)))) == found


@pytest.mark.parametrize(
    "text", ["- ```\n  x\n\nafter", "> # quoted", "- # listed\n\nafter", "    ## code", "~~~\n## x\n~~~", "#hash"]
)
def test_only_what_commonmark_sees_at_the_top_level_is_structure(tmp_path: Path, text: str) -> None:
    build = small_build()
    build.prompt(TASK, build.tasks[TASK]["prompt"].replace("## Design\n", f"## Design\n\n{text}\n"))
    assert audit(build.write(tmp_path)) == []


def test_enumerated_columns_may_be_plain_strings_and_counts_of_any_width(tmp_path: Path) -> None:
    root = small_build().write(tmp_path)
    for path in root.rglob("*.parquet"):
        frame = pl.read_parquet(path)
        wide = {pl.UInt32: pl.Int64, pl.UInt64: pl.Int64, pl.Int32: pl.Int16}
        frame.with_columns(pl.selectors.by_dtype(pl.Enum, pl.Categorical).cast(pl.String)).cast(wide).write_parquet(
            path
        )
    sign(root)
    assert audit(root) == []


# ---- damage of any kind -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["tasks.parquet", "items.parquet", "stages.parquet", "artifacts.parquet", "timings.parquet", "manifest.json"],
)
def test_no_flipped_byte_raises_or_goes_unnoticed(tmp_path: Path, name: str) -> None:
    path = small_build().write(tmp_path) / name
    whole = path.read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 12)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        assert audit(path.parent) or name == "timings.parquet", place


def test_links_are_named_and_never_followed(tmp_path: Path) -> None:
    root = small_build().write(tmp_path)
    (root / "prompts" / "out").symlink_to("/")
    (root / "artifacts" / "leak").symlink_to(tmp_path)
    violations = audit(root)
    assert {(found.check, found.where) for found in violations} == {
        ("files", "prompts/out"),
        ("files", "artifacts/leak"),
    }


def test_a_link_to_a_build_is_audited_as_the_build(tmp_path: Path) -> None:
    root = small_build().write(tmp_path)
    (tmp_path / "latest").symlink_to(root.name)
    assert audit(tmp_path / "latest") == []


def test_an_empty_folder_is_no_complete_build(tmp_path: Path) -> None:
    assert "files" in checks(audit(tmp_path))


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BuildMissingError, match="prebrief build"):
        audit(tmp_path / "nothing")


def test_a_message_never_repeats_what_is_confidential(tmp_path: Path) -> None:
    build = small_build()
    build.items["log/s1"]["text"] = "The plan is to sell."
    build.contexts[TASK]["log/s1"]["text"] = "The plan is to sell."
    assert not [found for found in audit(build.write(tmp_path)) if "sell" in found.message]


def test_a_prompt_without_a_context_is_looked_at_whole(tmp_path: Path) -> None:
    build = small_build()
    raw = next(iter(build.raw.values())).decode()
    build.prompt(TASK, build.tasks[TASK]["prompt"].replace("## Task\n", f"{raw}\n\n## Task\n"))
    root = build.write(tmp_path)
    (root / "contexts/checkout/T-001.parquet").unlink()
    sign(root)
    assert checks(audit(root)) == {"files", "firewall"}
