"""docs/graphs.md names every data set of the papers, and its commands check what its table promises."""

import re
from pathlib import Path

PAGE = (Path(__file__).resolve().parent.parent.parent / "docs" / "graphs.md").read_text()
SECTION = PAGE.split("## Real graphs\n")[1].split("\n## ")[0]
ROWS = [line.split("|")[1].strip() for line in SECTION.splitlines() if line.startswith("| ")][1:]
COMMANDS = "\n".join(re.findall(r"```sh\n(.*?)```", SECTION, re.DOTALL))
# EMOGI, table 2; the dissertation, tables 3.4 and 4.1; GraphPEG, as far as its notes name any.
EMOGI = "GAP-kron GAP-urand Friendster MOLIERE_2016 sk-2005 uk-2007-05"
TRAINING = "ogbn-products wikipedia amazon ogbn-papers100M MAG240M WikiKG90M"
PAPERS = f"{EMOGI} {TRAINING} NACA USAC".split()


def test_every_data_set_of_the_papers_has_a_row():
    assert ", ".join(ROWS).split(", ") == PAPERS


def test_commands_make_a_file_of_every_data_set():
    assert not [name for name in PAPERS if name.removeprefix("ogbn-").lower() not in COMMANDS.lower()]


def test_checksums_of_the_table_are_those_that_the_commands_check():
    table = set(re.findall(r"`([0-9a-f]{32})`", SECTION))
    assert table
    assert table == set(re.findall(r"^([0-9a-f]{32})  \S+\.zip$", COMMANDS, re.MULTILINE))
