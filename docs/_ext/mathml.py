"""Formulas as MathML, which browsers draw by themselves: no script, no font and no network."""

from __future__ import annotations

import html
import re
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

MATHML = "http://www.w3.org/1998/Math/MathML"
ACCENTS = ("˙", "¨", "ˉ", "^", "~", "→")
ElementTree.register_namespace("", MATHML)


def visit_math(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula of a sentence."""
    self.body.append(formula(node, as_block=False))
    raise nodes.SkipNode


def visit_displaymath(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula of its own, with its number and a place to link to."""
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(formula(node, as_block=True))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def formula(node: nodes.Element, *, as_block: bool) -> str:
    """Return the MathML of a formula; one that is not understood is a warning that says where it is."""
    try:
        markup = tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        logger.warning("%s", error, location=node)
        return ""
    # Without a font for mathematics, browsers put a dot that is declared an accent inside its letter.
    markup = beside_accents(markup.replace(' accent="true"', "").replace("ˆ", "^"))
    return re.sub(r"\n\s*", "", markup)  # spaces would be drawn between words and formula


def beside_accents(markup: str) -> str:
    """Return MathML with an index of a letter with an accent beside it, which docutils puts below."""
    if "<munderover>" not in markup:
        return markup
    # XML knows five names of characters, HTML many, of spaces for instance
    tree = ElementTree.fromstring(
        re.sub(r"&(?!lt;|gt;|amp;)\w+;", lambda name: html.unescape(name[0]), markup)
    )
    for both in tree.iter(f"{{{MATHML}}}munderover"):
        letter, index, mark = both
        if mark.text in ACCENTS:
            both.tag = f"{{{MATHML}}}msub"
            marked = ElementTree.Element(f"{{{MATHML}}}mover")
            marked.extend((letter, mark))
            both[:] = [marked, index]
    return ElementTree.tostring(tree, encoding="unicode")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
