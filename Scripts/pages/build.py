#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Writes the site: the guides, the reference, and what the search looks into. Scripts/site calls it.

    build.py FOLDER VERSION ARCHIVE...
"""

import json
import pathlib
import shutil
import sys

from documents import CATALOGUE, Documents, place
from frame import framed
from navigation import GUIDES, Navigation
from page import fail
from symbols import Archive

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def chosen():
    """The documents in the navigation. One that is forgotten there is an error."""
    sources = [source for _, group in GUIDES for source in group]
    for path in [*ROOT.glob("Documentation/*.md"), *ROOT.glob(CATALOGUE + "*.md")]:
        source = str(path.relative_to(ROOT))
        if source not in sources and path.name != "GrandCentral.md":
            fail(f"{source} has no place in Scripts/pages/navigation.py")
    return sources


def emptied(folder):
    """The folder, if nothing is lost by that."""
    style = folder / "site.css"
    if folder.exists() and any(folder.iterdir()) and not style.exists():
        fail(f"{folder} has other things in it")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def main(words):
    folder, version, archives = pathlib.Path(words[0]), words[1], [Archive(word) for word in words[2:]]
    documents = Documents(ROOT, chosen())
    pages = [page for archive in archives for page in archive.pages()] + list(documents.pages())
    titles = {}
    for page in pages:
        if titles.setdefault(page.path, page.title) != page.title or len(page.path) > 240:
            fail(f"two pages, or none, can be called {page.path}")
    if len(titles) != len(pages):
        fail("two pages have the same name")
    guides = [(group, [(titles[place(source)], place(source)) for source in sources]) for group, sources in GUIDES]
    navigation = Navigation(guides, [module for archive in archives for module in archive.modules()])
    emptied(folder)
    for page in pages:
        path = folder / page.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(framed(page, navigation, version), encoding="utf-8")
    for image in documents.images:
        (folder / place(image)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / image, folder / place(image))
    for name in ("site.css", "search.js"):
        shutil.copyfile(HERE / name, folder / name)
    index = [[entry.title, entry.kind, page.path + (f"#{entry.anchor}" if entry.anchor else ""), entry.text, entry.weight]
             for page in pages for entry in page.entries]
    # A script, as a page that was opened from a folder may load no other kind of file.
    text = json.dumps(sorted(index), ensure_ascii=False, separators=(",", ":"))
    (folder / "search-index.js").write_text(f"found({text});\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
