# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""What is around the content of each page. A page works without a network, from a folder, and, but for the search, without scripts."""

from page import escaped, relative

WHOLE = """<!doctype html>
<html lang="en" data-root="{root}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="stylesheet" href="{style}">
<script defer src="{script}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="menu" href="#navigation">Menu</a>
<a class="brand" href="{home}">GrandCentral <span>{version}</span></a>
<form id="search" role="search">
<input id="query" type="search" placeholder="Search" aria-label="Search" autocomplete="off" spellcheck="false">
<ol id="results" hidden></ol>
</form>
</header>
<div id="columns">
<main id="content">
{above}{body}</main>
{headings}<nav id="navigation" aria-label="All pages">
<a class="close" href="#content">Close</a>
{navigation}
</nav>
</div>
</body>
</html>
"""


def framed(page, navigation, version):
    above = " › ".join(f'<a href="{relative(path, page.path)}">{escaped(title)}</a>' for title, path in page.above)
    links = "".join(f'<li><a href="#{escaped(anchor)}">{escaped(text)}</a></li>' for anchor, text in page.headings)
    headings = f'<aside id="headings" aria-label="On this page"><h2>On this page</h2><ul>{links}</ul></aside>\n'
    return WHOLE.format(
        title=escaped(page.title if page.title == "GrandCentral" else f"{page.title} – GrandCentral"),
        root=relative(".", page.path),
        style=relative("site.css", page.path),
        script=relative("search.js", page.path),
        home=relative("index.html", page.path),
        version=escaped(version),
        above=f'<p class="above">{above}</p>\n' if above else "",
        body=page.body,
        headings=headings if len(page.headings) > 1 else "",
        navigation=navigation.shown_on(page),
    )
