# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""A page of the site, and what the makers of pages share: links, code in colours, headings."""

import dataclasses
import html
import posixpath
import sys

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

COLOURS = HtmlFormatter(nowrap=True, classprefix="t-")
# What the documents call a language, where pygments has another name, or none.
LANGUAGES = {"promela": "c", "": "text"}


def fail(text):
    sys.exit(f"error: {text}")


@dataclasses.dataclass
class Entry:
    """What the search finds: a page, or a part of one. Of two that fit as well, the heavier one comes first."""

    title: str
    kind: str
    anchor: str
    text: str
    weight: float


@dataclasses.dataclass
class Page:
    path: str  # in the site, with `/`
    title: str
    section: str  # "guides" or "reference"
    body: str
    above: list = dataclasses.field(default_factory=list)  # (title, path) of what it is a part of, outermost first
    headings: list = dataclasses.field(default_factory=list)  # (anchor, text)
    entries: list = dataclasses.field(default_factory=list)


def relative(path, page):
    """The address of the site's file `path`, on the page that lies at `page`."""
    return posixpath.relpath(path, posixpath.dirname(page) or ".")


def escaped(text):
    return html.escape(text, quote=True)


def code_block(code, language):
    try:
        lexer = get_lexer_by_name(LANGUAGES.get(language, language), stripnl=False)
    except ClassNotFound:
        fail(f"no colours for the language {language!r}")
    return f'<pre tabindex="0"><code>{highlight(code, lexer, COLOURS)}</code></pre>\n'


def heading(level, anchor, inside):
    return f'<h{level} id="{escaped(anchor)}">{inside}<a class="here" href="#{escaped(anchor)}" aria-label="Link to this heading">#</a></h{level}>\n'
