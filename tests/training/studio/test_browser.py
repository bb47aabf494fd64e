"""The studio in a real browser, as a person uses it; skipped where there is none."""

import json
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from fastenv.registry import ENVS
from training.playing.decision import ADVICE

pytestmark = pytest.mark.slow
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SEEN = 180_000  # milliseconds that are waited at most: kernels may have to be compiled first
SKULL = "SkullKingFlat-v0"
CHOSEN = "document.querySelector('.games [aria-checked=true] small').textContent"
UNFOLD = "document.querySelectorAll('details').forEach((each) => { each.open = true; })"


@pytest.fixture(scope="module")
def browser():
    """A browser without a window."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="a browser is driven by Playwright: pip install playwright"
    )
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine: apt-get install chromium")
    with api.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser, studio):
    """A page of the studio; at its end the console must be without errors."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened, errors = context.new_page(), []
    listen(opened, errors)
    opened.goto(studio.url)
    opened.wait_for_selector("#begin", timeout=SEEN)
    yield opened
    context.close()
    assert errors == []


def listen(page, errors):
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))


def wait(page, condition):
    """Wait until an expression is true; the page's own policy lets no browser wait for it."""
    stop = time.monotonic() + SEEN / 1000
    while not page.evaluate(f"Boolean({condition})"):
        assert time.monotonic() < stop, condition
        page.wait_for_timeout(20)


def choose(page, env):
    """Choose a game, and the kind of it."""
    page.click("#tab-table")
    family = f"studio.form.games.find((game) => game.envs.some((each) => each.env === '{env}'))"
    page.click(f'[data-key="family-{page.evaluate(family + ".envs[0].env")}"]')
    page.click(f'[data-key="game-{env}"]')
    wait(page, f"{CHOSEN} === '{env}'")
    page.wait_for_selector("#begin", timeout=SEEN)


def begin(page, env, seed=5, options=None, seats=()):
    """Choose a game, its options and players, and begin."""
    choose(page, env)
    page.fill('[data-key="seed"]', str(seed))
    if options:
        page.click(".all-options summary")
    for name, value in (options or {}).items():
        page.fill(f"#option-{name}", str(value))
        page.press(f"#option-{name}", "Tab")
    for seat, player in seats:
        page.select_option(f'[data-key="seat-{seat}"]', player)
    page.click("#begin")
    wait(page, f'studio.play.info && studio.play.info.env === "{env}" && studio.play.last')


def last(page):
    return json.loads(page.evaluate("JSON.stringify(studio.play.last[0])"))


def play_round(page):
    """Click bids, cards and choices until a round is over."""
    clicked = set()
    while "is over" not in page.inner_text("#log"):
        wait(page, "studio.play.last[0].yours || studio.play.last[0].over")
        choice, card = page.locator(".choices button"), page.locator(".card.legal")
        target = choice if choice.count() else card
        clicked.add("choice" if choice.count() else "card")
        before = last(page)["index"]
        target.first.click()
        wait(page, f"studio.play.last[0].index > {before}")
    return clicked


def test_a_round_of_cards_is_played_by_clicks_to_its_points(page):
    begin(page, SKULL)
    page.fill('[data-key="speed"]', "8")
    assert play_round(page) == {"choice", "card"}
    log = page.inner_text("#log")
    assert "Bids: You" in log
    assert "Round 1 is over: You" in log


