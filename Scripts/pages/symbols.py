# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""The pages of the reference, from an archive of docc: a page for each file of it."""

import functools
import json
import pathlib
import re

from content import Content, plain
from page import Entry, Page, escaped, fail, heading, relative

# A declaration that is longer has a line for each parameter.
LONGEST = 78
COLOURS = {
    "keyword": "t-k", "attribute": "t-k", "typeIdentifier": "t-nc", "genericParameter": "t-nc", "identifier": "name",
    "externalParam": "t-nf", "internalParam": "parameter", "number": "t-m", "string": "t-s", "label": "t-nf",
}  # fmt: skip


def place(url):
    """The file of docc's page `url`: in any file system, and in an address, without a character that needs care."""
    def safe(match):
        letter = match.group()
        return "" if letter == ")" else "-" if letter in "(:," else f"x{ord(letter):02x}"

    parts = url.removeprefix("/documentation/").split("/")
    return "api/" + "/".join(re.sub(r"[^a-z0-9_.-]", safe, part) for part in parts) + ".html"


class Archive:
    def __init__(self, folder):
        """`folder` is NAME.doccarchive."""
        files = sorted((pathlib.Path(folder) / "data/documentation").rglob("*.json"))
        self.nodes = {}
        for file in files:
            node = json.loads(file.read_text(encoding="utf-8"))
            self.nodes[node["variants"][0]["paths"][0]] = node
        if not self.nodes:
            fail(f"there is no page in {folder}")

    def pages(self):
        return [Symbol(node, url, self).page() for url, node in self.nodes.items()]

    def modules(self):
        """For each module its title, its place, and the groups of its topics: (title, [(title, place)])."""
        for url, node in self.nodes.items():
            if node["metadata"].get("symbolKind") == "module":
                references = node["references"]
                groups = []
                for topic in node.get("topicSections", []):
                    found = [references[identifier] for identifier in topic["identifiers"]]
                    groups.append((topic["title"], [(each["title"], place(each["url"])) for each in found if each["url"] in self.nodes]))
                yield node["metadata"]["title"], place(url), groups


