"""What a question in words asks for: which families, which of their cases, which sizes.

The grammar is in `words.json`, which the program has compiled in, too. A sentence is words, sizes and
`AXIS=VALUE`, in any order. Words about one thing are alternatives (`bfs sssp`), words about different
things hold together (`bfs kron`). So do who works (`cpu`) and where bytes lie (`host memory`), but where no
family has both, as of `cpu or gpu memory`, `cpu` is host memory, and they are alternatives. Each word has
meanings: families, and values of their axes. Where one of the families left is what people usually mean by a
word of the sentence, it is meant.
"""

import itertools
import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from grainscope_report.errors import ReportError
from grainscope_report.model import Case
from grainscope_report.units import parse_bytes, some

TABLE = Path(__file__).resolve().parent.parent / "words.json"
CROSSOVER, UNCERTAINTY = "crossover", "uncertainty"
PEER = "peer"
# Of a crossover kinds of memory and ways to move bytes are what is compared.
COMPARED = ("memory", "way")
BY, ENDS = "by", "ends"
HOST_MEMORY = "host memory"
COMPARING = ("best", "slowest", CROSSOVER)
SHOWN = 4  # families by name
LARGEST_ROW = 64 << 10  # a size that is no larger, and no word is beside, is of rows where there are any
_SEPARATORS = re.compile(r"[\s;?!\"'()]+")
_POSSESSIVE = re.compile(r"['’]s(?=[\s,;?!\"'()]|$)", re.IGNORECASE)  # the GPU's, what's
_EXPLICIT = re.compile(r"([a-z_]+)[=:](.+)")
_FILE_ENDING = re.compile(r"(?<=.)\.(sg|w?el|wsg|txt|snap|mtx|graph|properties|bel(\.(col|dst|val))?)$")
_RANGE = re.compile(r"([0-9]+[a-z]*)\.\.([0-9]+[a-z]*)")
_FANOUT = re.compile(r"[0-9]+(x[0-9]+)+")
_NUMBERED = re.compile(r"([a-z]+):?([0-9]+)")
_DIGITS = re.compile(r"[0-9]+")
# Values of an axis are parted by commas as well, and none of them begins with 0.
_THOUSANDS = re.compile(
    r"(?<![\w,=|])\d{1,3}(?:,\d{3})+(?![\d,])|(?<=[=|])(?=[\d,]*,0)\d{1,3}(?:,\d{3})+(?![\d,])"
)
_RATE = re.compile(r"[\d.]+ ?([kmgt]?i?b/s|[kmgt]bps)")
LINK, BESIDE_LINK = ("link", "links"), ("measure", "place")  # what the other words may be about
MOST_LETTERS = 2000  # of a question, as the program has it

Meaning = Mapping[str, Sequence[str]]
Sizes = tuple[int, int]


@dataclass(frozen=True)
class Word:
    """A word that people use: what it is about, how it is said again, and what it may mean.

    A meaning gives families (`in`) and values of axes. `usually`: the families that are meant where the rest
    of the sentence allows; `compared`: those where ways are asked for and none is named, of a way or
    a kind of memory where it stands beside another. `size`: the axes that a size beside the word is of.
    """

    about: str
    says: str
    means: tuple[Meaning, ...]
    usually: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()
    size: tuple[str, ...] = ()

    @property
    def families(self) -> list[str]:
        """The families in which it means something."""
        globs = [one for meaning in self.means for one in meaning["in"]]
        return [name for name in families() if any(fits(name, glob) for glob in globs)]

    def matches(self, case: Case) -> bool:
        """Whether it may mean this case."""
        return any(_means(meaning, case) for meaning in self.means)


