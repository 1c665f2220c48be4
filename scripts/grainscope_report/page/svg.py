"""Makes matplotlib's SVG fit to stand inside an HTML page: small, and with names that meet no others.

Styles that repeat become classes, numbers lose digits that nobody sees, and groups that only structured
the drawing go. Text stays text, so that a reader can search and copy it.
"""

import re
from xml.etree import ElementTree

# A hundredth of a point; pictures are some 500 points wide.
PLACES = 2
_NUMBER = re.compile(r"-?\d*\.\d+(?:e-?\d+)?")
_SPACE = re.compile(r"\s+")
_AROUND_LETTER = re.compile(r" ?([A-Za-z]) ?")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_FONT = re.compile(r"font-family:[^;]*;? ?")
_UPRIGHT = re.compile(r"rotate\(-?0 [^)]*\)")
_NUMERIC = {"x", "y", "width", "height", "r", "cx", "cy", "transform", "points"}


def inline(picture: bytes, name: str, title: str) -> str:
    """The picture as an element of HTML; `name` begins its classes and ids, `title` says what it shows."""
    root = ElementTree.fromstring(picture)
    box = root.get("viewBox", "")
    page = _Page(name)
    children = [kept for child in root for kept in page.keep(child)]
    svg = ElementTree.Element("svg", {"viewBox": box, "role": "img", "aria-label": title})
    styles = ElementTree.SubElement(svg, "style")
    svg.extend(children)
    styles.text = "".join(f".{known}{{{style}}}" for style, known in page.styles.items())
    return ElementTree.tostring(svg, encoding="unicode")


class _Page:
    """The names given so far within one picture."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.styles: dict[str, str] = {}
        self.ids: dict[str, str] = {}

    def keep(self, element: ElementTree.Element) -> list[ElementTree.Element]:
        """The element made small, or what is left of it: its children, or nothing."""
        tag = element.tag.rpartition("}")[2]
        if tag in ("metadata", "style"):
            return []
        children = [kept for child in element for kept in self.keep(child)]
        attributes = dict(self._attributes(tag, element))
        if tag in ("g", "defs") and not attributes.keys() - {"id"} and (tag == "g" or not children):
            return children
        small = ElementTree.Element(tag, attributes)
        small.text = element.text if tag == "text" else None
        small.extend(children)
        return [small]

    def _attributes(self, tag: str, element: ElementTree.Element) -> list[tuple[str, str]]:
        kept = []
        for spelled, value in element.items():
            name = spelled.rpartition("}")[2]
            if name == "id":
                if tag != "g":
                    kept.append((name, self._id(value)))
            elif name == "href":
                kept.append((name, f"#{self._id(value[1:])}"))
            elif name == "style":
                kept.append(("class", self._class(value)))
            elif name == "d":
                kept.append((name, _path(value)))
            elif name == "clip-path":
                kept.append((name, self._referring(value)))
            elif name in _NUMERIC:
                if not _UPRIGHT.fullmatch(value):
                    kept.append((name, _rounded(value)))
            else:
                kept.append((name, value))
        return kept

    def _id(self, said: str) -> str:
        return self.ids.setdefault(said, f"{self.name}i{len(self.ids)}")

    def _referring(self, text: str) -> str:
        """The text with the new names of what it refers to: clips, and patterns of hatched bars."""
        return _REFERENCE.sub(lambda found: f"url(#{self._id(found[1])})", text)

    def _class(self, style: str) -> str:
        small = _FONT.sub("", self._referring(style)).replace(": ", ":").replace("; ", ";").strip()
        return self.styles.setdefault(small, f"{self.name}c{len(self.styles)}")


def _path(data: str) -> str:
    return _AROUND_LETTER.sub(r"\1", _SPACE.sub(" ", _rounded(data)).strip())


def _rounded(text: str) -> str:
    return _NUMBER.sub(_shorter, text)


def _shorter(found: re.Match[str]) -> str:
    return (
        f"{float(found[0]):.{PLACES}f}".rstrip("0").rstrip(".").replace("-0.", "-.").removeprefix("0") or "0"
    )
