"""The studio in a real browser, as a person uses it; skipped where there is none."""

import json
import shutil
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.slow
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SEEN = 180_000  # milliseconds that are waited at most: kernels may have to be compiled first
SKULL = "SkullKingFlat-v0"
CHOSEN = "document.querySelector('[aria-checked=true] small').textContent"
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


def begin(page, env, seed=5, options=None, seats=()):
    """Choose a game, its options and players, and begin."""
    page.click("#tab-table")
    page.click(f'[data-key="game-{env}"]')
    wait(page, f"{CHOSEN} === '{env}'")
    page.wait_for_selector("#begin", timeout=SEEN)
    page.fill('[data-key="seed"]', str(seed))
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
    page.click('[data-key="game-LanternWalk-v0"]')
    wait(
        page, 'document.querySelector("[aria-checked=true] small").textContent === "LanternWalk-v0"'
    )
    page.wait_for_selector("#tiles", timeout=SEEN)
    page.click("#tiles")
    page.wait_for_selector(".tile:nth-child(100)", timeout=SEEN)
    page.click("#run")
    wait(page, "studio.play.last[0].decisions >= 300")
    page.wait_for_selector(".visits svg", timeout=SEEN)
    page.click(".tile:nth-child(7)")
    page.wait_for_selector("canvas.pixels", timeout=SEEN)


def test_a_run_that_trains_shows_its_curve_grow(page, studio, tiny_config, tmp_path):
    command = [sys.executable, "-m", "training", "train", "--config", str(tiny_config)]
    command += ["--runs", str(studio.places.runs), "--name", "live", "--no-evaluation"]
    with subprocess.Popen([*command, "--set", "total_steps=40000"], stdout=-3, stderr=-3) as trains:
        stop = time.monotonic() + 60
        while not (studio.places.runs / "live" / "metrics.jsonl").exists():
            assert time.monotonic() < stop
            time.sleep(0.1)
        page.click("#tab-runs")
        page.wait_for_selector('[data-key="run-live"]', timeout=SEEN)
        page.check('[data-key="run-live"]')
        page.wait_for_selector("path.line", timeout=SEEN)
        points = int(page.get_attribute("path[data-points]", "data-points"))
        wait(page, f"Number(document.querySelector('path[data-points]').dataset.points) > {points}")
        trains.terminate()
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


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_sticks_out_of_the_page(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    for env in (SKULL, "Prospector-v0", "DrMarioPlacement-v0", "LanternWalk-v0"):
        begin(page, env)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, env