@pytest.mark.parametrize("width", [390, 1280])
def test_reasons_are_shown_by_default_where_cards_are_hidden(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    begin(page, SKULL, seats=[(1, "heuristic"), (2, "heuristic"), (3, "heuristic")])
    page.wait_for_selector("#thought .reason", timeout=SEEN)
    assert page.input_value("#thinker") == f"search:pretrained/skullking-2,{ADVICE}"
    assert " points ahead of the others, the mean of " in page.inner_text("#thought .reason")
    assert page.locator("#thought tr.chosen").count() == 1
    page.locator(".choices button").first.click()
    points = "(document.querySelector('#thought .reason') || {textContent: ''}).textContent"
    is_bid = "studio.play.last[0].scene.phase === 'BID'"
    while page.evaluate(is_bid) or "points ahead" not in page.evaluate(points):
        wait(page, "studio.play.last[0].yours")
        before = last(page)["index"]
        page.locator(".card.legal, .choices button").first.click()
        wait(page, f"studio.play.last[0].index > {before}")
        wait(page, "studio.play.last[0].yours")
        page.wait_for_timeout(500)
    assert page.locator("#thought tr.chosen").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.select_option("#thinker", "")
    page.wait_for_selector("#thought .reason", state="detached", timeout=SEEN)
    page.click("#tab-table")
    page.click("#begin")  # what a person has chosen stays
    wait(page, "studio.play.last && studio.play.last[0].index === 0")
    assert page.input_value("#thinker") == ""


def test_a_game_that_begins_cannot_be_begun_twice(page):
    choose(page, SKULL)
    click = "const b = document.querySelector('#begin'); b.click(); return b.disabled;"
    assert page.evaluate(f"(() => {{ {click} }})()")  # at once, before anything is answered
    wait(page, f'studio.play.info && studio.play.info.env === "{SKULL}" && studio.play.last')


def test_an_illegal_card_says_why(page):
    begin(page, SKULL)
    page.wait_for_selector(".hand .card", timeout=SEEN)
    page.evaluate("studio.send({kind: 'act', action: 9})")
    page.wait_for_selector("#status.wrong", timeout=SEEN)
    assert "is not possible" in page.inner_text("#status")


def test_the_keyboard_alone_is_enough(page):
    begin(page, SKULL)
    page.wait_for_selector(".choices .bid", timeout=SEEN)
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("(document.activeElement.dataset.key || '').startsWith('choice-')"):
            break
    page.keyboard.press("Enter")
    wait(page, "studio.play.last[0].index > 0")
    wait(page, "studio.play.last[0].yours")
    assert page.evaluate("document.activeElement.dataset.key !== undefined")


def test_a_pill_is_placed_by_keys(page):
    begin(page, "DrMarioPlacement-v0", options={"level": 1})
    before = last(page)["scene"]["bottles"][0]
    for key in ("ArrowLeft", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
    wait(page, f"JSON.stringify(studio.play.last[0].scene.bottles[0].ghost) !== "
               f"'{json.dumps(before['ghost'], separators=(',', ':'))}'")  # fmt: skip
    page.locator("body").press("Enter")
    wait(page, "studio.play.last[0].index === 1")
    assert dict(last(page)["scene"]["bottles"][0]["counters"])["pills"] == "1"


def test_frames_take_keys_and_a_pill_falls(page):
    begin(page, "DrMarioFrame-v0", options={"level": 1})
    page.keyboard.down("ArrowDown")
    wait(page, "studio.play.last[0].scene.bottles[0].counters.find(([n]) => n === 'pills')[1] > 0")
    page.keyboard.up("ArrowDown")
    page.click("#run")
    wait(page, "!studio.play.last[0].running")


def walk(page):
    begin(page, "LanternWalk-v0")
    page.keyboard.down("ArrowRight")
    wait(page, "studio.play.last[0].scene.cells >= 3")
    page.keyboard.up("ArrowRight")
    page.click("#run")
    wait(page, "!studio.play.last[0].running")


def test_lantern_walk_is_walked_by_keys_and_touched(page):
    walk(page)
    before = last(page)["scene"]
    assert before["x"] > 1
    page.click('[data-key="pad-left"]', delay=400)
    wait(page, f"studio.play.last[0].index > {before['step']}")
    painted = page.evaluate(
        "new Set(document.querySelector('canvas.pixels').getContext('2d')"
        ".getImageData(0, 0, 160, 144).data).size"
    )
    assert painted > 4


def test_back_in_time_and_a_branch(page):
    begin(page, SKULL)
    page.fill('[data-key="speed"]', "8")
    play_round(page)
    wait(page, "studio.play.last[0].yours")
    newest = last(page)["index"]
    page.click('[data-key="To the beginning"]')
    wait(page, "studio.play.last[0].index === 0")
    while not last(page)["yours"]:
        index = last(page)["index"]
        page.click('[data-key="A decision on"]')
        wait(page, f"studio.play.last[0].index === {index + 1}")
    here = last(page)["index"]
    page.locator(".choices button").last.click()
    wait(page, "studio.play.last[0].branch === 1 && studio.play.last[0].yours")
    page.wait_for_selector('[data-key="branch-1"]', timeout=SEEN)
    page.click('[data-key="branch-0"]')
    wait(page, "studio.play.last[0].branch === 0")
    assert here < newest


def test_a_link_in_a_second_tab_shows_the_same_bits(page, studio):
    walk(page)
    page.click(".further summary")
    page.click("#keep")
    page.wait_for_selector("#moment-link", timeout=SEEN)
    address = page.get_attribute("#moment-link", "href")
    pixels = "document.querySelector('canvas.pixels').toDataURL()"
    wait(page, "document.querySelector('canvas.pixels')")
    with page.context.expect_page() as opening:
        page.click("#moment-link")
    other, errors = opening.value, []
    listen(other, errors)
    wait(other, "window.studio && studio.play.last && document.querySelector('canvas.pixels')")
    wait(other, f"{pixels} === {json.dumps(page.evaluate(pixels))}")
    other.click(".further summary")
    other.click("#keep")
    other.wait_for_selector("#moment-link", timeout=SEEN)
    assert other.get_attribute("#moment-link", "href") == address
    assert errors == []


def test_the_link_of_a_studio_started_again_works_in_the_same_tab(browser, studio):
    context = browser.new_context()
    page = context.new_page()
    page.goto(studio.url.replace(studio.token, "of-one-before"))
    page.wait_for_selector("#status.wrong", timeout=SEEN)
    page.goto(studio.url)  # nothing but the part behind the # is new
    page.wait_for_selector("#begin", timeout=SEEN)
    assert studio.token not in page.url
    context.close()


def test_a_hundred_walks_at_once(page):
    choose(page, "LanternWalk-v0")
    page.click("#tiles")
    page.wait_for_selector(".tile:nth-child(100)", timeout=SEEN)
    wait(page, "studio.play.last[0].decisions >= 300")  # they run as soon as they are there
    page.wait_for_selector(".visits svg", timeout=SEEN)
    page.click(".tile:nth-child(7)")
    page.wait_for_selector("canvas.pixels", timeout=SEEN)


@contextmanager
def being_trained(page, runs, name, *flags, writes):
    """Train in a process that is ended, with its run chosen once it has written a file."""
    command = [sys.executable, "-m", "training", "train", "--runs", str(runs), "--name", name]
    command += ["--no-evaluation", *map(str, flags)]
    with subprocess.Popen(command, stdout=-3, stderr=-3) as trains:
        stop = time.monotonic() + SEEN / 1000
        while not (runs / name / writes).exists():
            assert time.monotonic() < stop
            time.sleep(0.1)
        page.click("#tab-runs")
        page.wait_for_selector(f'[data-key="run-{name}"]', timeout=SEEN)
        page.check(f'[data-key="run-{name}"]')
        yield
        trains.terminate()


def test_a_run_that_trains_shows_its_curve_grow(page, studio, tiny_config, tmp_path):
    flags = ("--config", tiny_config, "--set", "total_steps=40000")
    with being_trained(page, studio.places.runs, "live", *flags, writes="metrics.jsonl"):
        page.wait_for_selector("path.line", timeout=SEEN)
        points = int(page.get_attribute("path[data-points]", "data-points"))
        wait(page, f"Number(document.querySelector('path[data-points]').dataset.points) > {points}")
    assert page.get_attribute("#report", "href") == "/report?runs=live"
    page.click("#runs details summary")
    page.check('[data-measure="train/loss"]')
    page.select_option("#axis", "minutes")
    assert "train/loss" in page.locator("#runs .charts figcaption").all_inner_texts()
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert findings(page) == []
    with page.expect_download() as saving:
        page.click("#report")
    text = saving.value.path().read_text(encoding="utf-8")
    report = page.context.new_page()
    errors = []
    listen(report, errors)
    saved = tmp_path / "report.html"
    saved.write_text(text, encoding="utf-8")
    report.goto(saved.as_uri())
    report.wait_for_selector("path.line", timeout=SEEN)
    assert findings(report) == []
    assert errors == []


# A run of Parcel, a game of ours, with a live map.
MAPPED = {
    "env": "GameBoyPixels-v0",
    "num_envs": 16,
    "total_steps": 1_000_000,
    "torch_threads": 1,
    "env_options": {
        **{"rom": "parcel", "ram_map": "parcel", "states": "power_up", "stack_k": 1},
        "observe": ["map_id", "map_x", "map_y"],
        "max_steps": 64,
    },
    "ppo": {"n_steps": 16, "batch_size": 64, "n_epochs": 1, "net_arch": [16]},
    "evaluation": {"during": "off"},
    "live_map": {"every": 0.1},
}
# How many pixels of the map have another colour than what lies behind it.
DRAWN = """(() => {
  const map = document.querySelector('.live-map');
  const { data } = map.getContext('2d').getImageData(0, 0, map.width, map.height);
  return data.filter((value, k) => k % 4 === 3 && value > 0).length / (map.width * map.height);
})()"""


def test_a_live_map_follows_a_training(page, studio, tmp_path):
    config = tmp_path / "mapped.json"
    config.write_text(json.dumps(MAPPED), encoding="utf-8")
    flags = ("--config", config)
    with being_trained(page, studio.places.runs, "mapped", *flags, writes="map/0.png"):
        page.wait_for_selector('.live-map[data-pictured="true"]', timeout=SEEN)
        steps = int(page.get_attribute(".live-map", "data-steps"))
        wait(page, f"Number(document.querySelector('.live-map').dataset.steps) > {steps}")
    assert page.evaluate(DRAWN) > 0.95
    said = page.get_attribute(".live-map", "aria-label")
    assert re.match(r"Map 0 after [\d,]+ decisions: \d+ squares visited, .* lanes, as dots", said)
    numbers = page.locator("[data-map=mapped] option").all_inner_texts()
    visits = [int(re.search(r": ([\d,]+) visits", each)[1].replace(",", "")) for each in numbers]
    assert visits == sorted(visits, reverse=True)
    page.select_option("[data-map=mapped] select", index=len(numbers) - 1)
    chosen = numbers[-1].split(":")[0]
    assert page.get_attribute(".live-map", "aria-label").startswith(f"Map {chosen} ")
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(CUT) == []
    assert findings(page) == []
    with page.expect_download() as saving:
        page.click("#report")
    report, errors = page.context.new_page(), []
    listen(report, errors)
    saved = tmp_path / "report.html"
    saved.write_text(saving.value.path().read_text(encoding="utf-8"), encoding="utf-8")
    report.goto(saved.as_uri())
    report.wait_for_selector('.live-map[data-pictured="true"]', timeout=SEEN)
    assert report.evaluate(DRAWN) > 0.95
    assert findings(report) == []
    assert errors == []
    page.uncheck('[data-key="run-mapped"]')
    page.wait_for_selector(".live-map", state="detached", timeout=SEEN)


def findings(page):
    """Return serious findings of axe on what is shown."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright",
        reason="accessibility is checked by axe: pip install axe-playwright-python",
    )
    found = axe.Axe().run(page).response["violations"]
    return [
        (each["id"], [node["html"] for node in each["nodes"]][:3])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(page, theme):
    page.emulate_media(color_scheme=theme)
    assert findings(page) == []
    for env in (SKULL, "Prospector-v0", "DrMarioPlacement-v0", "LanternWalk-v0"):
        begin(page, env)
        page.check("#think")
        page.wait_for_selector("#thought details", timeout=SEEN)
        page.evaluate(
            "document.querySelectorAll('details').forEach((each) => { each.open = true; })"
        )
        assert findings(page) == [], env
    page.click("#tab-runs")
    assert findings(page) == []


# Elements that are wider than what holds them, or stick out of the page to the right.
CUT = """[...document.querySelectorAll('main *')].filter((each) => {
  const box = each.getBoundingClientRect();
  const held = each.scrollWidth > each.clientWidth + 1;
  const cut = held && getComputedStyle(each).overflowX !== 'visible';
  const apart = each.closest('pre, .unseen, thead, select, input');
  return box.width > 0 && !apart && (cut || box.right > innerWidth + 1);
}).map((each) => each.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize("width", [390, 1280])
def test_all_of_a_page_is_seen(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    for env in (SKULL, "Prospector-v0", "DrMarioPlacement-v0", "LanternWalk-v0"):
        choose(page, env)
        page.evaluate(UNFOLD)
        assert page.evaluate(CUT) == [], env
        begin(page, env)
        page.evaluate(UNFOLD)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, env
        assert page.evaluate(CUT) == [], env
    page.click("#tab-runs")
    for name in ("skullking", "skullking-ppo"):
        page.check(f'[data-key="run-pretrained/{name}"]', timeout=SEEN)
    page.wait_for_selector("#runs .sections h2", timeout=SEEN)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width == 390:  # a table is a list of its rows there
        assert page.evaluate(CUT) == []


# -- what a stranger meets -------------------------------------------------------------------------


def test_games_are_grouped_with_a_picture_and_their_ids_explained(page):
    titles = page.locator(".families b").all_inner_texts()
    assert titles == ["Skull King", "Asteroid Prospector", "Dr. Mario", "Game Boy"]
    drawn = (
        "[...document.querySelectorAll('.families img')].filter((each) => each.naturalWidth > 0)"
    )
    wait(page, f"{drawn}.length === {len(titles)}")
    assert all(len(text) > 40 for text in page.locator(".families .about").all_inner_texts())
    ids = []
    for family in page.locator(".families button").all():
        family.click()
        page.wait_for_selector("#begin", timeout=SEEN)
        for kind in page.locator(".games button").all():
            head, about, env = kind.inner_text().split("\n")
            assert head
            assert len(about) > 15
            ids.append(env)
    assert sorted(ids) == sorted(ENVS)


def test_options_are_folded_and_have_titles(page):
    assert not page.locator(".option").first.is_visible()
    assert page.inner_text("#changed") == f"{page.locator('.option').count()}, all as usual"
    page.click(".all-options summary")
    players = page.locator(".option", has=page.locator("#option-num_players"))
    said = " ".join(players.inner_text().split())
    assert said == "Number of players num_players 2 to 8."
    page.fill("#option-num_players", "3")
    page.press("#option-num_players", "Tab")
    wait(page, "document.querySelector('#changed').textContent.startsWith('1 of')")
    assert page.locator(".who").all_inner_texts() == ["You", "Opponent 1", "Opponent 2"]
    assert page.locator("#option-num_players").is_visible()


def test_seats_are_named(page):
    assert page.locator(".who").all_inner_texts() == ["You", *(f"Opponent {k}" for k in (1, 2, 3))]
    page.select_option('[data-key="seat-0"]', "heuristic")
    assert page.locator(".who").all_inner_texts() == [f"Player {k}" for k in (1, 2, 3, 4)]
    assert page.inner_text("#begin") == "Watch"
    choose(page, "DrMarioVersus-v0")
    assert page.locator(".who").all_inner_texts() == ["You", "Opponent"]
    begin(page, SKULL)
    said = page.inner_text("#head")
    assert "You against skullking-2 #1, skullking-2 #2 and skullking-2 #3" in said


def test_who_watches_need_not_start_it(page):
    begin(page, SKULL, seats=[(0, "heuristic")])
    wait(page, "studio.play.last[0].index > 2")
    assert last(page)["running"]


@pytest.mark.parametrize("env", [SKULL, "Prospector-v0", "DrMarioFrame-v0", "LanternWalk-v0"])
def test_rules_are_one_click_away(page, env):
    begin(page, env)
    page.click("#head .rules")
    page.wait_for_selector("#rules li", timeout=SEEN)
    assert findings(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.querySelector('#rules').scrollWidth") <= 390
    page.click("#rules button")
    wait(page, "document.querySelector('#rules') === null")
    assert page.locator("#head .rules").is_visible()


def test_a_stranger_learns_who_wins_so_far_and_why_points_were_lost(page):
    begin(page, SKULL, seed=5)
    page.fill('[data-key="speed"]', "8")
    page.wait_for_selector(".choices .bid", timeout=SEEN)
    page.locator(".choices .bid").last.click()  # a bid of 1, which is lost
    wait(page, "studio.play.last[0].yours && studio.play.last[0].scene.plays.length === 3")
    assert page.locator(".laid.wins").inner_text().endswith("wins so far")
    assert page.locator(".player small").all_inner_texts().count("led") == 1
    page.locator(".card.legal").first.click()
    wait(page, "studio.play.last[0].yours && studio.play.last[0].scene.phase === 'BID'")
    why = "You bid 1 and won 0, 1 too few: -10, 10 off for each."
    assert page.inner_text("#marked") == f"Round 1: {why}"
    assert page.inner_text("#log").endswith(why)


def test_the_log_follows_the_branch(page):
    begin(page, SKULL)
    page.fill('[data-key="speed"]', "8")
    play_round(page)
    wait(page, "studio.play.last[0].yours")
    whole = page.inner_text("#log")
    page.click('[data-key="To the beginning"]')
    wait(page, "document.querySelector('#log').childElementCount === 0")
    page.click('[data-key="To the newest"]')
    wait(page, f"document.querySelector('#log').innerText === {json.dumps(whole)}")
    page.click('[data-key="To the beginning"]')
    wait(page, "studio.play.last[0].index === 0 && studio.play.last[0].yours")
    page.locator(".choices button").last.click()  # another bid: another branch
    wait(page, "studio.play.last[0].branch === 1 && studio.play.last[0].yours")
    assert whole.startswith("Bids: You 0")
    assert page.inner_text("#log").startswith("Bids: You 1")
    page.click('[data-key="branch-0"]')
    wait(page, "studio.play.last[0].branch === 0")
    wait(page, "!document.querySelector('#log').innerText.startsWith('Bids: You 1')")


def test_runs_have_dates_and_what_committed_agents_reach(page):
    page.click("#tab-runs")
    row = page.locator("tr", has=page.locator('[data-key="run-pretrained/skullking"]'))
    row.wait_for(timeout=SEEN)
    cells = row.locator("td").all_inner_texts()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", cells[1])
    assert re.match(r"wins [\d.]+ % \[[\d.]+, [\d.]+\], against 3 x rule_medium", cells[4])
    for name in ("skullking", "skullking-ppo"):
        page.check(f'[data-key="run-pretrained/{name}"]')
    differs = page.locator("h3:has-text('What differs') + .scroll tbody th")
    differs.first.wait_for(timeout=SEEN)  # with one of them alone there is no such part
    text = page.inner_text("#runs .sections")
    assert "How well they play" in text
    assert "Against 3 x rule_hard" in text
    differing = differs.all_inner_texts()
    assert "ppo.n_epochs" in differing
    assert not [name for name in differing if name.startswith(("dqn.", "sb3.", "expert."))]
