"""Fuzzes each loader and whole builds for a given time: `python -m tests.fuzz.run --seconds 120`.

Each target runs in processes of its own: its reader under atheris, where that is installed, then whole loads of what
atheris came upon, changed at random. An input that breaks one is written to `tests/fuzz/found/`; mend the code, then keep the input under `tests/fuzz/examples/`.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
FOUND = Path(__file__).parent / "found"

_SLOW = 10  # seconds for one input; more is a hang
_LONGEST = 20_000  # bytes of an input
_BUILDS = 0.3  # of the time goes to whole builds


def main(argv: list[str] | None = None) -> int:
    """Runs everything; the exit code is 1 where something broke."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120, help="in all")
    parser.add_argument("--target", action="append", help="only these; repeatable; `builds` is the property of builds")
    parser.add_argument("--inside", metavar="TARGET", help=argparse.SUPPRESS)
    parser.add_argument("--atheris", metavar="CORPUS", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.atheris:
        return under_atheris(options.inside, options.seconds, options.atheris)
    if options.inside:
        return fuzz(options.inside, options.seconds)
    from tests.fuzz.targets import TARGETS

    wanted = options.target or [*TARGETS, "builds"]
    loaders = [name for name in wanted if name != "builds"]
    whole = options.seconds * (_BUILDS if loaders else 1) if "builds" in wanted else 0
    broken = [name for name in loaders if not in_process(name, (options.seconds - whole) / len(loaders))]
    if whole and not builds(whole):
        broken.append("builds")
    sys.stdout.write(f"broken: {', '.join(broken)}; see {FOUND}\n" if broken else "nothing broke\n")
    return 1 if broken else 0


def in_process(name: str, seconds: float) -> bool:
    """One target in a process of its own, which may die."""
    command = [sys.executable, "-m", "tests.fuzz.run", "--inside", name, "--seconds", str(seconds)]
    done = subprocess.run(command, cwd=ROOT, check=False, stderr=subprocess.PIPE, text=True, errors="replace")
    said = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("INFO: ")]
    runs = ", ".join(line.removeprefix("Done ") for line in said if line.startswith("Done "))
    sys.stdout.write(f"{name}: {'ok' if done.returncode == 0 else 'BROKEN'} ({runs})\n")
    if done.returncode:
        sys.stdout.write("\n".join(said[-40:]) + "\n")
    sys.stdout.flush()
    return done.returncode == 0


def fuzz(name: str, seconds: float) -> int:
    """Attacks one target in this process: its reader under atheris, then whole loads with what that came upon."""
    FOUND.mkdir(exist_ok=True)
    if importlib.util.find_spec("atheris") is None:
        return mutate(name, seconds, {})
    corpus = Path(tempfile.mkdtemp(prefix="prebrief-corpus-"))
    try:
        command = [sys.executable, "-m", "tests.fuzz.run", "--atheris", str(corpus), "--inside", name]
        done = subprocess.run([*command, "--seconds", str(seconds / 2)], cwd=ROOT, check=False)
        if done.returncode:
            return done.returncode
        return mutate(name, seconds / 2, {path.name: path.read_bytes() for path in sorted(corpus.iterdir())})
    finally:
        shutil.rmtree(corpus, ignore_errors=True)


def timed(call: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """The call with a limit on its time, the processor's: the machine may stand still, and no loader is to blame."""

    def hung(*_: object) -> None:
        raise TimeoutError(f"it took more than {_SLOW} seconds")

    signal.signal(signal.SIGVTALRM, hung)

    def limited(data: bytes) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, _SLOW)
        call(data)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    return limited


def under_atheris(name: str, seconds: float, corpus: Path) -> int:
    """The reader of one target, guided by what it covers; `corpus` gets the inputs that reach something new."""
    import atheris

    with atheris.instrument_imports(include=["tasks"]):
        from tests.fuzz.targets import TARGETS, prepare, seeds

    prepare()
    for place, data in seeds(name).items():
        (corpus / place.replace("/", "_")).write_bytes(data)
    flags = [f"-max_total_time={max(1, int(seconds))}", "-timeout=86400", f"-max_len={_LONGEST}"]
    flags += [f"-artifact_prefix={FOUND}/{name}-", "-rss_limit_mb=3000"]
    atheris.Setup([sys.argv[0], *flags, str(corpus)], timed(TARGETS[name].read))
    atheris.Fuzz()
    return 0


def mutate(name: str, seconds: float, corpus: dict[str, bytes]) -> int:
    """Whole loads of seeds and of other known inputs, changed at random."""
    from tests.fuzz.targets import TARGETS, prepare, seeds

    prepare()
    target, known = timed(TARGETS[name].whole), list((seeds(name) | corpus).values())
    chance, until, count = random.Random(), time.monotonic() + seconds, 0
    while time.monotonic() < until:
        data = mutated(chance, known)
        try:
            target(data)
        except BaseException:
            (FOUND / f"{name}-crash-{count}").write_bytes(data)
            raise
        count += 1
    sys.stderr.write(f"Done {count} whole loads\n")
    return 0


_PIECES = (b'"', b"{", b"}", b"[", b"]", b"\n", b"\r", b"\0", b"```", b"~~~", b"# ", b"---\n", b"<!--", b"\xff\xfe", b"1e999", b"NaN", b"null", b"\xed\xa0\x80", b"\\ud800", b"..", b"| ", b"- [ ] ", b"&a ", b"*a", b": ", b"\t", b"    ", b"> ")  # fmt: skip


def mutated(chance: random.Random, known: list[bytes]) -> bytes:
    """A seed with some of it taken out, doubled, or put where it does not belong."""
    data = bytearray(chance.choice(known) or b"\n")
    if chance.random() < 0.7 and len(data) > 400:
        start = chance.randrange(len(data))
        data = data[start : start + chance.randrange(1, 800)]
    for _ in range(chance.randrange(1, 12)):
        place = chance.randrange(len(data) + 1)
        match chance.randrange(5):
            case 0:
                del data[place : place + chance.randrange(1, 40)]
            case 1:
                data[place:place] = chance.choice(_PIECES)
            case 2:
                data[place:place] = data[place : place + chance.randrange(1, 200)] * chance.randrange(1, 4)
            case 3 if place < len(data):
                data[place] = chance.randrange(256)
            case _:
                other = chance.choice(known)
                start = chance.randrange(len(other) + 1)
                data[place:place] = other[start : start + chance.randrange(1, 200)]
    return bytes(data[:_LONGEST])


def builds(seconds: float) -> bool:
    """The property of whole builds, over and over with other examples until the time is up."""
    until = time.monotonic() + seconds
    environment = {**os.environ, "PREBRIEF_FUZZ_FACTOR": "10", "CI": ""}
    command = [sys.executable, "-m", "pytest", "tests/fuzz/test_builds.py", "-q", "-x", "-p", "no:cacheprovider"]
    rounds = 0
    while True:
        left = until - time.monotonic()
        if left < 1:
            break
        try:
            done = subprocess.run(command, cwd=ROOT, check=False, env=environment, timeout=left, capture_output=True)
        except subprocess.TimeoutExpired:
            break
        if done.returncode:
            sys.stdout.write(done.stdout.decode(errors="replace")[-20_000:])
            return False
        rounds += 1
    cut = "" if rounds else "; the first was cut off, and found nothing until then: give it more time"
    sys.stdout.write(f"builds: ok ({rounds} rounds in {seconds:.0f} seconds{cut})\n")
    return True


if __name__ == "__main__":
    sys.exit(main())
