#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Looks at the site with a headless Chromium, opened from its folder: the search, what it leads to, a phone, the dark, all pictures.

    look.py SITE PICTURES

PICTURES is a folder, which gets what the browser shows.
"""

import json
import pathlib
import sys

from browser import Browser
from looked_at import fail, until

WIDE, NARROW = 1280, 390


def main(site, pictures):
    home = (pathlib.Path(site).resolve() / "index.html").as_uri()
    browser = Browser(home, WIDE, 900)
    try:
        loaded(browser, "GrandCentral")
        search(browser, "asyncAfter", "DispatchQueue.asyncAfter(deadline:execute:)", pathlib.Path(pictures))
        follow(browser)
        everywhere(browser, home, pathlib.Path(pictures))
        shown = images(browser, pathlib.Path(site).resolve())
        if browser.complaints:
            fail("the pages have errors:\n" + "\n".join(browser.complaints))
        print("=> from its folder in Chromium: the search finds asyncAfter, its page shows it; at 1280 and 390 pixels, light and dark; "
              f"{shown} pictures are shown")
    finally:
        browser.end()


def loaded(browser, title):
    """Until the page with that head is there."""
    head = "document.readyState === 'complete' && document.querySelector('h1')?.innerText"
    until(lambda: f"{title!r} in {browser.value('document.body.innerText')}", lambda: True if browser.value(head) == title else None)


def go(browser, address):
    """Until the page of that address is there, and its pictures have come, or will not come."""
    browser.call("Page.navigate", url=address)
    until(address, lambda: True if browser.value(f"document.readyState === 'complete' && location.href === {json.dumps(address)}") else None)


def picture(browser, width, path):
    """As wide as that; nothing but tables and programs is wider."""
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width == NARROW)
    until(f"a window of {width} pixels", lambda: True if browser.value("innerWidth") == width else None)
    whole = browser.value("document.documentElement.scrollWidth")
    browser.picture(path)
    if whole > width:
        fail(f"{path.name}: the page is {whole} pixels wide, not {width}")


def search(browser, word, first, pictures):
    results = "[...document.querySelectorAll('#results .title')].map(one => one.innerText)"
    browser.value("document.getElementById('query').focus()")
    browser.call("Input.insertText", text=word)
    until(lambda: f"results for {word}", lambda: browser.value(results) or None)
    if browser.value(results)[0] != first:
        fail(f"the first results for {word} are {browser.value(results)[:3]}")
    picture(browser, WIDE, pictures / "search.png")
    browser.call("Input.insertText", text=" nosuchword")
    until("an answer that nothing fits", lambda: browser.value("document.querySelector('#results .none')?.innerText"))
    browser.value("(query.value = '', 0)")
    browser.call("Input.insertText", text=word)
    until(lambda: f"results for {word} again", lambda: browser.value(results) or None)


def follow(browser):
    """The key Enter leads to the first result. Its page has what docc knows of the function."""
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r")
    loaded(browser, "asyncAfter(deadline:execute:)")
    shown = browser.value("document.getElementById('content').innerText")
    for words in ("Instance Method", "Submits a work item at deadline.", "func asyncAfter(deadline: DispatchTime", "execute: DispatchWorkItem",
                  "Complexity: O(1)", "Blocking: never"):
        if words not in shown:
            fail(f"there is no {words!r} on the page:\n{shown}")
    # A type in the declaration is a link to its page.
    browser.value("[...document.querySelectorAll('.declaration a')].find(one => one.innerText === 'DispatchWorkItem').click()")
    loaded(browser, "DispatchWorkItem")


def everywhere(browser, home, pictures):
    """Pages of each kind, in both widths, and in the dark."""
    pages = {"home": "index.html", "guide": "Documentation/Guide.html", "module": "api/grandcentral.html",
             "type": "api/grandcentral/dispatchqueue.html", "program": "Examples/c/timer.c.html"}
    grounds = set()
    for name, path in pages.items():
        go(browser, home.replace("index.html", path))
        for width in (WIDE, NARROW):
            for scheme in ("light", "dark"):
                browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
                grounds.add((scheme, browser.value("getComputedStyle(document.body).backgroundColor")))
                picture(browser, width, pictures / f"{name}-{width}-{scheme}.png")
    if len(grounds) != 2 or len({colour for _, colour in grounds}) != 2:
        fail(f"light and dark are {grounds}")
    # On a phone the navigation is behind its link.
    height = "document.getElementById('navigation').offsetHeight"
    if browser.value(height) != 0:
        fail("the navigation is in the way on a phone")
    browser.value("document.querySelector('.menu').click()")
    until("the navigation on a phone", lambda: browser.value(height) or None)


def images(browser, site):
    """How many pictures the pages show. Each one has come; a planted one that is none is noticed."""
    broken = "[...document.images].filter(one => !one.complete || one.naturalWidth === 0).map(one => one.src)"
    count = 0
    for page in sorted(site.rglob("*.html")):
        if "<img " in page.read_text(encoding="utf-8"):
            go(browser, page.as_uri())
            count += browser.value("document.images.length")
            if browser.value(broken):
                fail(f"{page.relative_to(site)} does not show {browser.value(broken)}")
    if count == 0:
        fail("there is no picture on any page")
    browser.value("(document.images[0].src = 'data:image/png;base64,cGxhbnRlZA==', 0)")
    until("the planted picture", lambda: browser.value("document.images[0].complete") or None)
    if not browser.value(broken):
        fail("a picture that is none was planted, and not found")
    return count


if __name__ == "__main__":
    main(*sys.argv[1:])