@dataclass
class Sentence:
    """A question understood; `want` is what is to be done with the rows: best, slowest, peak, crossover,
    uncertainty.
    """

    want: str = ""
    words: list[Word] = field(default_factory=list)
    sizes: list[tuple[Sizes, Sequence[str]]] = field(default_factory=list)
    axes: dict[str, list[str]] = field(default_factory=dict)
    families: list[str] = field(default_factory=list)

    @property
    def subjects(self) -> list[list[Word]]:
        """Words by what they are about: of each list one is meant."""
        found: dict[str, list[Word]] = {}
        for word in self.words:
            compared = self.want == CROSSOVER and word.about in COMPARED
            found.setdefault(COMPARED[0] if compared else word.about, []).append(word)
        return list(found.values())

    def sizes_of(self, family: str) -> dict[str, list[Sizes]]:
        """The sizes of a family, by the axis that they are of."""
        found: dict[str, list[Sizes]] = {}
        for size, axes in self.sizes:
            there = families()[family]
            row = not axes and size[1] <= LARGEST_ROW and "row" in there
            axis = "row" if row else next((one for one in there if not axes or one in axes), None)
            if axis:
                found.setdefault(axis, []).append(size)
        return found

    def matches(self, case: Case, sizes: bool = True) -> bool:
        """Whether a case is asked for, whatever its size where `sizes` are not looked at."""
        return (
            case.family in self.families
            and all(any(word.matches(case) for word in words) for words in self.subjects)
            and all(has(case, axis, values) for axis, values in self.axes.items())
            and all(
                case.axes[axis] in values
                for axis, values in table()["otherwise"].items()
                if axis in case.axes and not self._speaks_of(axis)
            )
            and (not sizes or self.matches_size(case))
        )

    def matches_size(self, case: Case) -> bool:
        """Whether a case has one of the sizes."""
        return all(
            any(low <= float(case.axes.get(axis, -1)) <= high for low, high in wanted)
            for axis, wanted in self.sizes_of(case.family).items()
        )

    def _speaks_of(self, axis: str) -> bool:
        return axis in self.axes or any(axis in meaning for word in self.words for meaning in word.means)

    @property
    def text(self) -> str:
        """What was understood: `transfer/memcpy, to the device, pinned, 64 MiB`."""
        few = len(self.families) <= SHOWN
        said = [" and ".join(self.families) if few else f"{len(self.families)} families"]
        told = {name.rpartition("/")[2] for name in self.families}  # by the families' names already
        said += [word.says for word in self.words if word.says and not word.size and {word.says} != told]
        said += [f"{axis} {' or '.join(values)}" for axis, values in self.axes.items()]
        said += [self.size_text(size, axes) for size, axes in self.sizes]
        sized = {axes for _, axes in self.sizes}
        said += [word.says for word in self.words if word.size and word.size not in sized]
        return ", ".join(dict.fromkeys(said))

    def size_text(self, size: Sizes, axes: Sequence[str] = ()) -> str:
        """`64 MiB`, `1 MiB to 64 MiB`; with the axes of a word beside it `rows of 128 B`."""
        low, high = size
        said = exact(low) if low == high else f"{exact(low)} to {exact(high)}"
        of = {axis: word.says for word in self.words for axis in word.size}
        return f"{of[axes[0]]} of {said}" if axes else said

    def as_json(self) -> dict[str, Any]:
        """What was understood as plain data, the same of the program."""
        return {
            "want": self.want,
            "families": self.families,
            "sizes": {
                family: {axis: [list(size) for size in sizes] for axis, sizes in found.items()}
                for family in self.families
                if (found := self.sizes_of(family))
            },
            "axes": self.axes,
            "text": self.text,
        }


def understand(text: str) -> Sentence:
    """What a question asks for; ReportError, with what would be right, where that cannot be told."""
    sentence = _Reader(text).read()
    _choose_families(sentence)
    return sentence


