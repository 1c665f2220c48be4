"""docs/papers.md: words for headlines are computed, of rows that are there; no model reproduces one."""

import math
from dataclasses import replace

import pytest

from documents import FULL, claims, papers, papers_stored, peers, result
from documents.claims import (
    ABSENT,
    IN_FORM,
    NOT,
    REPRODUCED,
    UNTOLD,
    Cell,
    Claim,
    Fewest,
    Headline,
    Ratio,
    verdict,
)
from documents.headlines import HEADLINES, OF_DISSERTATION, PAPERS
from grainscope_report.resources import DISSERTATION, EMOGI, paper
from stored import ROOT, TOGETHER

pytestmark = TOGETHER
MEASURED = [one for one in HEADLINES if not one.absent]
NAMED = [f"{one.paper}: {one.says}" for one in MEASURED]
ABOVE, BELOW = Claim(1, math.inf, stated=False), Claim(-math.inf, 1, stated=False)
SHARE = Claim(0.4, 0.4, even=None)


@pytest.mark.parametrize(
    ("ours", "claim", "word"),
    [
        pytest.param(2.0, Claim(2, 2), REPRODUCED, id="the same"),
        pytest.param(2.3, Claim(2, 2), REPRODUCED, id="15 % above"),
        pytest.param(2.31, Claim(2, 2), IN_FORM, id="more above"),
        pytest.param(1.7, Claim(2, 2), REPRODUCED, id="15 % below"),
        pytest.param(1.69, Claim(2, 2), IN_FORM, id="more below"),
        pytest.param(4.0, Claim(2, 2), IN_FORM, id="twice"),
        pytest.param(4.01, Claim(2, 2), NOT, id="more than twice"),
        pytest.param(2.0, Claim(4, 4), IN_FORM, id="half"),
        pytest.param(1.99, Claim(4, 4), NOT, id="less than half"),
        pytest.param(0.99, Claim(1.1, 1.1), NOT, id="near, and the other side is ahead"),
        pytest.param(1.0, Claim(1.1, 1.1), NOT, id="near, and none is ahead"),
        pytest.param(1.05, Claim(0.95, 0.95), NOT, id="near, and the other side is behind"),
        pytest.param(0.9, Claim(1, 1), REPRODUCED, id="even is claimed"),
        pytest.param(1.15, Claim(1, 1), REPRODUCED, id="even is claimed, 15 % above"),
        pytest.param(1.16, Claim(1, 1), NOT, id="even is claimed, and one side is ahead"),
        pytest.param(0.84, Claim(1, 1), NOT, id="even is claimed, and one side is behind"),
        pytest.param(1.55, Claim(1, 1, even=None), IN_FORM, id="a share of all"),
        pytest.param(0.46, SHARE, REPRODUCED, id="a share"),
        pytest.param(0.8, SHARE, IN_FORM, id="twice a share"),
        pytest.param(0.81, SHARE, NOT, id="more than twice a share"),
        pytest.param(1.3, Claim(1.2, 1.4), REPRODUCED, id="inside a range"),
        pytest.param(1.6, Claim(1.2, 1.4), REPRODUCED, id="near the upper end"),
        pytest.param(1.62, Claim(1.2, 1.4), IN_FORM, id="beyond the upper end"),
        pytest.param(0.1, Claim(-math.inf, 1.3, even=None), REPRODUCED, id="far within a bound"),
        pytest.param(1.6, Claim(-math.inf, 1.3, even=None), IN_FORM, id="beyond a bound"),
        pytest.param(9.0, Claim(0.5, math.inf, even=None), REPRODUCED, id="far above a bound"),
        pytest.param(9.0, ABOVE, IN_FORM, id="the side that is ahead, however far"),
        pytest.param(1.0, ABOVE, NOT, id="neither is ahead"),
        pytest.param(0.99, ABOVE, NOT, id="the side that is behind"),
        pytest.param(0.01, BELOW, IN_FORM, id="the side that is claimed behind"),
        pytest.param(1.01, BELOW, NOT, id="not the side that is claimed behind"),
    ],
)
def test_the_word_is_by_distance_and_by_the_side_that_is_ahead(ours, claim, word):
    assert verdict(ours, claim) == word
    assert verdict(ours, claim, capped=True) == (IN_FORM if word == REPRODUCED else word)


@pytest.mark.parametrize("headline", MEASURED, ids=NAMED)
def test_a_headline_has_rows_of_one_run_a_ratio_and_no_modelled_row_is_reproduced(headline):
    assert headline.ours
    assert all(math.isfinite(value) for value in headline.values)
    cells = [cell for one in headline.ours for cell in one.cells]
    assert all(cell.row.verified for cell in cells if cell.row.label == "measured")
    assert headline.word in (REPRODUCED, IN_FORM, NOT, UNTOLD)
    modelled = any(
        cell.row.label == "modelled" or "requests" in cell.what or cell.what.startswith("bytes read")
        for cell in cells
    )
    assert headline.modelled == modelled
    assert headline.here.endswith("modelled") == modelled
    assert not ((modelled or headline.stand_in) and headline.word == REPRODUCED)
    assert (", by a stand-in" in headline.here) == bool(headline.stand_in)
    assert headline.why or headline.word != NOT, "say why it differs"


