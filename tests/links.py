#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that the target of every relative link in the tree's Markdown exists, and so does every
file that is named in backquotes with a directory. A link whose text is the name of a source
file leads to a file of that name."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def documents():
    for top, dirs, files in os.walk(ROOT):
        dirs[:] = [d for d in dirs if not re.match(r"\.git$|build|target$|out$|node_modules", d)]
        for f in files:
            if f.endswith(".md"):
                yield os.path.join(top, f)


def anchor(title):
    title = re.sub(r"[`*]", "", title.strip().lower())
    return re.sub(r"[^\w\- ]", "", title).replace(" ", "-")


def main():
    errors, n = [], 0
    for doc in documents():
        text = open(doc, encoding="utf-8").read()
        name = os.path.relpath(doc, ROOT)
        prose = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
        for text, link in re.findall(r"([\w./-]*)\]\(([^)\s]+)\)", prose):
            if re.match(r"[a-z]+:", link):
                continue
            n += 1
            path, _, part = link.partition("#")
            target = os.path.join(os.path.dirname(doc), path) if path else doc
            if not os.path.exists(target):
                errors.append("%s: no %s" % (name, link))
            elif (re.search(r"\.(c|h|py|pml)$", text)
                  and os.path.basename(text) != os.path.basename(path)):
                errors.append("%s: the text of this link names another file: %s" % (name, link))
            elif part and target.endswith(".md"):
                heads = re.findall(r"^#+ (.*)$", open(target, encoding="utf-8").read(), re.M)
                if part not in map(anchor, heads):
                    errors.append("%s: no heading for %s" % (name, link))
        if not name.startswith(("picothreads", "bench")):
            for path in re.findall(r"`((?:src|tests|tool|docs|examples|include|apps|scripts)/"
                                   r"[\w./-]+)`", prose):
                if re.search("NAME|DIR", path):
                    continue  # a pattern
                n += 1
                if not os.path.exists(os.path.join(ROOT, path)):
                    errors.append("%s: no file %s" % (name, path))
    for e in errors:
        print(e)
    if not errors:
        print("ok: %d links" % n)
    return 1 if errors else 0


sys.exit(main())