class _Reader:
    """Takes a sentence token by token: the longest phrase that is known, a size, or an axis and its value."""

    def __init__(self, text: str) -> None:
        letters = len(text.encode("utf-8", "surrogatepass"))
        if letters > MOST_LETTERS:
            raise ReportError(f"a question of {letters} letters: ask in at most {MOST_LETTERS}")
        self.text = text
        self.tokens = list(_tokens(text))
        self.sentence = Sentence()
        self.sizes: list[tuple[int, Sizes]] = []  # with the place of each
        self.nouns: list[tuple[int, Word]] = []
        self.links: list[Word] = []
        self.asked: set[str] = set()  # phrases of what is wanted
        self.at = 0

    def read(self) -> Sentence:
        if found := _THOUSANDS.search(self.text):
            plain = found[0].replace(",", "")
            raise ReportError(
                f"'{found[0]}' may be one number or several: write {plain}, or a space after each comma"
            )
        while self.at < len(self.tokens):
            if not (self._explicit() or self._pair() or self._bounded() or self._phrase() or self._size()):
                raise ReportError(_unknown(self.tokens[self.at]))
        self._bind_sizes()
        sentence = self.sentence
        if self._compares_places():
            sentence.want = ""
        # 'The link' is what most questions are about: it is the subject only where nothing else is.
        if all(word.about in BESIDE_LINK for word in sentence.words):
            sentence.words += self.links
        if not (sentence.words or sentence.sizes or sentence.axes):
            raise ReportError(f"'{self.text}' asks for nothing: write e.g. 'h2d pinned 64MiB' or 'bfs kron'")
        return sentence

    def _explicit(self) -> bool:
        token = self.tokens[self.at]
        numbered = _NUMBERED.fullmatch(token.lower())
        word = phrases().get(numbered[1]) if numbered else None
        if word and word.about == "graph":
            means = tuple({**mean, "graph": [f"{numbered[1]}{numbered[2]}"]} for mean in word.means)
            self._add(Word(word.about, f"{numbered[1]}{numbered[2]}", means))
        elif _FANOUT.fullmatch(token.lower()):
            self.sentence.axes.setdefault("fanout", []).append(token.lower())
        elif found := _EXPLICIT.fullmatch(token):
            axis, values = found[1], filter(None, re.split(r"[|,]", found[2]))
            known = map(_as_in_cases, values) if axis == "graph" else values
            self.sentence.axes.setdefault(axis, []).extend(known)
        else:
            return False
        self.at += 1
        return True

    def _phrase(self) -> bool:
        """The longest phrase from here on."""
        for length in range(min(longest(), len(self.tokens) - self.at), 0, -1):
            phrase = " ".join(self.tokens[self.at : self.at + length]).lower()
            numbered = self._takes_number(phrase, self.at + length)
            if phrase in LINK:
                self.links = [phrases()[phrase]]
            elif phrase in phrases():
                self._add(phrases()[phrase], self.at)
            elif phrase in wants():
                self._want(phrase)
            elif not numbered and phrase not in table()["passed_over"]:
                continue
            self.at += length
            if numbered:
                self.sentence.axes.setdefault(numbered, []).append(self.tokens[self.at])
                self.at += 1
            return True
        return False

    def _takes_number(self, phrase: str, at: int) -> str:
        """The axis of the number at `at`: `to gpu 1` names a GPU, `threads 16` counts threads."""
        if self._number(at) is None:
            return ""
        last = phrase.split()[-1] if phrase in phrases() and not self._counted(at) else phrase
        return places().get(last) or counts().get(phrase) or (PEER if phrase == PEER else "")

    def _pair(self) -> bool:
        """`gpu 0 to gpu 1`, where the bytes go from the first to the second; `gpu 0 reads from gpu 1`.

        `between gpu 0 and gpu 1` they go both ways, unless the GPUs are compared with each other.
        """
        pair = table()["pair"]
        between = self._word(self.at) in pair["between"]
        first = self._passed_over(self.at + 1) if between else self.at
        if not (self._word(first) in pair["gpus"] if between else places().get(self._word(first)) == "gpu"):
            return False
        joint = self._word(first + 2)
        if joint not in (pair["and"] if between else (*pair["to"], *pair["reads"], *pair["writes"])):
            return False
        second = self._passed_over(first + 3)
        second += self._word(second) in ("gpu", PEER)
        one, other = self._number(first + 1), self._number(second)
        if one is None or other is None:
            return False
        if {token.lower() for token in self.tokens} & {*pair["compared"]}:
            self.sentence.axes.setdefault("gpu", []).extend([one, other])
        else:
            self._add(_between(other, one) if joint in pair["reads"] else _between(one, other))
            if between:
                self._add(_between(other, one))
        self.at = second + 1
        return True

    def _passed_over(self, at: int) -> int:
        """The place behind words that say no more of two GPUs, as `the memory of`."""
        while self._word(at) in table()["pair"]["passed_over"]:
            at += 1
        return at

    def _compares_places(self) -> bool:
        """Whether `faster` sets one GPU or node against another: no way is wanted then."""
        several = any(len(set(self.sentence.axes.get(place, ()))) > 1 for place in places().values())
        beside = any(len(words) > 1 for words in self.sentence.subjects)  # `pinned or pageable`
        return several and not beside and bool(self.asked) and self.asked <= {*table()["comparatives"]}

    def _add(self, word: Word, at: int = -1) -> None:
        if word not in self.sentence.words:
            self.sentence.words.append(word)
        if word.size:
            self.nouns.append((at, word))

    def _want(self, phrase: str) -> None:
        want = wants()[phrase]
        self.asked.add(phrase)
        if {want, self.sentence.want} == {"best", CROSSOVER}:
            want = self.sentence.want = CROSSOVER  # 'from which size is one faster than the other'
        if self.sentence.want not in ("", want):
            raise ReportError(f"'{self.sentence.want}' and '{want}' are two questions: ask one at a time")
        self.sentence.want = want

    def _size(self) -> bool:
        token = self.tokens[self.at].lower()
        if not self._is_size(self.at):
            return False
        for end in (1, 2):
            rate = " ".join(self.tokens[self.at : self.at + end])
            if _RATE.fullmatch(rate.lower()):
                raise ReportError(f"'{rate}' is a rate, which is what a run answers: ask for a size or a way")
        if count := self._counted(self.at):
            self.sentence.axes.setdefault(count, []).append(token)
            self.at += 2
            return True
        begin = self.at
        if found := _RANGE.fullmatch(token):
            self._keep_size(begin, parse_bytes(found[1]), parse_bytes(found[2]))
            self.at += 1
            return True
        low, self.at = self._size_at(self.at)
        high = low
        if low is not None and self._word(self.at) in table()["ranges"]["to"] and self._is_size(self.at + 1):
            high, behind = self._size_at(self.at + 1)
            low = self._of_one_unit(begin, self.at + 1)
            self.at = behind
        self._keep_size(begin, low, high)
        return True

    def _bounded(self) -> bool:
        """`up to 1 MiB`, `between 1 MiB and 4 MiB`."""
        ranges = table()["ranges"]
        for phrase in ranges["most"]:
            begin = self.at + len(phrase.split())
            if " ".join(self.tokens[self.at : begin]).lower() == phrase and self._is_bound(begin):
                high, self.at = self._size_at(begin)
                self._keep_size(begin, 1, high)
                return True
        begin = self.at + 1
        if self._word(self.at) not in ranges["between"] or not self._is_bound(begin):
            return False
        _, behind = self._size_at(begin)
        if self._word(behind) not in ranges["and"] or not self._is_bound(behind + 1):
            return False
        high, self.at = self._size_at(behind + 1)
        self._keep_size(begin, self._of_one_unit(begin, behind + 1), high)
        return True

    def _is_bound(self, at: int) -> bool:
        """Whether a size begins here, and not a number of something."""
        return self._is_size(at) and not self._counted(at) and self._size_at(at)[0] is not None

    def _of_one_unit(self, low: int, high: int) -> int | None:
        """The size at `low`; of a number alone, as in `1 to 4 KiB`, in the unit of that at `high`.

        A number that would be more than `high` in that unit is of bytes: `128 to 4 KiB`.
        """
        size, most = self._size_at(low)[0], self._size_at(high)[0]
        apart = self._with_unit(high) is not None
        unit = self._word(high + 1) if apart else self._word(high).lstrip("0123456789")
        scaled = parse_bytes(self._word(low) + unit) if self._number(low) else None
        return scaled if scaled is not None and most is not None and scaled <= most else size

    def _keep_size(self, begin: int, low: int | None, high: int | None) -> None:
        if low is None or not high:
            raise ReportError(f"'{self.tokens[begin]}' is not a size: write e.g. 4096, 64KiB, 16MiB or 2GiB")
        if low > high:
            raise ReportError(f"'{exact(low)} to {exact(high)}' ends before it begins")
        self.sizes.append((begin, (low, high)))

    def _size_at(self, at: int) -> tuple[int | None, int]:
        """A size, in one token or in a number and its unit, and the place behind it."""
        size = self._with_unit(at)
        return (parse_bytes(self._word(at)), at + 1) if size is None else (size, at + 2)

    def _with_unit(self, at: int) -> int | None:
        """The size of a number and of a unit that stands apart."""
        number, unit = self._word(at), self._word(at + 1)
        is_one = _DIGITS.fullmatch(number) and unit and not self._is_size(at + 1)
        return parse_bytes(number + unit) if is_one else None

    def _is_size(self, at: int) -> bool:
        return bool(_DIGITS.match(self._word(at)))

    def _number(self, at: int) -> str | None:
        """A number without a unit."""
        word = self._word(at)
        return word if _DIGITS.fullmatch(word) and self._with_unit(at) is None else None

    def _counted(self, at: int) -> str | None:
        """The axis whose values are counted by the word behind a number."""
        return counts().get(self._word(at + 1)) if self._number(at) else None

    def _word(self, at: int) -> str:
        return self.tokens[at].lower() if at < len(self.tokens) else ""

    def _bind_sizes(self) -> None:
        """Each size to the word of sizes behind it, which has no other behind itself, else to one before it
        that has none, else to any such.
        """
        taken: set[int] = set()
        for at, size in self.sizes:
            behind = [noun for noun in self.nouns if at < noun[0] and self._adjoin(at, noun[0])]
            free = [noun for noun in self.nouns if noun[0] not in taken]
            before = [noun for noun in free if noun[0] < at and self._adjoin(noun[0], at)]
            if before and behind and self._has_size_behind(behind[0][0]):
                behind = []  # `row 128 span 1GiB`
            [noun] = (behind or before or (free if len(self.sizes) == 1 else []))[:1] or [None]
            if noun:
                taken.add(noun[0])
            self.sentence.sizes.append((size, noun[1].size if noun else ()))

    def _has_size_behind(self, noun: int) -> bool:
        return any(noun < at and self._adjoin(noun, at) for at, _ in self.sizes)

    def _adjoin(self, low: int, high: int) -> bool:
        """Whether nothing stands between but parts of a size and words that are passed over."""
        between = self.tokens[low + 1 : high]
        return all(
            (one.isalpha() and parse_bytes(f"1{one}") is not None) or one.lower() in table()["passed_over"]
            for one in between
        )


