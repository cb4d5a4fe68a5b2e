from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.sources.plans.mentions import mentioned

COLUMNS = ("files_create", "files_modify", "files_read", "files_delete")


def columns(*texts, known=()):
    """The files that texts name, by what is done to them."""
    found = mentioned(texts, frozenset(known)).columns
    assert sorted(found["files_inferred"]) == sorted(path for name in COLUMNS for path in found[name])
    return {name.removeprefix("files_"): found[name] for name in COLUMNS if found[name]}


def files(*texts, known=()):
    return mentioned(texts, frozenset(known)).columns["files_inferred"]


class TestWhatIsAPath:
    @pytest.mark.parametrize(
        ("text", "paths"),
        [
            ("Change `src/auth/login.py`.", ["src/auth/login.py"]),
            ("Change src/auth/login.py, then go on.", ["src/auth/login.py"]),
            ("See (lib/a.ts) and lib/b.tsx; lib/c.js!", ["lib/a.ts", "lib/b.tsx", "lib/c.js"]),
            ("It is in `./src/a.go`", ["src/a.go"]),
            (r"In src\win\a.cs", ["src/win/a.cs"]),
            ("**src/a.rs** and *src/b.rs*", ["src/a.rs", "src/b.rs"]),
            ("[the guide](docs/guide.md)", ["docs/guide.md"]),
            ("load(src/a.py, [lib/b.py", ["src/a.py", "lib/b.py"]),
            ("- [ ] T001 Set up the model in Sources/App/Model.swift", ["Sources/App/Model.swift"]),
            ("入力を `backend/src/入力.ts` で直す", ["backend/src/入力.ts"]),
            ("app/(group)/[id]/page.tsx", ["app/(group)/[id]/page.tsx"]),
            ("Adapt main.go and its test main_test.go.", ["main.go", "main_test.go"]),
            ("The README.md says so", ["README.md"]),
            ("A Dockerfile, a Makefile and `.env.example`", ["Dockerfile", "Makefile", ".env.example"]),
            (".github/workflows/ci.yml", [".github/workflows/ci.yml"]),
            ("Tests/__snapshots__/a.test.ts", ["Tests/__snapshots__/a.test.ts"]),
        ],
    )
    def test_quoted_or_bare_with_the_suffix_of_a_file(self, text, paths):
        assert files(text) == paths

    @pytest.mark.parametrize(
        "place",
        ["cmd/x.go:130", "cmd/x.go:130:7", "cmd/x.go:36-132", "cmd/x.go:71,93", "cmd/x.go#L4", "cmd/x.go#L4-L9"],
    )
    def test_the_line_that_it_points_to_is_no_part_of_it(self, place):
        assert files(f"at {place} (somewhere)", f"`{place}`") == ["cmd/x.go"]

    def test_a_leading_slash_is_the_root_of_the_repository(self):
        assert files("/backend/src/x.ts") == ["backend/src/x.ts"]

    @pytest.mark.parametrize(
        "text",
        [
            "/home/user1/project/a.py",
            "panic at /Users/user1/src/x.go:12",
            "~/.config/tool/a.toml",
            r"C:\Users\user1\a.cs",
            "/usr/lib/python3/site.py:4",
            "`/tmp/out.json`",
        ],
    )
    def test_paths_of_a_machine_are_none(self, text):
        assert files(text) == []

    @pytest.mark.parametrize(
        "text",
        [
            "https://example.org/a/b.html and http://x.y/z.js",
            "ssh://host.example/a.git/b.py",
            "github.com/someone/tool/main.go",
            "write to someone@example.org",
            "../other/project.py and a/../../b.py",
        ],
    )
    def test_addresses_and_what_leads_outside_are_none(self, text):
        assert files(text) == []

    @pytest.mark.parametrize(
        "text",
        [
            "and/or, I/O, 0/1, 3/4",
            "versions 6.1.1, v0.33.2 and 1.5",
            "T001-T005 in 24/7 mode",
            "`swift test --filter X.swift`",
            "e.g. this, i.e. that, etc.",
            "Node.js, Next.js and Vue.js",
            "os.path.join(a, b) and self.value",
            "types (a, b), `[String]`, `--json`, `-o/a.json`",
            "files ending in .go or `.json`",
            "all of *_test.go, **/*.py, src/{a,b}.ts, <name>-review.txt",
            "`GET /api/users` and /api/v1/items",
        ],
    )
    def test_words_that_look_like_paths_are_none(self, text):
        assert files(text) == []

    def test_code_in_fences_is_passed_over(self):
        assert files("Change a/b.py:\n\n```sh\ncat c/d.py\n```\n\n~~~\ne/f.py\n~~~\nand g/h.py") == ["a/b.py", "g/h.py"]
        assert files("An open fence:\n```\nc/d.py") == []


