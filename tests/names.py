#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that the names in the documents and in the comments of the models exist.

1. docs/ARCHITECTURE.md, HISTORY.md, HACKING.md and TESTING.md: each name in backquotes occurs in
   the sources, and each file is in the tree. A name that is said to be "in" a file is defined
   in that file. The columns of other projects' names ("theirs", "the design said") are left out.
2. The comments at the top of tests/model/*.pml: the same. docs/TESTING.md names all models.
3. Comments anywhere: a path from the root, or from a directory of src, exists, and so does a law of
   docs/ARCHITECTURE.md that a comment cites.
4. Prose: no sentence of a comment or document begins with "Who", unless it is a question or a
   heading. The subjects of the last commits have at most 72 characters.
5. picothreads/docs/PROPERTIES.md has each property that the JVM part reads, and no other.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
with open(os.path.join(ROOT, "src", "LAYERS"), encoding="utf-8") as layers:
    ROOMS = "|".join(re.findall(r"^(\w+):", layers.read(), re.M))
TOPS = "src|tests|tool|docs|examples|include|apps|scripts|bench"
SKIP = re.compile(r"^(build.*|\.git|out|target|node_modules|__pycache__)$")
SOURCE = (".c", ".h", ".S", ".py", ".sh", ".pml", ".build", ".map", ".mk", ".txt", ".java", ".rs", ".go", ".cc", ".hpp")


def tree():
    """path -> text of the files of the tree (None: the file is not searched)."""
    files = {}
    for top, dirs, names in os.walk(ROOT):
        dirs[:] = [d for d in dirs if not SKIP.match(d)]
        for n in names:
            path = os.path.relpath(os.path.join(top, n), ROOT)
            read = n.endswith(SOURCE) or "." not in n
            try:
                files[path] = open(os.path.join(top, n), encoding="utf-8").read() if read else None
            except (UnicodeDecodeError, OSError):
                files[path] = None
    return files


class Tree:
    def __init__(self):
        self.files = tree()
        self.bases = {os.path.basename(f) for f in self.files}
        self.docs = {f: open(os.path.join(ROOT, f), encoding="utf-8").read()
                     for f in self.files if f.endswith(".md")}
        self.words = set()
        for f, text in self.files.items():
            if text and f != "tests/names.py":
                self.words.update(re.findall(r"[A-Za-z_]\w*", text))

    def has_file(self, path):
        path = path.rstrip("/")
        if "*" in path or re.search(r"NAME|ROOM", path):
            return True  # a pattern
        if "/" not in path:
            return path in self.bases
        return any(f == path or f.endswith("/" + path) or f.startswith(path + "/") or
                   "/" + path + "/" in f for f in self.files)

    def is_in(self, name, path):
        text = self.files.get(path)
        # a definition is on a line that does not begin with a space or a tab
        return text is None or re.search(r"^\S.*\b%s\b" % re.escape(name), text, re.M)


def check_name(t, where, quoted, errors):
    name = re.sub(r"\(.*\)$", "", quoted)
    if re.match(r"^(uk|ukweb)_\*$", name) or not re.match(r"^[\w./*-]+$", name):
        return
    if re.search(r"\.(c|h|S|py|sh|pml|md|map|txt)$", name) or name.endswith("/"):
        if not name.startswith("build") and not t.has_file(name):
            errors.append("%s: no file %s" % (where, quoted))
    elif re.match(r"^[A-Za-z_]\w*$", name) and ("_" in name or name.islower()):
        if name not in t.words and not any(w.endswith("_" + name) for w in t.words):
            errors.append("%s: no %s in the sources" % (where, quoted))


# The cells of a table line that are about this project.
def our_cells(line, theirs):
    cells = line.strip().strip("|").split("|")
    return "|".join(cells[1:]) if theirs else line


def documents(t, errors):
    for doc in ("docs/ARCHITECTURE.md", "docs/HISTORY.md", "docs/HACKING.md", "docs/TESTING.md"):
        text = open(os.path.join(ROOT, doc), encoding="utf-8").read()
        text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
        theirs = False
        for n, line in enumerate(text.splitlines(), 1):
            if re.match(r"\| *(theirs|the design said) *\|", line):
                theirs = True
            elif not line.startswith("|"):
                theirs = False
            for quoted in re.findall(r"`([^`]+)`", our_cells(line, theirs)):
                check_name(t, doc, quoted, errors)
            for names, path in re.findall(
                    r"((?:`\w+`(?:, | and )?)+) in \[[^]]*\]\(([^)#]+)\)", line):
                path = os.path.normpath(os.path.join(os.path.dirname(doc), path))
                for name in re.findall(r"`(\w+)`", names):
                    if not t.is_in(name, path):
                        errors.append("%s: %s is not in %s" % (doc, name, path))


def essay(text):
    return "\n".join(re.findall(r"/\*.*?\*/", text, flags=re.S)[:2])


