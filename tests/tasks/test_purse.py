"""One budget being spent."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.layout import TRUNCATED, label, labelled
from tasks.offers import CUTTABLE, Offer, Offers
from tasks.purse import Goods, Purse
from tasks.settings import load_settings


class Words:
    """A counter for which a word is a token, so that tests can add up."""

    name = "words"

    def count(self, texts):
        return [len(text.split()) for text in texts]


def offer(section="history", kind="user_turn", words=10, parent=None, text=None):
    body = text if text is not None else "w " * (words - 1) + "w"
    drawn = labelled(body, label(section, kind, SETTINGS.render), SETTINGS.render)
    cost = Words().count([drawn])[0]
    return Offer(parent, section, kind, cost, len(drawn.encode()) + 2, len(body.split()), body, body)


SETTINGS = load_settings()
BRIEF = offer("brief", "user_turn", 10)


def spend(goods, budget, ranked=None, ancestors=(), chosen=SETTINGS):
    purse = Purse(Goods(Offers(dict(enumerate(goods))), Words(), chosen), budget)
    order = list(range(len(goods))) if ranked is None else ranked
    return purse.fill(order, ancestors)


class TestFilling:
    def test_the_brief_is_pinned_whatever_its_rank(self):
        choice = spend([offer(words=5), BRIEF], 40)
        assert set(choice.selected) == {0, 1}

    def test_a_brief_that_does_not_fit_takes_everything_with_it(self):
        choice = spend([offer(words=1), offer("brief", words=50)], 40)
        assert choice.selected == {}
        assert choice.dropped[1] == ("budget", 50 + 2 - 40)
        assert choice.dropped[0] == ("budget", None)

    def test_what_does_not_fit_is_passed_over_and_the_next_is_tried(self):
        choice = spend([BRIEF, offer(words=200), offer(words=8)], 60)
        assert set(choice.selected) == {0, 2}
        assert choice.dropped[1][0] == "budget"
        assert choice.dropped[1][1] > 0

    def test_rules_keep_to_their_share_until_the_rest_is_served(self):
        goods = [
            BRIEF,
            *(offer("rules", "policy", 10) for _ in range(10)),
            *(offer("design", "doc_snippet", 10) for _ in range(20)),
        ]
        choice = spend(goods, 200)
        rules = sum(1 <= item <= 10 for item in choice.selected)
        assert 4 <= rules <= 6, "30 % of 200 tokens"
        assert len(choice.selected) > 14

    def test_unspent_shares_flow_down(self):
        choice = spend([BRIEF, *(offer(words=10) for _ in range(30))], 200)
        assert len(choice.selected) >= 14, "history has the shares of rules and spec that nobody asked for"

    def test_requirements_leave_half_to_the_design(self):
        goods = [
            BRIEF,
            *(offer("requirements", "doc_snippet", 10) for _ in range(20)),
            *(offer("design", "doc_snippet", 10) for _ in range(20)),
        ]
        choice = spend(goods, 200)
        assert sum(item > 20 for item in choice.selected) >= 5

    def test_a_kind_has_its_limit(self):
        limited = load_settings(policy={"kind_limits": {"tool_call": 2}})
        choice = spend([BRIEF, *(offer(kind="tool_call", words=2) for _ in range(4))], 200, chosen=limited)
        assert set(choice.selected) == {0, 1, 2}
        assert choice.dropped[3] == ("kind_limit", None)


class TestAncestors:
    def test_come_with_their_child_and_are_paid_for(self):
        choice = spend([BRIEF, offer(words=10, parent=2), offer(words=10)], 40)
        assert list(choice.selected) == [0, 2, 1], "the parent is bought first"

    def test_are_too_dear_for_a_cheap_child(self):
        choice = spend([BRIEF, offer(words=5, parent=2), offer(words=100)], 40)
        assert choice.dropped[1][0] == "parent_missing_room"

    def test_beyond_the_horizon_come_all_the_same(self):
        choice = spend([BRIEF, offer(words=5, parent=2), offer(words=5)], 60, ranked=[0, 1], ancestors=[2])
        assert set(choice.selected) == {0, 1, 2}

    def test_that_are_no_candidates_keep_their_child_out(self):
        choice = spend([BRIEF, offer(words=5, parent=2), offer(words=5)], 60, ranked=[0, 1])
        assert choice.dropped[1] == ("parent_missing_room", None)

    def test_in_a_ring_come_together(self):
        choice = spend([BRIEF, offer(words=5, parent=2), offer(words=5, parent=1)], 60)
        assert set(choice.selected) == {0, 1, 2}

    def test_count_towards_the_limit_of_their_kind(self):
        limited = load_settings(policy={"kind_limits": {"tool_call": 1}})
        goods = [
            BRIEF,
            offer(kind="tool_result", words=3, parent=2),
            offer(kind="tool_call", words=3),
            offer(kind="tool_result", words=3, parent=4),
            offer(kind="tool_call", words=3),
        ]
        choice = spend(goods, 200, chosen=limited)
        assert set(choice.selected) == {0, 1, 2}
        assert choice.dropped[3][0] == choice.dropped[4][0] == "kind_limit"


class TestCutting:
    LONG = "\n\n".join(f"Paragraph {number} says this. And a second sentence." for number in range(60))

    def test_a_passage_larger_than_its_whole_share_ends_at_a_paragraph(self):
        choice = spend([BRIEF, offer("design", "doc_snippet", text=self.LONG)], 200)
        body = choice.selected[1]
        assert body.endswith("second sentence.\n\n" + TRUNCATED)
        assert self.LONG.startswith(body.removesuffix("\n\n" + TRUNCATED))

    def test_else_at_a_sentence(self):
        text = "A sentence of six words here. " * 100
        body = spend([BRIEF, offer("design", "doc_snippet", text=text)], 200).selected[1]
        assert body.endswith("here.\n\n" + TRUNCATED)

    def test_one_without_an_end_is_not_cut(self):
        choice = spend([BRIEF, offer("design", "doc_snippet", text="word " * 400)], 200)
        assert choice.dropped[1][0] in ("budget", "section_budget")

    def test_it_is_cut_although_nothing_cheaper_is_left(self):
        goods = [
            BRIEF,
            offer("design", "doc_snippet", text="#### Heading"),
            offer("design", "doc_snippet", text=self.LONG, parent=1),
        ]
        assert TRUNCATED in spend(goods, 200, ranked=[0, 1, 2]).selected[2]

    @pytest.mark.parametrize(("section", "kind"), [("rules", "policy"), ("history", "user_turn")])
    def test_rules_and_history_are_never_cut(self, section, kind):
        choice = spend([BRIEF, offer(section, kind, text=self.LONG)], 200)
        assert 1 not in choice.selected

    def test_a_smaller_one_is_passed_over_whole(self):
        goods = [BRIEF, *(offer("design", "doc_snippet", 60) for _ in range(4))]
        assert not any(TRUNCATED in body for body in spend(goods, 200).selected.values())


class TestPlainRule:
    def test_is_one_greedy_pass_over_bare_texts(self):
        goods = [offer(words=30), offer(words=80), offer(words=15), offer(words=5)]
        choice = Purse(Goods(Offers(dict(enumerate(goods))), Words(), SETTINGS), 50).fill_plainly([0, 1, 2, 3])
        assert set(choice.selected) == {0, 2, 3}
        assert choice.dropped == {1: ("budget", 60)}


SECTIONS = st.sampled_from(
    [
        ("rules", "policy"),
        ("requirements", "doc_snippet"),
        ("design", "doc_snippet"),
        ("reference", "plan_state"),
        ("history", "user_turn"),
        ("history", "tool_call"),
    ]
)


def drawn_goods(data, count):
    """The brief and so many other goods, of any section, price and parent."""
    goods = [BRIEF]
    for _ in range(count):
        section, kind = data.draw(SECTIONS)
        parent = data.draw(st.one_of(st.none(), st.integers(1, count)))
        goods.append(offer(section, kind, data.draw(st.integers(1, 60)), parent))
    return goods


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_never_spends_more_than_it_has_and_accounts_for_each(data):
    count = data.draw(st.integers(0, 12))
    goods = drawn_goods(data, count)
    budget = data.draw(st.integers(5, 250))
    ranked = data.draw(st.permutations(range(count + 1)))
    choice = spend(goods, budget, ranked)
    opened = {goods[item].section for item in choice.selected}
    titles = sum(
        len(f"## {name}".split()) for name in ("Security rules" if s == "rules" else s.title() for s in opened)
    )
    titles -= "brief" in opened and len(["##", "Brief"]) - len(["##", "Task"])
    assert sum(goods[item].cost for item in choice.selected) + titles <= budget
    assert sorted([*choice.selected, *choice.dropped]) == list(range(count + 1))
    for item in choice.selected:
        assert goods[item].parent is None or goods[item].parent in choice.selected
    for reason, short in choice.dropped.values():
        assert reason in ("budget", "section_budget", "parent_missing_room", "kind_limit")
        assert short is None or short > 0


class Plainly:
    """The rules of filling told one item at a time, without any shortcut, for texts that no sentence end lets cut."""

    LEAST_CUT = 48

    def __init__(self, goods, budget, ranked, ancestors, chosen):
        rules = Goods(Offers(dict(enumerate(goods))), Words(), chosen)
        self.titles, self.kind_room = rules.titles, dict(rules.limits)
        self.goods, self.ranked, self.candidates = goods, ranked, {*ranked, *ancestors}
        self.left, self.selected, self.dropped = budget, [], {}
        brief = [item for item in ranked if goods[item].section == "brief"]
        self.left -= self.price(brief, ())
        if self.left < 0:
            self.dropped = dict.fromkeys(ranked, ("budget", None)) | dict.fromkeys(brief, ("budget", -self.left))
            return
        self.selected += brief
        spec = int(chosen.packing.spec_share * budget) + self.buy(["rules"], int(chosen.packing.rules_share * budget))
        kept_back = spec - spec // 2 if any(goods[item].section == "design" for item in ranked) else 0
        unspent = self.buy(["requirements"], spec - kept_back, spec) + kept_back
        unspent = self.buy(["design"], unspent, spec)
        self.buy(["requirements"], unspent)
        self.buy(["reference", "history"], self.left, self.left)
        self.buy(["requirements", "design"], self.left)
        self.buy(["rules"], self.left)

    def price(self, chain, selected):
        opened = {self.goods[item].section for item in selected}
        new = {self.goods[item].section for item in chain} - opened
        return sum(self.goods[item].cost for item in chain) + sum(self.titles[section] for section in new)

    def buy(self, sections, share, whole=None):
        room = before = min(share, self.left)
        for item in self.ranked:
            if self.goods[item].section in sections and item not in self.selected:
                self.dropped[item] = refusal = self.refusal(item, room, whole)
                if refusal is None:
                    chain = self.chain(item, room)
                    room -= self.price(chain, self.selected)
                    self.selected += chain[::-1]
                    for one in chain:
                        self.kind_room[self.goods[one].kind] -= 1
        self.left -= before - room
        return share - (before - room)

    def refusal(self, item, room, whole):
        good = self.goods[item]
        may_cut = whole is not None and good.cost > whole and good.section in CUTTABLE
        least = self.LEAST_CUT if may_cut else good.cost
        if least > room:
            return "budget", least - room
        chain = self.chain(item, room)
        if not self.candidates.issuperset(chain):
            return "parent_missing_room", None
        kinds = [self.goods[one].kind for one in chain]
        if any(kinds.count(kind) > self.kind_room[kind] for kind in kinds):
            return "kind_limit", None
        short = self.price(chain, self.selected) - room
        if short <= 0:
            return None
        fits_alone = self.price([item], self.selected) <= room
        return "parent_missing_room" if fits_alone and len(chain) > 1 else "budget", short

    def chain(self, item, room):
        """The item and its missing ancestors, up to the one with which they alone cost more than there is room."""
        chain = [item]
        while (parent := self.goods[chain[-1]].parent) is not None and parent not in (*self.selected, *chain):
            chain.append(parent)
            if sum(self.goods[one].cost for one in chain[1:]) > room or parent not in self.candidates:
                break
        return chain


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_comes_to_what_the_rules_say(data):
    count = data.draw(st.integers(0, 25))
    goods = drawn_goods(data, count)
    order = data.draw(st.permutations(range(count + 1)))
    cut = data.draw(st.integers(0, count + 1))
    ranked, ancestors = order[:cut], order[cut : data.draw(st.integers(cut, count + 1))]
    limits = load_settings(policy={"kind_limit": data.draw(st.sampled_from([2, 50]))})
    budget = data.draw(st.integers(5, 500))
    choice = spend(goods, budget, ranked, ancestors, limits)
    told = Plainly(goods, budget, ranked, ancestors, limits)
    assert list(choice.selected) == told.selected
    assert choice.dropped == {item: told.dropped[item] for item in ranked if item not in told.selected}
