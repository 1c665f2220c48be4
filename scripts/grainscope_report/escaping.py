"""Text of a result file where it could be more than text: on a terminal, in Markdown, in a spreadsheet."""

import re

# Colours of our own, as `terminal` writes them.
_COLOUR = r"\x1b\[(?:0|1|2|31|33)m"
# What moves a cursor, rings, hides or turns the order of letters; of JSON's text these are escapes of it.
_CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
_PLAIN = re.compile(_CONTROLS)
_BUT_COLOURS = re.compile(f"({_COLOUR})|{_CONTROLS}")
# With these a spreadsheet begins a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def for_terminal(text: str, colour: bool = False) -> str:
    """Control letters as `\\u001b`; where `colour`, those of our colours stay."""
    if colour:
        return _BUT_COLOURS.sub(lambda found: found[1] or _escape(found[0]), text)
    return _PLAIN.sub(lambda found: _escape(found[0]), text)


def _escape(letter: str) -> str:
    return f"\\u{ord(letter):04x}"


def in_markdown(text: str) -> str:
    """On one line, with no markup or link of its own."""
    words = " ".join(for_terminal(text).split()).replace("&", "&amp;").replace("<", "&lt;")
    return words.replace("](", "]\\(").replace("|", "\\|")


def in_csv(value: object) -> object:
    """A text that a spreadsheet would take for a formula stands behind an apostrophe; numbers stay."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
