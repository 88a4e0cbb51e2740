# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""What stands beside each page: the guides in the order in which they are read, and the reference by topics."""

from documents import CATALOGUE
from page import escaped, relative

GUIDES = [
    ("Begin", ["README.md", "Documentation/GettingStarted.md", "Documentation/TenMinutes.md", "Documentation/Guide.md", "Documentation/WhichQueue.md"]),
    ("Move code", [CATALOGUE + "MovingFromDispatch.md", "Documentation/MovingFromLibdispatchInC.md"]),
    ("Subjects", [CATALOGUE + name for name in ("SwiftConcurrency.md", "SourcesOnLinux.md", "DataAndChannels.md")]),
    ("Look inside", [f"Documentation/{name}.md" for name in ("Insight", "Tool", "Hangs", "Slow", "MainQueue")]),
    ("Tests", ["Documentation/Testing.md", "Documentation/Simulation.md", "Documentation/FiveBugs.md"]),
    ("Messages", [f"Documentation/{name}.md" for name in ("Faults", "Exhaustion", "ChannelErrors")]),
    ("Programs", ["Examples/swift/README.md", "Examples/c/README.md", "Integrations/README.md"]),
    ("Numbers", [f"Documentation/{name}.md" for name in ("Measuring", "Performance", "Performance-C", "Scaling", "Programs")]),
    ("The project", ["Documentation/Design.md", "Documentation/Stability.md", "Documentation/Platforms.md", "CHANGELOG.md", "SECURITY.md", "ARCHITECTURE.md",
                     "Documentation/Decisions/README.md", "Verification/README.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md"]),
]  # fmt: skip


class Navigation:
    def __init__(self, guides, modules):
        """`guides`: (title, [(title, place)]); `modules`: (title, place, groups like those)."""
        self.sections = [("guides", "Guides", None, guides)]
        self.sections += [("reference", title, where, groups) for title, where, groups in modules]
        self.places = {where for _, _, own, groups in self.sections for _, links in groups for _, where in [*links, ("", own)]}
        self.made = {}

    def shown_on(self, page):
        """The page itself, or what it is a part of, is marked; the groups that help there are open."""
        marked = next((path for path in [page.path, *(path for _, path in reversed(page.above))] if path in self.places), None)
        parts = []
        for section, title, own, groups in self.sections:
            name = f'<a href="{relative(own, page.path)}">{escaped(title)}</a>' if own else escaped(title)
            parts.append(f"<h2>{name}</h2>")
            for group in groups:
                is_open = any(where == marked for _, where in group[1]) or (section == page.section == "guides")
                parts.append(f"<details{' open' if is_open else ''}><summary>{escaped(group[0])}</summary>{self.links(group, page.path)}</details>")
        whole = "\n".join(parts)
        if marked:
            address = f'href="{relative(marked, page.path)}"'
            whole = whole.replace(address, f'{address} aria-current="page"')
        return whole

    def links(self, group, page):
        """A group is the same on all pages of a folder."""
        key = (id(group), page.rpartition("/")[0])
        if key not in self.made:
            items = (f'<li><a href="{relative(where, page)}">{escaped(title)}</a></li>' for title, where in group[1])
            self.made[key] = f"<ul>{''.join(items)}</ul>"
        return self.made[key]
