from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.scopes import CORE, SCOPE_FILES, scopes_of, scopes_of_all


@pytest.mark.parametrize(
    ("path", "scopes"),
    [
        ("src/app.py", ("python",)),
        ("ext/fast.pyx", ("python",)),
        ("stubs/app.pyi", ("python",)),
        ("web/main.js", ("javascript",)),
        ("web/main.mjs", ("javascript",)),
        ("web/main.cjs", ("javascript",)),
        ("web/App.jsx", ("javascript",)),
        ("web/App.tsx", ("javascript", "typescript")),
        ("web/app.ts", ("javascript", "typescript")),
        ("web/app.mts", ("javascript", "typescript")),
        ("web/Page.vue", ("javascript", "vue")),
        ("cmd/main.go", ("go",)),
        ("src/lib.rs", ("rust",)),
        ("db/schema.SQL", ("sql",)),
        ("Gemfile", ("ruby",)),
        ("infra/main.tf", ("terraform",)),
        ("charts/api/templates/deployment.yaml", ("helm",)),
        ("k8s/base/service.yml", ("kubernetes",)),
        (".github/workflows/ci.yml", ("github-actions",)),
        (".gitlab-ci.yml", ("gitlab-ci",)),
        ("**/*.py", ("python",)),
        ("src/**/*.{js,py}", ("javascript", "python")),
        ("win\\dir\\app.py", ("python",)),
    ],
)
def test_a_path_falls_under_the_scopes_of_its_suffix_or_name(path, scopes):
    assert scopes_of(path) == scopes


@pytest.mark.parametrize("folder", [".github/workflows", ".gitlab", "charts/api", "helm", "k8s"])
def test_no_folder_says_more_than_the_suffix_of_a_language(folder):
    assert scopes_of(f"{folder}/tool.py") == ("python",)
    assert scopes_of(f"{folder}/Dockerfile.py") == ("docker",)


@pytest.mark.parametrize(
    "path",
    [
        "Dockerfile",
        "services/api/Dockerfile",
        "Dockerfile.dev",
        "Dockerfile.go",
        "api.dockerfile",
        "docker-compose.yml",
        "docker-compose.override.yaml",
        "compose.yml",
        "compose.prod.yaml",
        "Containerfile",
        ".dockerignore",
    ],
)
def test_image_files_fall_under_docker_by_their_base_name(path):
    assert scopes_of(path) == ("docker",)


@pytest.mark.parametrize(
    ("path", "scopes"),
    [
        ("tools/dockerfile_parser.py", ("python",)),
        ("mydockerfile_parser.py", ("python",)),
        ("docs/dockerfile-guide.md", ()),
        ("docker/readme.md", ()),
        ("src/", ()),
        ("src/app.py/", ()),
        ("src/**", ()),
        ("README", ()),
        ("", ()),
    ],
)
def test_a_word_within_a_name_and_a_folder_say_nothing(path, scopes):
    assert scopes_of(path) == scopes


def test_the_core_comes_first_and_each_scope_once():
    assert scopes_of_all(["b.py", "a.py", "Dockerfile", "x.c"]) == (CORE, "cpp", "docker", "python")
    assert scopes_of_all([]) == (CORE,)


def test_every_scope_that_a_path_can_have_has_a_file():
    paths = ["a.c", "a.cs", "Dockerfile", "a.go", "a.java", "a.ts", "a.svelte", "a.vue", "a.jl", "a.py", "a.r", "a.rb"]
    assert set(scopes_of_all(paths)) <= set(SCOPE_FILES)


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_has_known_scopes(path):
    assert set(scopes_of(path)) <= set(SCOPE_FILES)


def test_many_braces_end():
    assert set(scopes_of("{a,b}" * 40 + ".py")) <= {"python"}