def _between(one: str, other: str) -> Word:
    """Bytes that go from one GPU to another: the first writes or the second reads."""
    written = json.dumps(table()["from_to"]).replace("{from}", one).replace("{to}", other)
    return _word_of(json.loads(written))


def _choose_families(sentence: Sentence) -> None:
    groups = _groups(sentence)
    left = _left(sentence, groups)
    if not left and {BY, ENDS} <= {word.about for word in sentence.words}:
        sentence.words = list(_with_host_memory(sentence.words))
        left = _left(sentence, _groups(sentence))
    if not left:
        raise ReportError(_contradiction(groups))
    named = sum(word.about in COMPARED for word in sentence.words)
    compares = sentence.want in COMPARING and not named
    usual = {
        name
        for word in sentence.words
        for name in (word.compared if (named > 1 if word.about in COMPARED else compares) else ())
        or word.usually
    }
    sentence.families = [name for name in left if name in usual] or left


def _with_host_memory(words: Sequence[Word]) -> Iterator[Word]:
    """The words, where who works is said as an alternative to where bytes lie: `cpu` is host memory."""
    host = phrases()[HOST_MEMORY]
    for word in words:
        if word.about != BY:
            yield word
        elif host not in words:
            yield host


def _groups(sentence: Sentence) -> list[tuple[str, list[str]]]:
    """What a sentence is of, one after another, and the families that can have it."""
    groups: list[tuple[str, list[str]]] = [
        (words[0].says, [name for name in families() if any(name in word.families for word in words)])
        for words in sentence.subjects
    ]
    for size, axes in sentence.sizes:
        of = [name for name, there in families().items() if any(not axes or one in axes for one in there)]
        groups.append((exact(size[0]), of))
    return groups