class TestWhatMayBeAPath:
    def test_is_one_when_the_repository_has_it(self):
        text = "Change bin/tool and `LICENSE`, and/or tell."
        assert mentioned([text]).unsure >= {"bin/tool", "LICENSE", "and/or"}
        assert files(text) == []
        assert files(text, known={"bin/tool", "LICENSE"}) == ["bin/tool", "LICENSE"]

    def test_bare_words_are_none(self):
        assert "LICENSE" not in mentioned(["the LICENSE says so"]).unsure


class TestWhatIsDone:
    def test_by_default_a_file_is_modified(self):
        assert columns("See src/a.py") == {"modify": ["src/a.py"]}

    def test_a_mark_behind_the_path_says_it(self):
        text = "Files: src/a.js (new), src/b.js (rewrite), `src/c.js` (deleted), **src/d.js** (read-only), src/e.js (removed)"
        assert columns(text) == {
            "create": ["src/a.js"],
            "modify": ["src/b.js"],
            "delete": ["src/c.js", "src/e.js"],
            "read": ["src/d.js"],
        }

    @pytest.mark.parametrize(
        "text",
        [
            "Create src/a.py",
            "- Create `src/a.py` with the model",
            "4. Create the module src/a.py",
            "First read on. Create a model in src/a.py",
            "Scaffold src/a.py",
        ],
    )
    def test_what_a_sentence_creates_is_created(self, text):
        assert columns(text) == {"create": ["src/a.py"]}

    def test_the_verb_of_another_sentence_says_nothing(self):
        assert columns("Create a branch. Then change src/a.py") == {"modify": ["src/a.py"]}
        assert columns("Users can create things in src/a.py") == {"modify": ["src/a.py"]}

    def test_the_first_that_says_more_counts(self):
        assert columns("See src/a.py.", "Create src/a.py.", "src/a.py (deleted)") == {"create": ["src/a.py"]}


class TestOneFileNamedTwice:
    def test_a_source_file_without_its_folder_is_the_one_that_has_it(self):
        assert files("In login.py", "Change src/login.py; login.py:3 is wrong") == ["src/login.py"]
        assert columns("Create login.py", "It is src/login.py") == {"create": ["src/login.py"]}

    def test_unless_the_repository_has_both(self):
        assert files("src/setup.py and setup.py", known={"setup.py"}) == ["src/setup.py", "setup.py"]

    def test_documents_and_settings_lie_anywhere(self):
        both = ["docs/README.md", "README.md", "app/package.json", "package.json"]
        assert files(" ".join(both)) == both


PIECES = st.sampled_from(
    [
        "src",
        "a.py",
        "/",
        "\\",
        ".",
        "..",
        ":",
        "~",
        " ",
        "\n",
        "`",
        "```",
        "(",
        ")",
        "[",
        "]",
        "new",
        "Create ",
        "-",
        "*",
        "@",
        "C:",
        "//",
        "%2e",
        "é",
    ]
)


@given(
    st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=200), st.frozensets(st.text(max_size=6), max_size=4)
)
def test_whatever_the_text_paths_are_relative_and_lead_nowhere_else(text, known):
    found = mentioned([text], known)
    for path in [*found.columns["files_inferred"], *found.unsure]:
        assert path
        assert not path.startswith(("/", "~"))
        assert "\\" not in path
        assert not {"", ".", ".."} & set(path.split("/"))
        assert not any(character.isspace() or ord(character) < 32 for character in path)


@pytest.mark.parametrize(
    "text",
    [
        "`" * 50_000,
        "a." * 25_000,
        "a" + ")" * 50_000,
        "[" * 50_000,
        ":1" * 25_000,
        "create a/b " * 5_000,
        "a/" * 25_000,
    ],
)
def test_no_text_takes_long(text):
    start = time.perf_counter()
    mentioned([text])
    assert time.perf_counter() - start < 5