def test_what_overlaps_refutes_that_it_does_not():
    (headline,) = (one for one in HEADLINES if one.number == "pageable_duplex_like_one_way")
    assert headline.claim.parity
    assert headline.mean > claims.CLOSE[1]
    assert headline.word == NOT


def test_a_stand_in_is_in_form_at_most_and_says_what_imitates_what():
    (halo,) = (one for one in HEADLINES if one.number == "speedup_over_halo_least")
    assert verdict(halo.mean, halo.claim) == REPRODUCED
    assert halo.word == IN_FORM
    assert replace(halo, stand_in="").word == REPRODUCED
    (line,) = (line for line in papers.rows_behind("emogi").splitlines() if "HALO" in line)
    assert f"By a stand-in: {halo.stand_in}." in line
    assert "One ratio on one graph." in line
    assert "The card has 80 GB and holds every edge list here" in line


IMITATED = ("Subway", "HALO", "Gunrock", "gathered edges", "papers 20", "pareto 22 for", "green contexts")


@pytest.mark.parametrize("headline", MEASURED, ids=NAMED)
def test_what_imitates_something_named_is_marked(headline):
    about = f"{headline.says} {headline.why} {headline.stand_in}"
    axes = {axis for one in headline.ours for cell in one.cells for axis in cell.axes}
    imitates = any(name in about for name in IMITATED) or "graph=papers20" in axes
    assert bool(headline.stand_in) == imitates


def test_a_headline_without_rows_says_why_and_all_have_numbers_that_papers_state():
    for headline in HEADLINES:
        numbers = paper(headline.paper).numbers
        ids = {headline.number, *filter(None, (headline.most, headline.over))}
        assert ids <= numbers.keys()
        assert bool(headline.absent) != bool(headline.ours)
        assert headline.side in ("above", "below") or numbers[headline.number].value is not None
        assert headline.claim.least <= headline.claim.most
    absent = next(one for one in HEADLINES if one.absent)
    assert (absent.word, absent.here) == (ABSENT, "")
    assert f"Not measured, because {absent.absent}." in papers.rows_behind("emogi")


def test_a_row_that_is_not_there_or_not_alone_is_said():
    gathers = Cell(FULL, "gather", ("mode=naive",), "GB/s")
    with pytest.raises(ValueError, match=r"1of2.json.gz and .*2of2.json.gz has \d\d rows of gather with"):
        _ = gathers.row
    with pytest.raises(ValueError, match="has 0 rows of gather with mode=no_such"):
        _ = replace(gathers, axes=("mode=no_such",)).value


def test_a_ratio_of_two_runs_is_refused():
    one = HEADLINES[0].ours[0].top
    with pytest.raises(
        ValueError, match=r"a ratio of several runs: h100-full-1of2\.json\.gz, .*, elsewhere\.json"
    ):
        _ = Ratio(one, replace(one, run="elsewhere.json")).value


@pytest.fixture
def slowed(monkeypatch):
    """Rows with all of these values on axes take so many times as long, and carry as much less a second."""

    def slow(times: float, **axes: str) -> None:
        rows = tuple(
            replace(row, median_s=row.median_s * times, bandwidth_gb_s=row.bandwidth_gb_s / times)
            if row.ok and row.bandwidth_gb_s and axes.items() <= row.case.axes.items()
            else row
            for row in result(FULL).rows
        )
        monkeypatch.setattr(claims, "rows_of", lambda name: rows if name == FULL else result(name).rows)
        claims.placed.cache_clear()

    yield slow
    claims.placed.cache_clear()


@pytest.mark.parametrize(
    ("times", "word"),
    [
        pytest.param(1, REPRODUCED, id="as it is"),
        pytest.param(1 / 1.3, IN_FORM, id="faster"),
        pytest.param(2, NOT, id="slower than what it is compared with"),
    ],
)
def test_rows_that_change_change_the_word(slowed, times, word):
    (headline,) = (one for one in OF_DISSERTATION if one.number == "training_one_gpu_least")
    slowed(times, mode="circular_shift", store="mapped")
    assert headline.word == word
    assert f"| {word} |" in next(
        line for line in papers.verdicts("dissertation").splitlines() if headline.says in line
    )


def test_the_fewest_multiprocessors_follow_the_rows(slowed):
    fewest = Fewest(Cell(FULL, "sm_share/gather", ("by=green_context", "width=4"), "GB/s"))
    assert fewest.value == 6
    slowed(2, by="green_context", width=4, sms=6)
    assert fewest.value == 8


