# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""The pages of the guides, from the Markdown documents, and of each file that they link to."""

import pathlib
import posixpath
import re

from markdown_it import MarkdownIt
from page import Entry, Page, code_block, escaped, fail, heading, relative

CATALOGUE = "Sources/GrandCentral/GrandCentral.docc/"
LANGUAGES = {".swift": "swift", ".c": "c", ".h": "c", ".py": "python", ".sh": "bash"}
IMAGES = {".svg", ".png"}


def place(source):
    """The file of the site that the repository's file `source` is shown in."""
    if source.startswith(CATALOGUE):
        name = pathlib.PurePosixPath(source).stem.lower()
        return f"api/grandcentral/{name}.html" if name != "grandcentral" else "api/grandcentral.html"
    path = pathlib.PurePosixPath(source)
    if path.name == "README.md":
        return str(path.with_name("index.html"))
    if path.suffix == ".md":
        return str(path.with_suffix(".html"))
    return source if path.suffix in IMAGES else source + ".html"


class Documents:
    """All documents that are asked for, and in turn those that they link to."""

    def __init__(self, root, sources):
        self.root = pathlib.Path(root)
        self.waiting, self.known, self.images = [], set(), []
        for source in sources:
            self.need(source)

    def need(self, source):
        if source not in self.known:
            self.known.add(source)
            self.waiting.append(source)
        return place(source)

    def pages(self):
        while self.waiting:
            source = self.waiting.pop()
            if pathlib.PurePosixPath(source).suffix in IMAGES:
                self.images.append(source)
            elif source.endswith(".md"):
                if not source.startswith(CATALOGUE):
                    yield Document(self, source).page()
            else:
                yield self.listing(source)

    def listing(self, source):
        """A program, as it is."""
        path = self.root / source
        title = pathlib.PurePosixPath(source).name
        text = path.read_text(encoding="utf-8")
        # A command has no suffix: its first line names what runs it.
        suffix = path.suffix or (".py" if "python3" in text.split("\n", 1)[0] else ".sh")
        code = code_block(text, LANGUAGES.get(suffix) or fail(f"{source} is of no known language"))
        body = f'<p class="kind">{escaped(source)}</p>\n<h1>{escaped(title)}</h1>\n{code}'
        return Page(place(source), title, "guides", body, self.above(source), entries=[Entry(title, "Program", "", source, 0.5)])

    def above(self, source):
        """The README of each folder that the file is in."""
        readmes = [str(folder / "README.md") for folder in reversed(pathlib.PurePosixPath(source).parents)]
        return [(first_line(self.root / readme), self.need(readme)) for readme in readmes if (self.root / readme).is_file()]

    def linked(self, source, target):
        """What a link of the document `source` leads to: the site's file."""
        found = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        path = self.root / found
        if path.is_dir():
            found, path = posixpath.join(found, "README.md"), path / "README.md"
        if not path.is_file() or found.startswith(".."):
            fail(f"{source}: there is no {target}")
        return self.need(found)