class Symbol:
    def __init__(self, node, url, archive):
        self.node, self.url, self.archive = node, url, archive
        self.place = place(url)
        self.metadata, self.references = node["metadata"], node["references"]
        self.content = Content(self.references, self.link, relative("Documentation/Faults.html", self.place))
        self.headings = []

    @property
    def is_inherited(self):
        """A member that the standard library gives to the type."""
        return "::SYNTHESIZED::" in self.metadata.get("externalID", "")

    def link(self, reference):
        url, _, anchor = reference.get("url", "").partition("#")
        if url not in self.archive.nodes:
            return None
        return relative(place(url), self.place) + (f"#{anchor}" if anchor else "")

    # MARK: The parts of a page

    def heading(self, anchor, text):
        self.headings.append((anchor, text))
        return heading(2, anchor, escaped(text))

    def token(self, token):
        text = escaped(token["text"])
        if name := COLOURS.get(token["kind"]):
            text = f'<span class="{name}">{text}</span>'
        found = self.references.get(token.get("identifier"))
        address = found and self.link(found)
        return f'<a href="{address}">{text}</a>' if address else text

    def declaration(self, tokens):
        if sum(len(token["text"]) for token in tokens) > LONGEST:
            tokens = list(broken(tokens))
        return f'<pre class="declaration" tabindex="0"><code>{"".join(map(self.token, tokens))}</code></pre>\n'

    def primary(self, section):
        kind = section["kind"]
        if kind == "declarations":
            return "".join(self.declaration(each["tokens"]) for each in section["declarations"])
        if kind == "content":
            self.headings += [(each["anchor"], each["text"]) for each in section["content"]
                              if each["type"] == "heading" and each["level"] == 2]
            return self.content.blocks(section["content"])
        if kind == "parameters":
            items = "".join(f"<dt><code>{escaped(each['name'])}</code></dt><dd>{self.content.blocks(each['content'])}</dd>\n"
                            for each in section["parameters"])
            return self.heading("parameters", "Parameters") + f'<dl class="parameters">{items}</dl>\n'
        if kind == "mentions":
            links = ", ".join(map(self.content.reference, section["mentions"]))
            return f'<p class="mentions">Mentioned in {links}</p>\n'
        return fail(f"docc's section {kind!r} is not known, in {self.url}")

    def members(self, section):
        """The things of a group, each with its summary."""
        items = []
        for identifier in section["identifiers"]:
            found = self.references[identifier]
            address = self.link(found)
            if "fragments" in found:
                name = "".join(map(self.token, ({**token, "identifier": None} for token in found["fragments"])))
                name = f"<code>{name}</code>"
            else:
                name = escaped(found["title"])
            name = f'<a href="{address}">{name}</a>' if address else name
            old = ' <span class="tag">deprecated</span>' if found.get("deprecated") else ""
            items.append(f"<dt>{name}{old}</dt><dd>{self.content.line(found.get('abstract', []))}</dd>\n")
        return f'<dl class="members">{"".join(items)}</dl>\n'

    def groups(self, key):
        sections = self.node.get(key, [])
        return "".join(self.heading(section.get("anchor") or section["title"], section["title"]) + self.members(section)
                       for section in sections)

    def related(self, section):
        links = ", ".join(self.content.reference(identifier) for identifier in section["identifiers"])
        return self.heading(section["type"], section["title"]) + f"<p>{links}</p>\n"

    # MARK: The page

    def page(self):
        node, metadata = self.node, self.metadata
        title = metadata["title"]
        shown = escaped(title) if node["kind"] == "article" else f"<code>{breakable(escaped(title))}</code>"
        parts = [f'<p class="kind">{escaped(metadata.get("roleHeading", ""))}</p>\n<h1>{shown}</h1>\n']
        if node.get("abstract"):
            parts.append(f'<p class="summary">{self.content.line(node["abstract"])}</p>\n')
        if node.get("deprecationSummary"):
            parts.append(f'<div class="aside"><p><strong>Deprecated</strong></p>{self.content.blocks(node["deprecationSummary"])}</div>\n')
        parts += map(self.primary, node.get("primaryContentSections", []))
        parts += [self.groups("topicSections"), self.groups("defaultImplementationsSections")]
        parts += map(self.related, node.get("relationshipsSections", []))
        return Page(self.place, title, "reference", "".join(parts), self.above(), self.headings, [self.entry()])

    @functools.cached_property
    def parents(self):
        paths = self.node.get("hierarchy", {}).get("paths") or [[]]
        return [self.references[identifier] for identifier in paths[0]]

    def above(self):
        return [(each["title"], place(each["url"])) for each in self.parents if each["url"] in self.archive.nodes]

    def entry(self):
        node, metadata = self.node, self.metadata
        # Without the module, and without the groups that docc makes.
        types = [each["title"] for each in self.parents[1:] if each.get("role") != "collectionGroup"]
        top = len(self.parents) <= 1
        weight = 0.2 if self.is_inherited or metadata["role"] == "collectionGroup" else 2 if top else 1
        text = [{"content": node.get("abstract", [])}, node.get("primaryContentSections", [])]
        title = metadata["title"]
        # A type within a type has its whole name for a title.
        if types and not title.startswith(types[-1] + "."):
            title = f"{types[-1]}.{title}"
        return Entry(title, metadata.get("roleHeading", ""), "", plain(text), weight)


def breakable(name):
    """A long name ends its line behind a dot or a colon rather than in a word."""
    return re.sub(r"([(:.])(?=\w)", r"\1<wbr>", name)


def broken(tokens):
    """The tokens with a new line before each parameter and behind the last one."""
    depth, named, inside = 0, False, False
    for index, token in enumerate(tokens):
        text, kind = token["text"], token["kind"]
        if kind == "identifier":
            named = True
        if kind == "externalParam" and inside and depth == 1:
            yield {"text": "\n  ", "kind": "text"}
        if kind != "text" or not named:
            yield token
            continue
        written = ""
        for offset, letter in enumerate(text):
            if letter == "(":
                depth += 1
                follows = tokens[index + 1]["kind"] if index + 1 < len(tokens) else ""
                inside = inside or (depth == 1 and offset == len(text) - 1 and follows == "externalParam")
            elif letter == ")":
                depth -= 1
                if depth == 0 and inside:
                    written = written.rstrip() + "\n"
                    inside = named = False
            written += letter
        yield {**token, "text": written.rstrip(" ") if written.endswith(", ") and depth == 1 and inside else written}