def _left(sentence: Sentence, groups: Sequence[tuple[str, list[str]]]) -> list[str]:
    """The families that can have all that a sentence is of."""
    return [
        name
        for name in families()
        if all(name in found for _, found in groups) and _can_be(name, sentence.subjects, sentence.axes)
    ]


def _can_be(family: str, subjects: Sequence[Sequence[Word]], held: Mapping[str, Sequence[str]]) -> bool:
    """Whether one meaning of each subject can hold of a case of the family; `held` are values so far."""
    if not subjects:
        return True
    meanings = (meaning for word in subjects[0] for meaning in word.means)
    there = (meaning for meaning in meanings if any(fits(family, one) for one in meaning["in"]))
    return any(
        both is not None and _can_be(family, subjects[1:], both)
        for both in (_both(held, meaning) for meaning in there)
    )


def _both(held: Mapping[str, Sequence[str]], meaning: Meaning) -> Mapping[str, Sequence[str]] | None:
    """Values that are held and meant; None where an axis is left with none."""
    found = dict(held)
    for axis, values in meaning.items():
        if axis == "in":
            continue
        if axis in found:
            found[axis] = [
                a if fits(a, b) else b for a in found[axis] for b in values if fits(a, b) or fits(b, a)
            ]
            if not found[axis]:
                return None
        else:
            found[axis] = values
    return found