def models(t, errors):
    testing = open(os.path.join(ROOT, "docs/TESTING.md"), encoding="utf-8").read()
    for f, text in sorted(t.files.items()):
        if not f.startswith("tests/model/") or not f.endswith(".pml"):
            continue
        if "`%s`" % os.path.basename(f) not in testing:
            errors.append("docs/TESTING.md: does not name %s" % f)
        top = re.sub(r"\n \*", "\n", essay(text))
        top = re.sub(r"Must fail:.*", "", top, flags=re.S)
        for path in re.findall(r"[\w/.-]+\.(?:c|h|java|pml)\b", top):
            if not t.has_file(path):
                errors.append("%s: no file %s" % (f, path))
        for name in re.findall(r"\b[a-z]\w*_\w+\b(?!\.)", top):
            if name not in t.words:
                errors.append("%s: no %s in the sources" % (f, name))
        for names, path in re.findall(r"((?:\w+(?:, | and ))*\w+)\s+in\s+(src/[\w/.]+\.[ch])", top):
            for name in re.split(r", | and ", names):
                if "_" in name and not t.is_in(name, path):
                    errors.append("%s: %s is not in %s" % (f, name, path))


def paths(t, errors):
    spelled = re.compile(r"(?<![\w/.-])(?!include/linux/)((?:%s)/[\w/-]+\.(?:c|h|S|py|sh|pml|md|map|txt))(?![\w/])"
                         % (TOPS + "|" + ROOMS))
    for f, text in sorted(t.files.items()):
        if not text or not re.match("(src|include|apps|tool|tests|scripts|examples)/", f):
            continue
        if f == "tests/names.py" or f.endswith((".java", ".txt")):
            continue
        for path in sorted(set(spelled.findall(text))):
            if not t.has_file(path):
                errors.append("%s: no file %s" % (f, path))


def laws(t, errors):
    there = re.findall(r"^### Law (\d+)$", t.docs["docs/ARCHITECTURE.md"], re.M)
    for f, text in sorted(t.files.items()):
        for word, n in re.findall(r"\b([Ll]aw|[Tt]rap) (\d+)\b", text or ""):
            if (word.lower() == "trap" or n not in there) and f != "tests/names.py":
                errors.append("%s: there is no %s %s" % (f, word, n))


# The sentence begins a comment or a line of a document, or follows the end of another one.
WHO = re.compile(r"(?:^[\s*/#\"|-]*|[.:;!?)] )(Who [a-z][^.?]*[.?])")
COMMENT = re.compile(r"/\*.*?\*/|(?://|^\s*#)[^\n]*(?:\n\s*(?://|#)[^\n]*)*|\"\"\".*?\"\"\"",
                     re.S | re.M)


def sentences(t, errors):
    parts = [(f, line) for f, text in t.docs.items() for line in text.splitlines()
             if not line.startswith("#")]
    for f, text in t.files.items():
        if text and f != "tests/names.py" and "/resources/" not in f:
            parts += [(f, re.sub(r"\s*\n[\s*/#]*", " ", c)) for c in COMMENT.findall(text)]
    for f, part in sorted(parts):
        for found in WHO.findall(part):
            if not found.endswith("?"):
                errors.append("%s: a sentence begins with \"Who\": %.60s" % (f, found))


def subjects(errors):
    if not os.path.exists(os.path.join(ROOT, ".git")):
        return
    log = subprocess.run(["git", "-C", ROOT, "log", "-20", "--no-merges", "--format=%s"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    errors += ["commit: %d characters: %s" % (len(s), s) for s in log.stdout.splitlines()
               if len(s) > 72]


def properties(t, errors):
    page = "picothreads/docs/PROPERTIES.md"
    listed = re.findall(r"^\| `(pico\.[\w.]+)`", t.docs[page], re.M)
    read = {name for f, text in t.files.items() if text and f.startswith("picothreads/")
            for name in re.findall(r"""get(?:Property|Integer|Long|Boolean)\(\s*"(pico\.[\w.]+)""", text)}
    errors += ["%s: nothing reads %s" % (page, n) for n in listed if n not in read]
    errors += ["%s: no line for %s" % (page, n) for n in sorted(read - set(listed))]


def main():
    t, errors = Tree(), []
    documents(t, errors)
    models(t, errors)
    paths(t, errors)
    laws(t, errors)
    sentences(t, errors)
    subjects(errors)
    properties(t, errors)
    for e in errors:
        print(e)
    if not errors:
        print("ok: all names exist")
    return 1 if errors else 0


sys.exit(main())
