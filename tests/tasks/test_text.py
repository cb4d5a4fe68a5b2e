"""Cleaning, words, keywords and likeness."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.text import (
    TfIdfScorer,
    clean,
    difference_marks,
    jaccard,
    keywords,
    one_line,
    token_table,
    tokenize,
    word_table,
)

ODD = st.text(
    alphabet=st.one_of(
        st.characters(),
        st.sampled_from("\x1b[]m\x07\r\n\ufeff\u202e\ud800\u2028\x85\x00\u200b\u034f\u3164\uffa0\U000e0100\U0001d173"),
    ),
    max_size=60,
)


class TestCleaning:
    @given(ODD)
    def test_twice_changes_nothing(self, text):
        assert clean(clean(text)) == clean(text)

    @given(ODD)
    def test_nothing_hidden_is_left(self, text):
        cleaned = clean(text)
        cleaned.encode()
        for character in cleaned:
            assert character in "\n\t" or ord(character) >= 0x20
            assert not 0x7F <= ord(character) <= 0x9F
            assert character not in "\u2028\u2029\u202e\u200b\u2066\ufeff\u00ad\u034f\u3164\uffa0\U000e0100\U0001d173"

    @pytest.mark.parametrize(
        ("text", "cleaned"),
        [
            ("a\r\nb\rc", "a\nb\nc"),
            ("\ufeffstart", "start"),
            ("\x1b[1;31mred\x1b[0m", "red"),
            ("\x1b]0;title\x07rest", "rest"),
            ("a\u202eb", "a[U+202E]b"),
            ("a\x00b", "a[U+0000]b"),
            ("\ud800", "\ufffd"),
            ("👩\u200d💻 क\u094dष", "👩\u200d💻 क\u094dष"),
            ("tab\tstays\n", "tab\tstays\n"),
        ],
    )
    def test_of_examples(self, text, cleaned):
        assert clean(text) == cleaned

    def test_of_ascii_what_can_be_seen_stays(self):
        for character in map(chr, range(128)):
            assert (clean(f"a{character}b") == f"a{character}b") == (character.isprintable() or character in "\t\n")

    def test_on_one_line(self):
        assert one_line("  a\n\n b\tc ") == "a b c"


class TestWords:
    def test_plain_rule_keeps_joined_words_and_their_parts(self):
        assert tokenize("Read src/app/Main.py, the x and re-try_it.", "ascii") == {
            "read", "src/app/main.py", "src", "app", "main", "py", "re-try_it", "try_it", "re",
        }  # fmt: skip

    def test_other_scripts_and_camel_case_count_too(self):
        assert tokenize("getUserName HTTPServer snake_case Größe 数据库 v2") >= {
            "user", "name", "http", "server", "snake", "case", "größe", "数", "据", "库", "v2",
        }  # fmt: skip

    def test_stop_words_and_single_letters_do_not(self):
        assert tokenize("the a I x of not") == frozenset()

    def test_a_text_without_words_has_no_row(self):
        table = token_table(
            pl.DataFrame({"id": [1, 2], "text": ["!!!", "word"]}, schema={"id": pl.UInt32, "text": pl.String}),
            "unicode",
        )
        assert table["id"].to_list() == [2]

    @settings(deadline=None)
    @given(st.lists(st.text("aBc1_./- 数λΩ", max_size=12), max_size=8), st.sampled_from(["unicode", "ascii"]))
    def test_each_text_has_the_words_that_it_has_alone(self, texts, words):
        rows, vocabulary = word_table(
            pl.DataFrame({"id": range(len(texts)), "text": texts}, schema={"id": pl.UInt32, "text": pl.String}), words
        )
        found = {number: set() for number in range(len(texts))}
        for number, word in rows.iter_rows():
            found[number].add(vocabulary[word])
        assert list(found.values()) == [tokenize(text, words) for text in texts]
        assert vocabulary.to_list() == sorted(set().union(*found.values()), key=str.encode)
        assert rows.equals(rows.unique().sort("id", "word"))


class TestLikeness:
    def test_jaccard_is_the_share_in_common(self):
        assert jaccard("abc", "bcd") == 0.5
        assert jaccard([], []) == 0
        assert jaccard("a", []) == 0

    @given(st.frozensets(st.sampled_from("abcdef")), st.frozensets(st.sampled_from("abcdef")))
    def test_cosine_is_symmetric_and_at_most_one(self, one, other):
        scorer = TfIdfScorer([one, other, "ab"])
        assert 0 <= scorer.score(one, other) <= 1 + 1e-9
        assert scorer.score(one, other) == pytest.approx(scorer.score(other, one))
        if one:
            assert scorer.score(one, one) == pytest.approx(1)

    def test_rare_words_weigh_more(self):
        scorer = TfIdfScorer([["the", "rare"], ["the"], ["the"]])
        assert scorer.idf("rare") > scorer.idf("the") >= 1


class TestMarks:
    def marks(self, *texts):
        return pl.DataFrame({"text": texts}).select(difference_marks(pl.col("text"))).to_series().to_list()

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("Delete it", "Do not delete it"),
            ("Step 1", "Step 2"),
            ("wait 1.5 s", "wait 15 s"),
            ("can", "can't"),
            ("option A", "option B"),
            ("可以删除", "不可以删除"),
            ("port 80 then 443", "port 443 then 80"),
        ],
    )
    def test_differ_where_the_meaning_does(self, one, other):
        left, right = self.marks(one, other)
        assert left != right

    def test_agree_where_only_the_form_does(self):
        left, right = self.marks("Step 1: done!", "step 1 done")
        assert left == right


class TestKeywords:
    def test_words_over_three_characters_without_punctuation(self):
        assert keywords('"Parse," (the) config; fast!', []) == {"parse", "config", "fast"}

    def test_acronyms_and_camel_case(self):
        assert keywords("JWT API SQL CI S3 APIs loginPage it", []) == {
            "jwt",
            "api",
            "sql",
            "ci",
            "s3",
            "apis",
            "loginpage",
            "login",
            "page",
        }

    def test_parts_of_file_stems_over_two(self):
        assert keywords("", ["src/auth/jwt_login.test.ts", ".env.example", "docs/", "a/b/Dockerfile"]) == {
            "jwt", "login", "env", "docs", "dockerfile",
        }  # fmt: skip

    def test_stop_words_and_words_of_every_plan_pick_nothing(self):
        assert keywords("Implement this task with that file and update tests", []) == {"tests"}

    def test_east_asian_words_count_by_character(self):
        assert keywords("登录 の 로그인", []) == {"登", "录", "로그인"}