def _contradiction(groups: Sequence[tuple[str, list[str]]]) -> str:
    for (one, here), (other, there) in itertools.combinations(groups, 2):
        if not set(here) & set(there):
            return (
                f"'{one}' and '{other}' go together in no family: the first is of {some(here, SHOWN)}, "
                f"the second of {some(there, SHOWN)}"
            )
    return f"no family has all of {', '.join(repr(name) for name, _ in groups)}: leave one out"


def _unknown(token: str) -> str:
    near = near_word(token)
    return (
        f"'{token}' is not a word that is known here{f'; did you mean {near}?' if near else ''} "
        "(`ask --help` has the words; AXIS=VALUE, as flush=on, is understood as well)"
    )


def near_word(token: str) -> str:
    """The known word nearest to one that is not; empty where none is near."""
    in_order = [phrase for all_of in by_subject().values() for phrase in all_of]
    return nearest(token.lower(), [*in_order, *sorted(phrases()), *sorted(wants())])


def nearest(token: str, known: Sequence[str]) -> str:
    """The first of those with the fewest letters to change; empty where none is near."""
    most = max(1, len(token) // 3)
    known = [one for one in known if abs(len(one) - len(token)) <= most]
    best = min(known, key=lambda one: distance(token, one), default="")
    return best if best and distance(token, best) <= most else ""


def distance(a: str, b: str) -> int:
    """Letters to change, add or leave out to turn one word into the other."""
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (letter != other))
    return row[-1]


def exact(size: int) -> str:
    """A size in the largest unit of which it is a whole number: `64 MiB`, `64 MB`, `1000 B`."""
    for unit in ("TiB", "TB", "GiB", "GB", "MiB", "MB", "KiB", "KB"):
        factor = parse_bytes(f"1{unit}") or 1
        if size and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def fits(value: str, pattern: str) -> bool:
    """Whether a value is the pattern, in which a `*` at an end is any letters."""
    inner = pattern.strip("*")
    if pattern.startswith("*"):
        return inner in value if pattern.endswith("*") and len(pattern) > 1 else value.endswith(inner)
    return value.startswith(inner) if pattern.endswith("*") else value == pattern


def _means(meaning: Meaning, case: Case) -> bool:
    return any(fits(case.family, one) for one in meaning["in"]) and all(
        has(case, axis, values) for axis, values in meaning.items() if axis != "in"
    )


def has(case: Case, axis: str, values: Sequence[str]) -> bool:
    value = value_of(case, axis)
    if isinstance(value, (int, float)):
        return any(_is_number(one, value) for one in values)
    return value is not None and any(fits(value, one) for one in values)


def value_of(case: Case, axis: str) -> str | float | None:
    """The value of an axis or a site; `node 0` is what families without GPUs call their node, too."""
    all_of = case.axes | case.site
    return next((all_of[name] for name in (axis, *table()["sites"].get(axis, ())) if name in all_of), None)


def _is_number(text: str, value: float) -> bool:
    """Whether a number is the one that is written, or lies in a range (`4KiB..x4..64KiB`); `all` are."""
    if ".." in text:
        least, most = (parse_bytes(end) for end in (text.split("..")[0], text.split("..")[-1]))
        return least is not None and most is not None and least <= value <= most
    return text == "all" or value in (parse_bytes(text), _number(text))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _tokens(text: str) -> Iterator[str]:
    for token in _SEPARATORS.split(_POSSESSIVE.sub("", text)):
        yield from _words(token)


