"""Names of agents that search, and options of a search: what is said of a bad one."""

import pytest

import training
from fastenv.errors import ConfigError
from tests.tables import walk
from training.run.options import Options
from training.run.seating import base_of, is_agent, is_search, short_name, split_names
from training.search.agent import load
from training.search.options import SearchOptions, parse

PRETRAINED = "pretrained/skullking-ppo"


@walk(
    ("name", "agent", "search", "base", "short"),
    [
        ("heuristic", False, False, "heuristic", "heuristic"),
        ("runs/first", True, False, "runs/first", "first"),
        ("search:heuristic", True, True, "heuristic", "search:heuristic"),
        ("search:a/b,worlds=2,belief=bids", True, True, "a/b", "search:b"),
        (None, False, False, None, None),
    ],
)
def test_names_say_who_plays(name, agent, search, base, short):
    assert (is_agent(name), is_search(name)) == (agent, search)
    if name is not None:
        assert (base_of(name), short_name(name)) == (base, short)


@walk(
    ("text", "names"),
    [
        ("a", ("a",)),
        ("a,b", ("a", "b")),
        ("a,search:b,worlds=2,belief=bids,c", ("a", "search:b,worlds=2,belief=bids", "c")),
        ("search:a,search:b,worlds=1", ("search:a", "search:b,worlds=1")),
        ("a,x=1", ("a", "x=1")),
        ("", ("",)),
    ],
)
def test_commas_part_names_but_not_the_options_of_one(text, names):
    assert split_names(text) == names


def test_a_name_says_who_searches_and_how():
    who, options = parse("search:a/b,worlds=64,belief=bids,halving=false,rollouts=null,lead=1.5")
    assert who == "a/b"
    assert options == SearchOptions(worlds=64, belief="bids", halving=False, lead=1.5)
    assert options.model_fields_set == {"worlds", "belief", "halving", "rollouts", "lead"}


@walk(
    "name",
    [
        *("search:", "search:,worlds=2", "search:search:a", "search:a,worlds", "search:a,=2"),
        "search:a,lead=1,lead=2",
    ],
)
def test_names_of_another_form_are_refused(name):
    with pytest.raises(ConfigError, match=r"must be search:WHO, a trained agent or a bot"):
        parse(name)


BAD = {
    "worlds": [("0", "from 1 to 65536"), ("many", "an integer"), ("65537", "from 1 to 65536")],
    "budget_ms": [("0", "above 0"), ("-1", "above 0"), ("1e99", "an hour"), ("soon", "a number")],
    "rollouts": [(3, "a text")],
    "belief": [("bid", "one of 'uniform', 'bids', 'plays'")],
    "outcome": [(3, "a text")],
    "horizon": [(3, "a text")],
    "limit": [("0", "at least 1, or null")],
    "value": [(3, "a text")],
    "decisions": [(3, "a text")],
    "halving": [("on", "true or false")],
    "blocks": [("0", "from 1 to 1024"), ("1025", "from 1 to 1024"), ("some", "an integer")],
    "lead": [("-1", "at least 0"), ("inf", "a finite number")],
    "temperature": [("0", "above 0, or null")],
}


def test_every_option_has_a_bad_value_here():
    assert set(BAD) >= set(SearchOptions.names())


@walk(
    ("option", "value", "allowed"),
    [(name, *case) for name, cases in BAD.items() for case in cases],
)
def test_bad_values_are_refused_in_a_sentence(option, value, allowed):
    with pytest.raises(ConfigError) as refused:
        SearchOptions.from_mapping({option: value})
    text = str(refused.value)
    assert text.startswith(f"search.{option}=")
    assert f" is not possible: search.{option} must be " in text
    assert allowed in text
    assert "\n" not in text


def test_what_is_no_option_is_refused():
    with pytest.raises(ConfigError, match=r"'search.world' is not an option; did you mean 'search"):
        parse("search:a,world=3")


def test_worlds_and_milliseconds_are_one_budget():
    with pytest.raises(ConfigError, match=r"search\.worlds must be left out with budget_ms"):
        parse("search:a,worlds=3,budget_ms=2")


def test_a_policy_searches_under_a_name_that_can_be_read_again():
    policy = training.load_policy(PRETRAINED)
    agent = policy.search(worlds=4, halving=False, limit=None, lead=0.5)
    who, options = parse(agent.name)
    assert (who, options) == (str(policy.path), agent.options)
    again = load(agent.name)
    assert again.base.path == policy.path
    with pytest.raises(ConfigError, match=r"'search\.world' is not an option"):
        policy.search(world=3)


def test_a_bot_is_known_by_its_name_alone(tmp_path):
    assert load("search:heuristic,worlds=2", tmp_path).base == "heuristic"


def test_a_checkpoint_can_be_named():
    agent = load(f"search:{PRETRAINED}")
    named = load(f"search:{PRETRAINED}", checkpoint=agent.base.path.name)
    assert named.base.path == agent.base.path


def test_options_are_described():
    assert issubclass(SearchOptions, Options)
    assert all(field.description for field in SearchOptions.model_fields.values())
