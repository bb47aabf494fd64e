import json
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from training import report as command
from training.evaluation.group_comparison import compare_groups
from training.logs import plots, report
from training.logs.run_data import compared, read_run, read_runs, smooth
from training.logs.seed_groups import find_groups
from training.run.config import RunConfig

PICTURES = (
    plots.learning_curves,
    plots.losses,
    plots.speed,
    plots.phases,
    plots.evaluations,
    plots.evaluation_points,
)
VOID = {"meta", "img", "br"}


class Page(HTMLParser):
    """Checks that elements are nested, and collects what matters."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.sources, self.words = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="session")
def evaluated(finished, tmp_path_factory):
    """A finished run that was evaluated."""
    run = tmp_path_factory.mktemp("evaluated") / "sb3-run"
    shutil.copytree(finished, run)
    intervals = {"points": [10.0, 5.0, 15.0], "win_rate": [0.25, 0.2, 0.3]}
    bot = {"points": [-0.04, -5.0, 5.0], "win_rate": [0.2, None, 0.3]}
    record = {
        "env": "SkullKingWorker-v0",
        "created": "2026-01-02T03:04:05Z",
        "intervals": "95 %",
        "matches": {
            "protocol": "duplicate deals",
            "games": 40,
            "results": {"rule_hard": {"random": bot, "trained": intervals}},
        },
        "goals": {"rates": {"rule_hard": {"overall": [0.5, 0.4, 0.6], "round_1": [0.7, 0.6, 0.8]}}},
    }
    (run / "evaluation.json").write_text(json.dumps(record))
    return run


@pytest.fixture
def native(tmp_path):
    """What the native trainer leaves, as far as it is read here; no config, no summary."""
    run = tmp_path / "native-run"
    run.mkdir()
    lines = [
        {
            "step": 100 * k,
            "iter": k,
            "wall_s": 70.0 * k,
            "sps": 9000.0,
            "phases": {"env": 0.1, "forward": 0.2, "backward": 0.4, "gather": 0.0},
            "train": {"loss": 1.0, "entropy": 1 / k, "grad_norm": None, "kl": 0.01},
            "episode": {"n": 3, "return_mean": float(k)},
            "precision": "bf16",
        }
        for k in range(1, 21)
    ]
    text = "\n".join(json.dumps(line) for line in lines)
    (run / "metrics.jsonl").write_text(text + '\n{"step": 21')  # was cut off
    found = [
        {"step": 500, "results": {"win rate": [0.3, 0.2, 0.4], "odd": "x"}},
        {"step": 1000, "results": {"win rate": 0.4}},
        {"step": None},
    ]
    (run / "evaluations.jsonl").write_text("\n".join(json.dumps(line) for line in found))
    return run


@pytest.fixture
def only_evaluated(evaluated, tmp_path):
    run = tmp_path / "only-evaluated"
    run.mkdir()
    shutil.copy(evaluated / "evaluation.json", run)
    return run


@pytest.fixture
def no_pictures(monkeypatch):
    """Leave the pictures out, which take most of the time, where only words are looked at."""
    monkeypatch.setattr(report, "_picture", lambda _figure, _text: None)


# -- the page --------------------------------------------------------------------------------------


def test_page_compares_runs_of_all_kinds(evaluated, native, only_evaluated, tmp_path, capsys):
    out = tmp_path / "pages" / "report.html"
    runs = [str(path) for path in (evaluated, native, only_evaluated)]
    assert command.main([*runs, "--out", str(out), "--title", "Three <runs>"]) == 0
    assert "3 runs" in capsys.readouterr().out
    page = Page(out.read_text())
    for part in ("Three <runs>", "sb3-run", "native-run", "only-evaluated", "Machine and versions"):
        assert part in page.text
    assert "native-run: no config.json; no evaluation.json; no summary.json" in page.text
    assert "10 [5, 15]" in page.text
    assert "0 [-5, 5]" in page.text  # and not -0
    assert "ppo.n_steps 16" in page.text
    assert page.tags.count("img") == 6


def test_page_needs_nothing_else(evaluated, native):
    text = report.page(read_runs([evaluated, native]))
    page = Page(text)
    assert page.sources
    assert all(source.startswith("data:image/svg+xml;base64,") for source in page.sources)
    assert not {"script", "link", "iframe"} & set(page.tags)
    assert "http" not in text.replace("data:", "")[: text.index("<img")]
    assert "url(" not in text


def test_no_module_writes_elements_by_hand():
    sources = Path(report.__file__).parents[1].rglob("*.py")
    assert not [path for path in sources if "</" in path.read_text()]


@pytest.mark.usefixtures("no_pictures")
def test_names_and_notes_are_text(native, tmp_path):
    bad = tmp_path / "<script>alert(1)"
    shutil.copytree(native, bad)
    (bad / "summary.json").write_text('{"status": "<script>x"')
    text = report.page(read_runs([bad, native]))
    assert "<script" not in text
    assert "summary.json cannot be read" in Page(text).text


@pytest.mark.usefixtures("no_pictures")
def test_differing_options_stand_apart(evaluated, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(evaluated, other)
    config = json.loads((other / "config.json").read_text())
    config["config"]["ppo"]["gamma"] = 0.5
    (other / "config.json").write_text(json.dumps(config))
    page = Page(report.page(read_runs([evaluated, other])))
    differing = page.text[page.text.index("What differs:") : page.text.index("All ")]
    assert "ppo.gamma 0.99 0.5" in differing
    assert "n_steps" not in differing
    same = Page(report.page(read_runs([evaluated, shutil.copytree(evaluated, other / "b")])))
    assert "All options are equal." in same.text


@pytest.mark.usefixtures("no_pictures")
def test_evaluations_on_other_deals_are_called_so(evaluated, only_evaluated):
    path = only_evaluated / "evaluation.json"
    path.write_text(path.read_text().replace('"games": 40', '"games": 80'))
    text = Page(report.page(read_runs([evaluated, only_evaluated]))).text
    assert "the evaluations differ in games" in text


def test_an_evaluation_of_another_config_is_called_so(evaluated):
    path = evaluated / "evaluation.json"
    record = json.loads(path.read_text())
    known = json.loads((evaluated / "config.json").read_text())["sha256"]
    for sha256, notes in ((known, 0), ("0" * 64, 1)):
        path.write_text(json.dumps({**record, "config_sha256": sha256}))
        found = [note for note in read_run(evaluated).notes if "another config" in note]
        assert len(found) == notes
    path.write_text(json.dumps(record))


def test_options_that_came_since_make_no_other_config(evaluated, tmp_path):
    run = shutil.copytree(evaluated, tmp_path / "old")
    config = json.loads((run / "config.json").read_text())
    del config["config"]["evaluation"]["replays"]  # an option that an older version did not know
    (run / "config.json").write_text(json.dumps({**config, "sha256": "1" * 64}))
    record = json.loads((run / "evaluation.json").read_text())
    now = RunConfig.from_mapping(config["config"]).sha256()
    (run / "evaluation.json").write_text(json.dumps({**record, "config_sha256": now}))
    assert not [note for note in read_run(run).notes if "another config" in note]


@pytest.mark.parametrize("make", ["missing", "empty"])
def test_what_is_no_run_is_refused(make, tmp_path, capsys):
    path = tmp_path / "none"
    if make == "empty":
        path.mkdir()
    out = tmp_path / "report.html"
    assert command.main([str(path), "--runs", str(tmp_path), "--out", str(out)]) == 2
    assert "is no run" in capsys.readouterr().err
    assert not out.exists()


# -- runs that differ in their seed alone ----------------------------------------------------------


@pytest.fixture
def seeds_of(evaluated, tmp_path):
    """Return a function that writes the runs of a group, each with the points it came to."""

    def write(stem, points, **options):
        paths = []
        for seed, each in points.items():
            run = shutil.copytree(evaluated, tmp_path / f"{stem}-{seed}")
            config = json.loads((run / "config.json").read_text())
            config["config"] |= {"seed": seed, "name": run.name, **options}
            (run / "config.json").write_text(json.dumps(config))
            record = json.loads((run / "evaluation.json").read_text())
            players = record["matches"]["results"]["rule_hard"]
            players["trained"]["points"] = [each, each - 5, each + 5]
            (run / "evaluation.json").write_text(json.dumps(record))
            paths.append(run)
        return paths

    return write


@pytest.mark.usefixtures("no_pictures")
def test_seeds_of_one_training_are_a_group(seeds_of, tmp_path):
    first = seeds_of("base", {1: 10.0, 2: 20.0, 3: 30.0, 4: 90.0})
    other = seeds_of("other", {1: 40.0, 2: 50.0}, total_steps=7)
    out = tmp_path / "report.html"
    paths = map(str, (*first, *other))
    assert command.main([*paths, "--out", str(out)]) == 0
    page = Page(out.read_text())
    text = page.text[page.text.index("Over training seeds") :]
    assert "seed comes to more than one of base." in text
    assert "base 4 25 [" in text  # of four, one at either end is left out
    assert "other 2 45 [40, 50] above in 75 %" in text
    assert "Of 2 seeds none is left out" in text
    assert "Bootstrap intervals of 4 seeds are too narrow" in text
    assert "nan" not in text.lower()
    (found,) = (x for x in compare_groups(read_runs(first)).played.values() if "points" in x)
    assert found["points"][0].probability_of_improvement is None


@pytest.mark.usefixtures("no_pictures")
def test_a_seed_alone_stands_beside_a_group_without_interval(seeds_of):
    paths = [*seeds_of("base", {1: 10.0, 2: 20.0}), *seeds_of("other", {9: 15.0}, total_steps=7)]
    runs = read_runs(paths)
    text = Page(report.page(runs, groups=compare_groups(runs))).text
    assert "other-9 1 15 above in 50 %" in text
    assert "One seed has no interval" in text
    assert "nan" not in text[text.index("Over training seeds") :].lower()


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("kind", ["alone", "the same seed", "other options", "not evaluated"])
def test_without_seeds_beside_each_other_there_are_no_groups(seeds_of, evaluated, kind):
    paths = seeds_of("base", {1: 10.0})
    if kind == "the same seed":
        paths.append(shutil.copytree(paths[0], paths[0].parent / "again"))
    if kind == "other options":
        paths += seeds_of("other", {2: 10.0}, total_steps=7)
    if kind == "not evaluated":
        paths += seeds_of("base", {2: 10.0})
        for path in paths:
            (path / "evaluation.json").unlink()
    runs = read_runs(paths)
    assert compare_groups(runs) is None
    assert "Over training seeds" not in report.page(runs, groups=compare_groups(runs))


def test_runs_without_config_are_in_no_group(native, only_evaluated):
    assert find_groups(read_runs([native, only_evaluated])) == []


def test_groups_have_names_of_their_own(seeds_of, tmp_path):
    """What stands before the seed, or else the name of the first run."""
    same = [*seeds_of("a", {1: 0.0, 2: 0.0}), *seeds_of("b", {3: 0.0}, total_steps=7)]
    assert [group.name for group in find_groups(read_runs(same))] == ["a", "b-3"]
    mixed = [*seeds_of("c", {5: 0.0}, num_envs=9), *seeds_of("d", {6: 0.0}, num_envs=9)]
    assert [group.name for group in find_groups(read_runs(mixed))] == ["c-5"]
    twice = seeds_of("e", {1: 0.0, 2: 0.0}, num_envs=10)
    twice += seeds_of("e", {3: 0.0, 4: 0.0}, num_envs=11)
    assert [group.name for group in find_groups(read_runs(twice))] == ["e-1", "e-3"]


def test_a_performance_profile_falls_at_each_seed(seeds_of):
    paths = [*seeds_of("base", {1: 10.0, 2: 30.0}), *seeds_of("other", {9: 15.0}, total_steps=7)]
    figure = plots.profiles(compare_groups(read_runs(paths)))
    (axis,) = figure.axes
    assert axis.get_title(loc="left") == "against 3 x rule_hard"
    line, dots = axis.lines  # a seed alone has no profile
    assert line.get_ydata().tolist() == [1.0, 0.5, 0.0, 0.0]
    assert dots.get_xdata().tolist() == [10.0, 30.0]
    low, high = axis.get_xlim()
    assert low < 10.0 < 30.0 < high


def test_seeds_that_came_to_the_same_are_drawn(seeds_of):
    runs = read_runs(seeds_of("base", {1: 10.0, 2: 10.0}))
    axis = plots.profiles(compare_groups(runs)).axes[0]
    assert axis.get_xlim() == (9.0, 11.0)


# -- what is drawn ---------------------------------------------------------------------------------


def test_pictures_are_left_out_where_there_is_nothing(native, only_evaluated):
    (native / "evaluations.jsonl").unlink()
    only, trained = read_runs([only_evaluated, native])
    assert [draw([only]) is not None for draw in PICTURES] == [False] * 4 + [True, False]
    assert [draw([trained]) is not None for draw in PICTURES] == [True] * 4 + [False, False]


def test_figures_show_raw_and_smoothed_over_decisions_and_time(native):
    (run,) = read_runs([native])
    figure = plots.learning_curves([run])
    assert [axis.get_xlabel() for axis in figure.axes] == ["decisions", "minutes of training"]
    raw, smoothed = figure.axes[0].lines
    np.testing.assert_array_equal(raw.get_ydata(), np.arange(1.0, 21.0))
    assert smoothed.get_ydata()[-1] == 18.0  # the mean of 16 to 20
    assert figure.axes[1].lines[0].get_xdata()[-1] == pytest.approx(20 * 70 / 60)


def test_what_never_changes_has_one_tick(native):
    record = '{{"step": {}, "train": {{"lr": {}, "kl": {}}}}}'
    lines = [record.format(k, 3e-4 + 1e-12 * k, k) for k in range(1, 9)]
    (native / "metrics.jsonl").write_text("\n".join(lines))
    changing, constant = plots.losses(read_runs([native])).axes
    assert len(changing.get_yticks()) > 1
    assert constant.get_yticks() == pytest.approx([3e-4])


def test_long_runs_are_thinned(native):
    line = '{{"step": {0}, "wall_s": {0}, "episode": {{"return_mean": 1}}}}'
    text = "\n".join(line.format(k) for k in range(1, 5000))
    (native / "metrics.jsonl").write_text(text)
    figure = plots.learning_curves(read_runs([native]))
    assert all(len(line.get_xdata()) <= plots.POINTS for line in figure.axes[0].lines)


def test_a_run_of_one_iteration_is_a_point(native):
    (native / "metrics.jsonl").write_text('{"step": 5, "episode": {"return_mean": 1}}')
    runs = read_runs([native])
    assert plots.learning_curves(runs, over_time=False).axes[0].lines[0].get_marker() == "o"
    assert Page(report.page(runs)).tags.count("img") == 2


def test_entropy_has_one_sign(evaluated, native):
    for run in read_runs([evaluated, native]):
        assert (run.column("train/entropy") > 0).all()


def test_bots_that_played_the_same_stand_once(evaluated, only_evaluated):
    runs = read_runs([evaluated, only_evaluated])
    players = compared(runs)["against 3 x rule_hard"]
    assert list(players) == ["sb3-run", "only-evaluated", "random"]
    path = only_evaluated / "evaluation.json"
    path.write_text(path.read_text().replace("-0.04", "-7"))
    players = compared(read_runs([evaluated, only_evaluated]))["against 3 x rule_hard"]
    assert list(players)[2:] == ["random", "random (only-evaluated)"]


def test_what_a_pair_and_its_halves_played_belongs_to_the_run(evaluated, tmp_path):
    for name in ("one", "other"):
        path = shutil.copytree(evaluated, tmp_path / name) / "evaluation.json"
        record = json.loads(path.read_text())
        players = record["matches"]["results"]["rule_hard"]
        halves = ("trained bids", "decoded bids")
        players |= dict.fromkeys(halves, players["trained"])
        record["matches"]["results"]["mixed"] = players
        path.write_text(json.dumps(record))
    found = compared(read_runs([tmp_path / "one", tmp_path / "other"]))
    assert set(found) >= {"against 3 x rule_hard", "against mixed"}
    names = list(found["against mixed"])
    assert names[:3] == ["one", "one bids", "one, decoded bids"]
    assert names[-1] == "random"
    for run in ("one", "other"):
        assert {run, f"{run} bids", f"{run}, decoded bids"} <= set(names)


def test_a_bot_is_no_run_whose_name_it_begins_with(evaluated, tmp_path):
    found = compared([read_run(shutil.copytree(evaluated, tmp_path / "r"))])
    assert list(found["against 3 x rule_hard"]) == ["r", "random"]


def test_panels_of_evaluations_have_room(evaluated, tmp_path):
    """Names take less than half of a line; no tick is printed over another, no title cut off."""
    for name in ("a-run-with-quite-a-long-name-1", "a-run-with-quite-a-long-name-2"):
        path = shutil.copytree(evaluated, tmp_path / name) / "evaluation.json"
        record = json.loads(path.read_text())
        players = record["matches"]["results"]["rule_hard"]
        players["trained, decoded bids"] = players["trained"]
        sets = ("rule_hard", "rule_medium", "heuristic", "mixed", "rule_pi_hard", "random", "x")
        record["matches"]["results"] = dict.fromkeys(sets, players)
        path.write_text(json.dumps(record))
    figure = plots.evaluations(read_runs(sorted(tmp_path.iterdir())))
    figure.draw_without_rendering()
    assert len(figure.axes) == 8  # seven sets of opponents, and the goals
    width = figure.bbox.width
    lines = {}
    for axis in figure.axes:
        assert len(axis.get_title(loc="left")) <= 25
        assert axis.get_tightbbox().x0 >= 0
        assert axis.get_tightbbox().x1 <= width
        ticks = [label.get_window_extent() for label in axis.get_xticklabels() if label.get_text()]
        inside = [box for box in ticks if axis.bbox.x0 <= (box.x0 + box.x1) / 2 <= axis.bbox.x1]
        assert all(a.x1 < b.x0 for a, b in pairwise(inside))
        lines.setdefault((axis.figure, round(axis.bbox.y0)), []).append(axis.bbox.width)
    assert all(sum(widths) > 0.5 * width for widths in lines.values() if len(widths) == 3)
    assert len([widths for widths in lines.values() if len(widths) == 3]) == 2


def test_long_names_keep_beginning_and_end():
    short = plots._shortened("a-run-with-a-very-long-name-indeed, decoded bids")
    assert len(short) == plots.LETTERS
    assert short.startswith("a-run")
    assert short.endswith("decoded bids")
    assert plots._shortened("short") == "short"


def test_evaluation_points_say_wins_and_bids_made(native):
    results = {f"{m}, 3 x rule_hard": [0.5, 0.4, 0.6] for m in ("win_rate", "margin", "bid_hit")}
    line = json.dumps({"step": 5, "results": results})
    (native / "evaluations.jsonl").write_text(line)
    axes = plots.evaluation_points(read_runs([native])).axes
    assert [axis.get_title(loc="left") for axis in axes] == [
        f"{said}, 3 x rule_hard" for said in ("wins", "margin", "bids made")
    ]


def test_runs_of_the_same_name_are_told_apart(evaluated, tmp_path):
    shutil.copytree(evaluated, tmp_path / "again" / evaluated.name)
    runs = read_runs([evaluated, tmp_path / "again" / evaluated.name, evaluated])
    names = [run.name for run in runs]
    assert len(names) == 2
    assert names[1] == "again/sb3-run"


def test_smoothing_leaves_out_what_is_missing():
    values = np.array([np.nan, 2.0, 4.0, np.nan, 6.0, 8.0, 10.0])
    np.testing.assert_array_equal(smooth(values), [np.nan, 2.0, 3.0, 3.0, 4.0, 5.0, 7.0])


def test_looking_at_runs_does_not_wait_for_torch():
    told = "import sys, training.report; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", told],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"