def _words(token: str) -> Iterator[str]:
    """The words of a text without blanks; commas part the values of an axis as well."""
    token = token if token.endswith("..") else token.rstrip(".:,")
    place = _NUMBERED.fullmatch(token.lower())
    if "," in token:
        first, *more = filter(None, token.split(","))
        axis = _EXPLICIT.fullmatch(first)
        values = [
            one for one in more if axis and first[len(axis[1])] == "=" and _is_one_more(one, *axis.groups())
        ]
        if values:
            yield ",".join([first, *values])
        else:
            yield from _words(first)
        for part in more:
            if part not in values:
                yield from _words(part)
    elif place and (place[1] in places() or place[1] == PEER):
        yield from place.groups()
    elif _EXPLICIT.fullmatch(token):
        yield token
    else:
        yield from (part for part in re.split(r"[-_]", token) if part)


def _is_one_more(part: str, axis: str, first: str) -> bool:
    """Whether what stands behind a comma is one more value of an axis.

    It is no word by itself, or one that the axis may have as a value, and a number where the first
    value is one.
    """
    word = part.lower()
    place = _NUMBERED.fullmatch(word)
    phrase = phrases().get(word)
    known = (phrase and phrase.about != axis) or word in wants()
    known = known or (place and (place[1] in places() or place[1] == PEER))
    value = any(fits(word, one) for one in values_of(axis))
    return (
        "=" not in part and (value or not known) and bool(_DIGITS.match(part)) == bool(_DIGITS.match(first))
    )


def _as_in_cases(graph: str) -> str:
    """`kron:20:8` is `kron20_8` in a case."""
    if graph.startswith("file:"):
        raise ReportError(
            f"'{graph}' is a file, which --graph names: in words write graph="
            f"{_FILE_ENDING.sub('', re.split('[:/]', graph)[-1])}"
        )
    return graph.replace(":", "", 1).replace(":", "_")


@cache
def table() -> Mapping[str, Any]:
    """The table of words as it is written."""
    return json.loads(TABLE.read_text(encoding="utf-8"))


@cache
def families() -> Mapping[str, Sequence[str]]:
    """Every family, with its axes of sizes, of which the first is meant where nothing else is said."""
    return table()["families"]


def _word_of(entry: Mapping[str, Any]) -> Word:
    return Word(
        entry["about"],
        entry["says"],
        tuple(entry["means"]),
        tuple(entry.get("usually", ())),
        tuple(entry.get("compared", ())),
        tuple(entry.get("size", ())),
    )


@cache
def phrases() -> Mapping[str, Word]:
    """Every phrase with its word; a family's name is one."""
    found = {name.replace("_", " "): Word("subject", "", ({"in": [name]},)) for name in families()}
    for entry in table()["words"]:
        word = _word_of(entry)
        found |= dict.fromkeys(entry["words"], word)
    return found


@cache
def values_of(axis: str) -> Sequence[str]:
    """Values of an axis that the table has, among them words that are something else elsewhere."""
    meanings = (meaning for word in phrases().values() for meaning in word.means)
    return [
        value for part in (table()["otherwise"], table()["values"], *meanings) for value in part.get(axis, ())
    ]


@cache
def wants() -> Mapping[str, str]:
    """What is to be done with the rows, by phrase."""
    return _by_phrase("wants")


@cache
def counts() -> Mapping[str, str]:
    """Axes of whole numbers, by the word that follows one."""
    return _by_phrase("counts")


@cache
def places() -> Mapping[str, str]:
    """Sites, by the word before a number."""
    return _by_phrase("places")


def _by_phrase(part: str) -> Mapping[str, str]:
    return {phrase: name for name, all_of in table()[part].items() for phrase in all_of}


@cache
def longest() -> int:
    """Words of the longest phrase."""
    return max(len(phrase.split()) for phrase in (*phrases(), *wants()))


def grammar() -> str:
    """The help of `ask`: examples, and the first phrase of each word, by what it is about."""
    lines = ["words by what they are about, one of several each:"]
    for name, words in by_subject().items():
        lines += textwrap.wrap(
            ", ".join(words), 78, initial_indent=f"  {name:<12}", subsequent_indent=" " * 14
        )
    return "\n".join(lines)


@cache
def by_subject() -> Mapping[str, Sequence[str]]:
    """The first phrase of each word, by what it is about."""
    found = {"question": [all_of[0] for all_of in table()["wants"].values()]}
    for entry in table()["words"]:
        found.setdefault(entry["about"], []).append(entry["words"][0])
    return found