def test_what_is_lost_instead_of_saved_has_a_mean(slowed):
    (headline,) = (one for one in OF_DISSERTATION if one.number == "time_saved_by_5_percent")
    slowed(2, store="tiered", hot=5)
    assert headline.mean < 0
    assert headline.word == NOT


def test_a_side_is_told_only_beyond_the_intervals(slowed):
    (headline,) = (one for one in HEADLINES if one.number == "faster_than_vertex_centric")
    assert headline.word == UNTOLD
    slowed(2, access="edge_gather", placement="mapped")
    assert headline.word == NOT
    slowed(1.8, access="merged_aligned", placement="mapped")
    assert headline.word == IN_FORM


def test_a_number_that_ends_a_range_or_divides_is_in_the_claim():
    ends = Headline(DISSERTATION, "training_one_gpu_least", "", most="training_one_gpu_most")
    assert (ends.claim.least, ends.claim.most, ends.there) == (1.16, 1.44, "1.16–1.44")
    share = Headline(EMOGI, "merged_aligned", "", over="memcpy_peak")
    assert share.claim.least == share.claim.most == pytest.approx(12.23 / 12.3)
    assert Headline(EMOGI, "amplification_emogi", "", side="up to").there == "up to 1.31"
    assert Headline(EMOGI, "speedup_lower_for_cc", "", side="below").there == "below 1"


def test_the_count_is_of_all_headlines_and_the_training_has_no_blanks():
    counted = [line.split("|")[-6:-1] for line in papers.count().splitlines()[2:]]
    assert sum(int(cell) for line in counted for cell in line) == len(HEADLINES)
    assert len(counted) == len(PAPERS)
    lines = papers.training().splitlines()[2:]
    assert len(lines) == len(papers.SETUP)
    assert all(cell.strip() for line in lines for cell in line.strip("|").split("|"))


def test_what_stands_for_what_in_training_has_no_blanks():
    text = (ROOT.parent.parent / "docs" / "pipeline.md").read_text()
    section = text.split("## What stands for what")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    assert len(lines) > 10
    assert all(cell.strip() for line in lines for cell in line.strip("|").split("|"))


def test_a_number_beside_even_is_told_only_beyond_the_intervals():
    by_number = {headline.number: headline for headline in HEADLINES}
    gain = by_number["speedup_aligned_over_merged_bfs"]  # 1.1 there
    assert verdict(1.001, gain.claim) == REPRODUCED
    assert not gain.told
    assert gain.word == UNTOLD
    # Where even itself is claimed, to be near it is all there is to tell.
    same = by_number["zero_copy_matches_copies"]
    assert same.claim.admits_even
    assert same.word == REPRODUCED


def test_losses_are_compared_and_not_what_is_left():
    by_number = {headline.number: headline for headline in HEADLINES}
    small = by_number["sm_share_small_most"]
    left = replace(small, lost=False)
    assert left.word == REPRODUCED  # 0.98 and 0.878
    assert small.mean == pytest.approx(1 - left.mean)
    assert small.claim.least == pytest.approx(1 - left.claim.least)
    assert small.word == NOT


def test_interleaved_edges_are_told_by_graph_and_algorithm_from_all_stored_rows():
    works = peers.works()
    assert sum(map(len, works.values())) == len(peers.interleaved()) > 60
    assert peers.table_of_interleaved().count("\n") == len(works) + 1
    assert not peers.met(works["kron24", "pr"])
    assert not peers.met(works["urand24", "cc"])
    assert peers.met(works["kron24", "bfs"])
    assert "cc and pr of urand 24" in peers.where_met("not")


def test_where_interleaved_edges_miss_the_goal_the_card_s_own_do_too():
    for place, rows in peers.works().items():
        share = peers.own(*place)[0] / rows[0].link_gb_s
        assert (share >= peers.GOAL) == peers.met(rows)
    for rows in peers.works().values():
        naive, others = peers.by_walk(rows, "naive"), [one for one in rows if one.access != "naive"]
        assert all(one.of_link < peers.GOAL for one in naive)
        assert peers.met(rows) <= (min(one.of_link for one in others) >= peers.GOAL)
    by_another = "cc of urand 24 by `merged` and `merged_aligned_chunked`, sssp of web 22 by `block_mapped`"
    assert peers.by_another() == by_another
    assert peers.by_some_walk() == "kron 24, urand 24 and dense 18"


def test_stored_runs_of_paper_are_counted_by_kind_of_gpu():
    kinds = set(papers_stored.runs().values())
    assert kinds == {"H100", "H200", papers_stored.NO_GPU}
    counted = [int(papers_stored.of_machines(kind, "runs")) for kind in kinds]
    assert sum(counted) == len(papers_stored.runs())
    assert papers_stored.runs()["h200-paper-sssp-rest.json.gz"] == "H200"
    assert int(papers_stored.fewest()) < papers_stored.SOURCES
