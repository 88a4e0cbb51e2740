#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Checks a folder of pages: each link inside leads to a file that is there, and each anchor to a place on its page.

    links.py FOLDER

Prints what is broken; 1 if anything is. What is read are attributes, as `Scripts/site` writes them: quotes in text are escaped.
"""

import os
import pathlib
import re
import sys
import urllib.parse

TARGET = re.compile(r'\s(?:href|src)="([^"]*)"')
ANCHOR = re.compile(r'\sid="([^"]*)"')
OUTSIDE = re.compile(r"(https?|mailto):")


def broken(folder):
    """Yields (page, what is wrong); then the number of links that were followed."""
    root = pathlib.Path(folder).resolve()
    texts = {str(path): path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.html"))}
    if not texts:
        sys.exit(f"error: there is no page in {folder}")
    files = {os.path.join(path, name) for path, _, names in os.walk(root) for name in names}
    anchors = {page: ANCHOR.findall(text) for page, text in texts.items()}
    followed = 0
    for page, text in texts.items():
        here, own = os.path.relpath(page, root), os.path.dirname(page)
        for name in {name for name in anchors[page] if anchors[page].count(name) > 1}:
            yield here, f"two places are called {name!r}"
        targets = TARGET.findall(text)
        followed += len(targets)
        for target in dict.fromkeys(targets):
            if OUTSIDE.match(target):
                continue
            path, _, anchor = urllib.parse.unquote(target.replace("&amp;", "&")).partition("#")
            file = os.path.normpath(os.path.join(own, path)) if path else page
            if file not in files:
                yield here, f"{target} leads nowhere"
            elif anchor and anchor not in anchors.get(file, []):
                yield here, f"{target}: there is no {anchor!r} on that page"
    yield None, f"{len(texts)} pages, {followed} links"


def main(folder):
    found = list(broken(folder))
    for page, wrong in found[:-1]:
        print(f"{page}: {wrong}")
    if len(found) > 1:
        sys.exit(f"error: {len(found) - 1} links are broken")
    print(f"=> {found[-1][1]}, none broken")


if __name__ == "__main__":
    main(*sys.argv[1:])
