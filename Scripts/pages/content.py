# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""docc's content, as it stands in the files of an archive, in HTML.

A kind of content that is not known here is an error: a newer docc must not lose sentences in silence.
"""

import re

from page import code_block, escaped, fail, heading

# The words that every function of the library has in its documentation.
PROMISES = re.compile(r"\b(Complexity|Blocking):")
# The id of a message when the program ends.
FAULT = re.compile(r"\bGC[0-9]{4}\b")


class Content:
    def __init__(self, references, link, faults):
        """`link(reference)` is the address of what a reference names, or nil if it has no page; `faults` that of the messages."""
        self.references = references
        self.link = link
        self.faults = faults

    # MARK: In a line

    def line(self, nodes):
        return "".join(self.inline(node) for node in nodes)

    def inline(self, node):
        kind = node["type"]
        if kind == "text":
            text = PROMISES.sub(r"<strong>\1:</strong>", escaped(node["text"]))
            return FAULT.sub(lambda match: f'<a href="{self.faults}#{match.group().lower()}">{match.group()}</a>', text)
        if kind == "codeVoice":
            return f"<code>{escaped(node['code'])}</code>"
        if kind in ("emphasis", "strong"):
            tag = {"emphasis": "em", "strong": "strong"}[kind]
            return f"<{tag}>{self.line(node['inlineContent'])}</{tag}>"
        if kind == "reference":
            return self.reference(node["identifier"])
        return fail(f"docc's {kind!r} in a line is not known: {node}")

    def reference(self, identifier):
        found = self.references[identifier]
        title = escaped(found["title"])
        if found.get("kind") != "article":
            title = f"<code>{title}</code>"
        address = self.link(found)
        return f'<a href="{address}">{title}</a>' if address else title

    # MARK: Blocks

    def blocks(self, nodes):
        return "".join(self.block(node) for node in nodes)

    def block(self, node):
        kind = node["type"]
        if kind == "paragraph":
            return f"<p>{self.line(node['inlineContent'])}</p>\n"
        if kind == "heading":
            return heading(node["level"], node["anchor"], escaped(node["text"]))
        if kind == "codeListing":
            return code_block("\n".join(node["code"]), node.get("syntax") or "")
        if kind == "aside":
            return f'<div class="aside"><p><strong>{escaped(node["name"])}</strong></p>{self.blocks(node["content"])}</div>\n'
        if kind in ("unorderedList", "orderedList"):
            tag = "ul" if kind == "unorderedList" else f'ol start="{node.get("start", 1)}"'
            items = "".join(f"<li>{self.blocks(item['content'])}</li>\n" for item in node["items"])
            return f"<{tag}>\n{items}</{tag[:2]}>\n"
        if kind == "table":
            return self.table(node)
        return fail(f"docc's {kind!r} is not known: {node}")

    def table(self, node):
        rows = []
        for index, row in enumerate(node["rows"]):
            tag = "th" if index == 0 and node["header"] in ("row", "both") else "td"
            cells = "".join(f"<{tag}>{self.cell(cell)}</{tag}>" for cell in row)
            rows.append(f"<tr>{cells}</tr>")
        return '<div class="wide" tabindex="0"><table>\n' + "\n".join(rows) + "\n</table></div>\n"

    def cell(self, blocks):
        """A paragraph by itself is the cell's text."""
        if len(blocks) == 1 and blocks[0]["type"] == "paragraph":
            return self.line(blocks[0]["inlineContent"])
        return self.blocks(blocks)


def plain(nodes):
    """The sentences of any content, for the search: without headings and programs."""
    words = []

    def collect(node):
        if isinstance(node, list):
            for each in node:
                collect(each)
        elif node.get("type") in ("text", "codeVoice"):
            words.append(node.get("text") or node.get("code"))
        elif node.get("type") == "reference":
            words.append(node["identifier"].rpartition("/")[2])
        elif node.get("type") not in ("heading", "codeListing"):
            for key in ("inlineContent", "content", "items", "rows"):
                collect(node.get(key, []))
            words.append(" ")

    collect(nodes)
    return " ".join("".join(words).split())