class Document:
    def __init__(self, documents, source):
        self.documents, self.source, self.place = documents, source, place(source)
        self.parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
        self.headings, self.anchors = [], {}
        for rule in ("heading_open", "heading_close", "link_open", "image", "fence", "code_block", "table_open", "table_close",
                     "html_block", "html_inline"):
            self.parser.add_render_rule(rule, lambda renderer, *rest, rule=rule: getattr(self, rule)(*rest))

    def page(self):
        tokens = self.parser.parse((self.documents.root / self.source).read_text(encoding="utf-8") + self.folder())
        if not tokens or tokens[0].type not in ("heading_open", "html_block"):
            fail(f"{self.source} does not begin with its title")
        body = self.parser.renderer.render(tokens, self.parser.options, {})
        title = words(next(token for token in tokens if token.type == "inline"))
        above = [(name, where) for name, where in self.documents.above(self.source) if where != self.place]
        return Page(self.place, title, "guides", body, above, self.headings, list(self.entries(title, tokens)))

    def folder(self):
        """A README names the other documents of its folder: on a site no other list of them is to be seen."""
        path = pathlib.PurePosixPath(self.source)
        others = sorted((self.documents.root / path.parent).glob("0*.md")) if path.name == "README.md" else []
        titles = [(other.name, first_line(other)) for other in others]
        return "\n\n## Records\n\n" + "\n".join(f"- [{title}]({name})" for name, title in titles) if titles else ""

    def entries(self, title, tokens):
        """One for the page, and one for each of its parts with a heading."""
        weight = 0.6 if "/Decisions/0" in self.source or self.source in ("CHANGELOG.md", "CONTRIBUTING.md") else 1.5
        parts, begins = [[title, "", []]], False
        for token in tokens:
            if token.type == "heading_open":
                begins = token.tag in ("h2", "h3")
                anchor = token.meta.get("anchor", "")
            elif token.type == "inline" and begins:
                parts.append([words(token), anchor, []])
                begins = False
            elif token.type == "inline":
                parts[-1][2].append(words(token))
        for index, (name, anchor, text) in enumerate(parts):
            full = name if index == 0 else f"{title}: {name}"
            yield Entry(full, "Guide", anchor, " ".join(text), weight if index == 0 else weight / 2)

    # MARK: What is written in another way than usual. The library calls these by the kinds of its tokens.

    def heading_open(self, tokens, index, _options, _env):
        token, text = tokens[index], words(tokens[index + 1])
        anchor = self.anchor(text)
        token.meta["anchor"] = anchor
        if token.tag == "h1":
            return "<h1>"
        if token.tag == "h2":
            self.headings.append((anchor, text))
        return heading(int(token.tag[1]), anchor, "\0").split("\0")[0]

    def heading_close(self, tokens, index, _options, _env):
        token = tokens[index]
        if token.tag == "h1":
            return "</h1>\n"
        opened = next(each for each in reversed(tokens[:index]) if each.type == "heading_open")
        return heading(int(token.tag[1]), opened.meta["anchor"], "\0").split("\0")[1]

    def anchor(self, text):
        """As the places do that show the documents in the repository, so that links fit both."""
        name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        count = self.anchors.get(name, 0)
        self.anchors[name] = count + 1
        return f"{name}-{count}" if count else name

    def address(self, target):
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            return target
        path, _, anchor = target.partition("#")
        return relative(self.documents.linked(self.source, path), self.place) + (f"#{anchor}" if anchor else "")

    def link_open(self, tokens, index, _options, _env):
        return f'<a href="{escaped(self.address(tokens[index].attrs["href"]))}">'

    def image(self, tokens, index, _options, _env):
        token = tokens[index]
        return f'<img src="{escaped(self.address(token.attrs["src"]))}" alt="{escaped(token.content)}">'

    def fence(self, tokens, index, _options, _env):
        return code_block(tokens[index].content, (tokens[index].info.split() or [""])[0])

    def code_block(self, tokens, index, _options, _env):
        return code_block(tokens[index].content, "")

    def table_open(self, *_):
        return '<div class="wide" tabindex="0"><table>\n'

    def table_close(self, *_):
        return "</table></div>\n"

    def html_block(self, tokens, index, _options, _env):
        """Comments for programs that write parts of a document. Nothing else is in another language than Markdown."""
        if not re.fullmatch(r"\s*(<!--.*?-->\s*)+", tokens[index].content, re.DOTALL):
            fail(f"{self.source}: {tokens[index].content!r} is no Markdown")
        return ""

    html_inline = html_block


def first_line(path):
    """A document's title."""
    return path.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")


def words(token):
    """The text of a line, without its marks."""
    return "".join(words(child) if child.children else " " if child.type == "softbreak" else child.content for child in token.children)
