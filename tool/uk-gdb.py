# SPDX-License-Identifier: Apache-2.0
"""gdb commands for user threads, in a live process and in a core file.

    info uthreads              every thread: its state, what it waits for, where it is
    uthread ID                 the same for one thread
    uthread ID bt              its backtrace
    uthread ID COMMAND         any other gdb command in its frames,
                               e.g. `uthread 7 frame function worker`
    uthread all bt             the backtrace of every thread

    (gdb) source tool/uk-gdb.py

gdb loads this file by itself where the library is installed and its directory is trusted
(add-auto-load-safe-path). It needs only the debug information of libukthreads (-g).

How it works: a parked thread is a saved stack pointer; above it are its frame pointer and its
resume address (src/arch/arch.h). gdb does not know such threads. So an unwinder claims that
the newest frame of some kernel thread was "called" from the parked thread's context. Registers
and memory are never written, so this works on a core file, too.
"""
import re

import gdb
from gdb.unwinder import Unwinder

FRAMES_BY_DEFAULT = 500  # with more threads `info uthreads` does not show functions


def word(address):
    return int(gdb.parse_and_eval("*(unsigned long *)%d" % address))


def symbol(name):
    try:
        return gdb.parse_and_eval(name)
    except gdb.error as e:
        raise gdb.GdbError("%s: libukthreads is not loaded, or has no debug information (%s)"
                           % (name, e))


class Layout:
    """What this file must know of the library: the library's own table (src/debug/layout.h)."""
    NO_HOLDER, OWNER, ITSELF = range(3)

    def __init__(self):
        self.table = symbol("uk_layout")
        self.states = self.names("states", "nstates")
        self.waits = self.names("waits", "nwaits")

    def names(self, array, count):
        return [self.table[array][i].string() for i in range(self[count])]

    def __getitem__(self, name):
        return int(self.table[name])

    def holder_of(self, wait, address):
        """The id of the thread that holds the object or is joined; None if there is none."""
        rule = self.table["holders"][wait]
        how, bits = int(rule["how"]), int(rule["bits"])
        try:
            if how == self.NO_HOLDER or bits & int(gdb.parse_and_eval(
                    "*(unsigned *)%d" % (address + int(rule["unless"])))):
                return None
            if how == self.OWNER:
                address = word(address + int(rule["owner"]))
            return int(gdb.parse_and_eval("((struct uk_thread *)%d)->id" % address)) \
                if address else None
        except (gdb.error, gdb.MemoryError):
            return None


class Thread:
    def __init__(self, value, carriers, layout):
        self.value = value
        self.layout = layout
        self.address = int(value.address)
        self.id = int(value["id"])
        self.kind = int(value["kind"])
        self.state = int(value["state"])
        self.wait = int(value["wkind"])
        self.object = int(value["wobj"])
        self.fd = int(value["wfd"])
        self.sp = int(value["sp"])
        self.since = int(value["since"])
        self.light = bool(int(value["light"]))
        self.vp = int(value["vp"]["id"]) if int(value["vp"]) else None
        self.tid = carriers.get(self.address)  # of the carrier that runs it now
        self.name = ""
        if int(value["ext"]):
            self.name = value["ext"]["name"].string(errors="replace")

    def is_user(self):
        return self.kind == self.layout["kind_user"]

    def describe(self):
        parked = self.state == self.layout["state_parked"]
        text = "running" if self.tid else self.layout.states[self.state]
        if not self.is_user():
            text = "parked" if parked else "kernel thread"
        if parked and not self.tid:
            text += " on " + self.layout.waits[self.wait]
            if self.fd >= 0:
                text += " fd %d" % self.fd
            if self.object:
                text += " %#x" % self.object
                holder = self.layout.holder_of(self.wait, self.object)
                if holder:
                    text += " held by %d" % holder
        return text

    def context(self):
        """The registers of a thread that is not running, or None."""
        if not self.is_user() or self.tid or not self.sp \
                or self.state == self.layout["state_exited"]:
            return None
        arch = gdb.selected_inferior().architecture().name()
        if not arch.startswith("i386:x86-64"):
            raise gdb.GdbError("contexts of %s are not supported" % arch)
        # as in arch_context_regs(); the caller has saved the other live registers
        regs = {"rbp": word(self.sp + self.layout["frame_fp"]),
                "rip": word(self.sp + self.layout["frame_ip"]),
                "rsp": self.sp + self.layout["frame_size"]}
        if not regs["rip"]:
            raise gdb.GdbError("its stack is not in this core file: generate-core-file omits "
                               "mappings with lazy guards (run with UK_DEBUG=guard=mprotect)")
        return regs


def all_threads():
    slab, chunk_type = symbol("thread_slab"), gdb.lookup_type("struct slab_chunk")
    size, pointer = int(slab["size"]), gdb.lookup_type("struct uk_thread").pointer()
    first = next(f.bitpos // 8 for f in chunk_type.fields() if f.name == "objs")
    carriers, c = {}, symbol("carriers_all")
    while int(c):
        carriers[int(c["current"])] = int(c["tid"])
        c = c["next_all"]
    found, chunk, layout = [], int(slab["chunks"]), Layout()
    shown = layout["kind_user"], layout["kind_foreign"]
    while chunk:
        k = gdb.Value(chunk).cast(chunk_type.pointer()).dereference()
        for off in range(0, int(k["used"]), size):
            t = gdb.Value(chunk + first + off).cast(pointer).dereference()
            if int(t["kind"]) in shown:
                found.append(Thread(t, carriers, layout))
        chunk = int(k["next"])
    return sorted(found, key=lambda t: t.id)


def latest(threads):
    """The latest time that the process has stored: gdb can't read its clock."""
    vps, n = symbol("vp_all"), int(symbol("vp_count_all"))
    return max([int(vps[i]["clock"]) for i in range(n)] + [t.since for t in threads])


class ParkedUnwinder(Unwinder):
    """While regs is set, the caller of the frame bottom = (pc, sp) is that context."""

    def __init__(self):
        super().__init__("uk-parked-thread")
        self.regs = None
        self.bottom = None

    def __call__(self, pending):
        if self.regs is None:
            return None
        pc, sp = pending.read_register("rip"), pending.read_register("rsp")
        if (int(pc), int(sp)) != self.bottom:
            return None
        low = gdb.Value(self.regs["rsp"] - 16).cast(sp.type)  # below all older frames
        info = pending.create_unwind_info(FrameId(low, pc))
        for name, value in self.regs.items():
            kind = pending.read_register(name).type
            info.add_saved_register(name, gdb.Value(value).cast(kind))
        return info


class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


unwinder = ParkedUnwinder()


class Inside:
    """with Inside(thread): selects the thread's newest frame; .level is gdb's number of it."""

    def __init__(self, thread):
        self.thread = thread

    def __enter__(self):
        self.before = gdb.selected_thread()
        self.frame = gdb.selected_frame()
        self.level = 0
        threads = gdb.selected_inferior().threads()
        if self.thread.tid:
            for t in threads:
                if t.ptid[1] == self.thread.tid:
                    t.switch()
                    gdb.newest_frame().select()
                    return self
            raise gdb.GdbError("no kernel thread %d" % self.thread.tid)
        regs = self.thread.context()
        if not regs:
            raise gdb.GdbError("thread %d has no frames" % self.thread.id)
        for t in threads:  # a frame that is not inlined: no other unwinder takes it first
            t.switch()
            f = gdb.newest_frame()
            if f.type() == gdb.NORMAL_FRAME:
                break
        unwinder.bottom = (int(f.read_register("rip")), int(f.read_register("rsp")))
        unwinder.regs = regs
        gdb.invalidate_cached_frames()
        f = gdb.newest_frame()
        while f and (int(f.read_register("rip")), int(f.read_register("rsp"))) != \
                (regs["rip"], regs["rsp"]):
            f, self.level = f.older(), self.level + 1
        if not f:
            self.__exit__()
            raise gdb.GdbError("the frames of thread %d can't be read" % self.thread.id)
        f.select()
        return self

    def __exit__(self, *what):
        unwinder.regs = None
        gdb.invalidate_cached_frames()
        if self.before and self.before.is_valid():
            self.before.switch()
        try:
            self.frame.select()
        except gdb.error:
            pass
        return False


def backtrace(thread, options=""):
    with Inside(thread) as at:
        out = gdb.execute("backtrace " + options, to_string=True)
    lines, level, keep = [], -1, False
    for line in out.splitlines():
        m = re.match(r"#(\d+)(\s.*)", line)
        if m:
            level = int(m.group(1)) - at.level
            keep = level >= 0
            line = "#%-3d%s" % (level, m.group(2).strip())
        if keep:
            lines.append(line)
    return "\n".join(lines)


def where(thread):
    """The innermost function outside the library."""
    try:
        with Inside(thread):
            f, name = gdb.selected_frame(), ""
            for _ in range(30):
                if not f:
                    break
                name = f.name() or name
                table = f.find_sal().symtab
                source = table.fullname() if table else ""
                if f.name() and not re.search(r"/src/(base|arch|mem|reactor|thread|sched|lifecycle|sync"
                                              r"|io|async|monitor|process|debug|preload)/", source):
                    break
                f = f.older()
            return name
    except (gdb.error, gdb.GdbError):
        return ""


class InfoThreads(gdb.Command):
    """List user threads: info uthreads [PATTERN of the name or state]"""

    def __init__(self):
        super().__init__("info uthreads", gdb.COMMAND_STATUS)

    def invoke(self, arg, from_tty):
        threads = all_threads()
        functions = len(threads) <= FRAMES_BY_DEFAULT
        now = latest(threads)
        print("%8s %-16s %-4s %-8s %9s %-32s %s" % (
            "Id", "Name", "Vp", "Kernel", "For ms", "State", "Function" if functions else ""))
        shown = 0
        for t in threads:
            text = t.describe()
            if arg and not re.search(arg, t.name + " " + text):
                continue
            shown += 1
            name = '"%s"' % t.name + (" light" if t.light and t.is_user() else "")
            print("%8d %-16s %-4s %-8s %9d %-32s %s" % (
                t.id, name, "-" if t.vp is None else t.vp, t.tid or "-",
                (now - t.since) // 1000000, text,
                where(t) if functions and t.is_user() else ""))
        print("%d of %d threads" % (shown, len(threads)))


class UkThread(gdb.Command):
    """Look at a user thread: uthread ID|all [COMMAND...], e.g. uthread 7 bt"""

    def __init__(self):
        super().__init__("uthread", gdb.COMMAND_STACK)

    def invoke(self, arg, from_tty):
        words = arg.split(None, 1)
        if not words:
            raise gdb.GdbError("uthread ID|all [COMMAND]")
        threads = [t for t in all_threads()
                   if words[0] == str(t.id) or words[0] == "all" and t.is_user()]
        if not threads and words[0] != "all":
            raise gdb.GdbError("no thread " + words[0])
        for t in threads:
            print('thread %d "%s"%s %s' % (t.id, t.name, " light" if t.light else "",
                                           t.describe()))
            if len(words) > 1:
                try:
                    self.run(t, words[1])
                except gdb.GdbError as e:
                    if words[0] != "all":
                        raise
                    print("(%s)" % e)

    @staticmethod
    def run(thread, command):
        m = re.match(r"(bt|backtrace|where)\b\s*(.*)", command)
        if m:
            print(backtrace(thread, m.group(2)))
            return
        with Inside(thread) as at:
            m = re.match(r"(?:frame|f)\s+(\d+)\s*(.*)", command)
            if m:  # frame numbers count from the thread's newest frame
                gdb.execute("frame %d" % (int(m.group(1)) + at.level))
                command = m.group(2)
            if command:
                gdb.execute(command)


gdb.unwinder.register_unwinder(None, unwinder, replace=True)
InfoThreads()
UkThread()
