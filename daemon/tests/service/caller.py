# SPDX-License-Identifier: GPL-2.0-only
"""Calls the daemon as whoever runs this, through another implementation of the bus (GDBus).

usage: caller.py ADDRESS INTERFACE_FILE reach [--dialog]
       caller.py ADDRESS INTERFACE_FILE fuzz ITERATIONS SEED
       caller.py ADDRESS INTERFACE_FILE flood
       caller.py ADDRESS INTERFACE_FILE crowd

reach calls every method and reads and writes every property of the interface file once, and tries what is not
in there. One line each: who answered (daemon or bus), the error or "ok", what was called.

fuzz sends every member so many messages of the wrong kind. It fails if one is not answered by the daemon, or
with an error that is not one short printable sentence.

flood sends every method that takes text in whatever shape the longest that the bus lets through, and a longer one.
Names of properties come back in the error of the library: there the message is as long as may be to the byte, and
the answer must not be longer.

crowd subscribes with one connection after the other and takes one hold after the other until that is refused, says
how many there are and with which errors it ended, and keeps them until its standard input ends.
"""

import collections
import itertools
import os
import random
import re
import socket
import sys
import xml.etree.ElementTree as ElementTree

from gi.repository import Gio, GLib

NAME = "org.pandemonium.Scheduler1"
OBJECT = "/org/pandemonium/Scheduler1"
PROPERTIES = "org.freedesktop.DBus.Properties"
BUS = "org.freedesktop.DBus"
# Far longer than anything takes on a loaded machine, ms.
PATIENCE = 120_000
# The bus takes messages of 32 MiB; a string that still fits beside its header.
LONGEST = (32 << 20) - 4096
TOO_LONG = 64 << 20
# Of the system bus.
MAX_MESSAGE = 32 << 20
# Characters of an error.
MAX_SENTENCE = 1000

# Instead of an error: the bus ended the connection because the message breaks its own rules.
CLOSED = "closed"

# By the name of an argument, what the daemon would take.
SENSIBLE = {"mode": "bpf", "application": "game", "pattern": "mywm", "domain": "all", "tier": "batch"}
PLAIN = {"s": "x", "b": True, "u": 1000, "t": 0, "ay": b"mywm", "h": 0}


def raw(text):
    """An array of bytes that is not made byte by byte."""
    return GLib.Variant.new_from_bytes(GLib.VariantType.new("ay"), GLib.Bytes.new(text.encode()), True)


# How an argument of this type carries a text.
SHAPES = {
    "s": [lambda text: GLib.Variant("s", text)],
    "as": [lambda text: GLib.Variant("as", [text])],
    "ay": [raw],
    "a{ss}": [lambda text: GLib.Variant("a{ss}", {text: "all"})],
    "a{sv}": [
        lambda text: GLib.Variant("a{sv}", {text: GLib.Variant("b", True)}),
        lambda text: GLib.Variant("a{sv}", {"x": raw(text)}),
    ],
}

STRINGS = [
    "", "adaptive", "bpf", "off", "all", "auto", "performance", "batch", "lat_critical", "mywm", "mywm*", "0xff",
    "0x", "\x01\x1b[2J\n\r\t\x7f", "\u202e\u2028", "../../etc/passwd", "%s%n{}$(x)", "'\";--",
    "x" * 15, "x" * 16, "x" * 300, "\U0010ffff" * 100, "*" * 64, "\\" * 5000, "0x" + "f" * 70_000,
]
EDGES = [0, 1, 2, 5, 64, 249, 250, 512, 600, 601, 1000]
INTEGERS = {"y": (0, 8), "n": (1, 16), "q": (0, 16), "i": (1, 32), "u": (0, 32), "x": (1, 64), "t": (0, 64)}


def plain(kind):
    """Something of this type that is nothing special; lists are empty."""
    return PLAIN[kind] if kind in PLAIN else {} if kind.startswith("a{") else []


class Caller:
    """A connection to the bus."""

    def __init__(self, address, keep=False):
        """keep: descriptors that come with an answer stay open."""
        self.address, self.keep = address, keep
        self.connect()

    def connect(self):
        flags = Gio.DBusConnectionFlags
        flags = flags.AUTHENTICATION_CLIENT | flags.MESSAGE_BUS_CONNECTION
        self.bus = Gio.DBusConnection.new_for_address_sync(self.address, flags, None, None)
        self.bus.set_exit_on_close(False)

    def send(self, interface, member, body, fds=(), to=NAME, path=OBJECT, dialog=False):
        """The answer: who gave it, the error, its sentence."""
        message = Gio.DBusMessage.new_method_call(to, path, interface, member)
        if dialog:
            message.set_flags(Gio.DBusMessageFlags.ALLOW_INTERACTIVE_AUTHORIZATION)
        if body is not None:
            message.set_body(body)
        if fds:
            handed_over = Gio.UnixFDList.new()
            for fd in fds:
                handed_over.append(fd)
            message.set_unix_fd_list(handed_over)
        no_flags = Gio.DBusSendMessageFlags.NONE
        try:
            reply, _ = self.bus.send_message_with_reply_sync(message, no_flags, PATIENCE, None)
        except GLib.Error as error:
            if not error.matches(Gio.io_error_quark(), Gio.IOErrorEnum.CLOSED):
                raise
            self.connect()
            return "bus", CLOSED, ""
        who = "bus" if reply.get_sender() == BUS else "daemon"
        received = reply.get_unix_fd_list()
        for fd in received.steal_fds() if received else ():
            if not self.keep:
                os.close(fd)
        if reply.get_message_type() != Gio.DBusMessageType.ERROR:
            return who, "ok", ""
        body = reply.get_body()
        sentence = body.get_child_value(0).get_string() if body and body.n_children() else ""
        return who, reply.get_error_name(), sentence


def contract(path):
    """The methods as (interface, name, [(argument, type)]), and the properties as (interface, name)."""
    methods, properties = [], []
    for interface in ElementTree.parse(path).getroot().iter("interface"):
        for method in interface.iter("method"):
            inputs = [arg for arg in method.iter("arg") if arg.get("direction", "in") == "in"]
            arguments = [(arg.get("name"), arg.get("type")) for arg in inputs]
            methods.append((interface.get("name"), method.get("name"), arguments))
        for entry in interface.iter("property"):
            properties.append((interface.get("name"), entry.get("name")))
    return methods, properties


def reach(caller, path, dialog):
    methods, properties = contract(path)

    def tell(interface, member, body, fds=(), label="call", **more):
        who, error, _ = caller.send(interface, member, body, fds, **more)
        print(who, error, label, f"{interface}.{member}")

    for interface, member, arguments in methods:
        values = tuple(SENSIBLE.get(name, plain(kind)) for name, kind in arguments)
        signature = "".join(kind for _, kind in arguments)
        with open(os.memfd_create("reach"), "w+b", buffering=0) as file:
            fds = [file.fileno()] if "h" in signature else []
            tell(interface, member, GLib.Variant(f"({signature})", values), fds, dialog=dialog)
    for interface, name in properties:
        for member, body in [
            ("Get", GLib.Variant("(ss)", (interface, name))),
            ("Set", GLib.Variant("(ssv)", (interface, name, GLib.Variant("s", "x")))),
        ]:
            who, error, _ = caller.send(PROPERTIES, member, body)
            print(who, error, member.lower(), f"{interface}.{name}")
    for interface in {interface for interface, _ in properties}:
        tell(PROPERTIES, "GetAll", GLib.Variant("(s)", (interface,)), label="standard")
    tell("org.freedesktop.DBus.Introspectable", "Introspect", None, label="standard")
    tell("org.freedesktop.DBus.Peer", "Ping", None, label="standard")
    tell("org.freedesktop.DBus.ObjectManager", "GetManagedObjects", None, label="other")
    tell("org.example.Other", "State", None, label="other")
    tell(None, "Stop", None, label="other")
    for name in [NAME, "org.pandemonium.Other"]:
        own = GLib.Variant("(su)", (name, 2 | 4))
        tell(BUS, "RequestName", own, to=BUS, path="/org/freedesktop/DBus", label="own")


def parts(signature):
    """The complete types that follow each other in a signature."""
    found, depth, start = [], 0, 0
    for end, letter in enumerate(signature, 1):
        depth += (letter in "({") - (letter in ")}")
        if depth == 0 and letter != "a":
            found.append(signature[start:end])
            start = end
    return found


class Fuzzer:
    """Makes arguments."""

    def __init__(self, seed, path):
        self.random = random.Random(seed)
        with open(path, encoding="utf-8") as file:
            # The interface file writes options as: name (type).
            self.options = sorted(set(re.findall(r"([a-z][a-z_-]+) \([a-z]+[):,]", file.read())))
        self.fds = []

    def descriptor(self):
        """One that should not be used, or a good one."""
        reader, writer = os.pipe()
        one, other = socket.socketpair()
        kind = self.random.randrange(9)
        if kind == 0:
            fd = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
        elif kind == 1:
            fd = os.open("/dev/zero", os.O_RDWR)
        elif kind == 2:
            fd = os.open("/dev/full", os.O_WRONLY)
        elif kind == 3:
            fd = os.open("/etc/passwd", os.O_PATH)
        elif kind == 4:
            fd = os.dup(reader)
        elif kind == 5:
            fd = os.dup(writer)
        elif kind == 6:
            fd = os.dup(one.fileno())
        elif kind == 7:
            fd = os.eventfd(0)
        else:
            fd = os.memfd_create("fuzz")
        os.close(reader)
        os.close(writer)
        one.close()
        other.close()
        self.fds.append(fd)
        return len(self.fds) - 1 if self.random.random() < 0.9 else self.random.choice([7, 2**31 - 1])

    def integer(self, kind):
        signed, bits = INTEGERS[kind]
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        edges = [low, high, high // 2, *(edge for edge in EDGES if edge <= high)]
        return self.random.choice(edges)

    def text(self):
        if self.random.random() < 0.7:
            return self.random.choice(STRINGS)
        letters = [chr(self.random.choice([*range(1, 0x250), *range(0x2000, 0x2070)])) for _ in range(20)]
        return "".join(letters)

    def signature(self, depth=0):
        basic = self.random.choice("ybnqiuxtdsogvh")
        if depth > 2 or self.random.random() < 0.6:
            return basic
        inner = self.signature(depth + 1)
        key = self.random.choice("sutoy")
        return self.random.choice([f"a{inner}", f"({basic}{inner})", f"a{{{key}{inner}}}"])

    def variant(self):
        if self.random.random() < 0.15:
            deep = GLib.Variant("s", "deep")
            for _ in range(self.random.choice([2, 20, 55])):
                deep = GLib.Variant("v", deep)
            return deep
        signature = self.random.choice(["b", "u", "s", self.signature()])
        return self.value(signature)

    def value(self, signature):
        """A GLib.Variant of this type."""
        if signature in INTEGERS:
            return GLib.Variant(signature, self.integer(signature))
        if signature == "b":
            return GLib.Variant("b", self.random.random() < 0.5)
        if signature == "d":
            return GLib.Variant("d", self.random.choice([0.0, -1.0, 1e308, float("inf"), float("nan")]))
        if signature == "s":
            return GLib.Variant("s", self.text())
        if signature == "o":
            return GLib.Variant("o", self.random.choice(["/", OBJECT, "/" + "x" * 500]))
        if signature == "g":
            return GLib.Variant("g", self.random.choice(["", "a{sv}", "(" * 20 + "s" + ")" * 20]))
        if signature == "h":
            return GLib.Variant("h", self.descriptor())
        if signature == "v":
            return GLib.Variant("v", self.variant())
        return self.container(signature)

    def container(self, signature):
        builder = GLib.VariantBuilder.new(GLib.VariantType.new(signature))
        if signature[0] == "a":
            element = signature[1:]
            for _ in range(self.random.choice([0, 1, 1, 2, 40])):
                builder.add_value(self.entry(element) if element[0] == "{" else self.value(element))
        else:
            for part in parts(signature[1:-1]):
                builder.add_value(self.value(part))
        return builder.end()

    def entry(self, signature):
        key, value = parts(signature[1:-1])
        is_option = key == "s" and self.random.random() < 0.7
        first = GLib.Variant("s", self.random.choice(self.options)) if is_option else self.value(key)
        return GLib.Variant.new_dict_entry(first, self.value(value))

    def body(self, signature):
        """Arguments of this signature, of another, or too few or too many of them."""
        chance = self.random.random()
        if chance < 0.1:
            signature = self.signature()
        elif chance < 0.15:
            signature += self.signature()
        elif chance < 0.2:
            signature = ""
        return self.container(f"({signature})") if signature else None

    def take_fds(self):
        fds, self.fds = self.fds, []
        return fds


def checked(answer, what, ours=True):
    """The error. The sentences about properties are the library's; only the sender of a name sees it in there."""
    who, error, sentence = answer
    is_plain = len(sentence) <= MAX_SENTENCE and sentence.isprintable()
    if error != CLOSED and (who != "daemon" or ours and not is_plain):
        sys.exit(f"{what}: answered by {who}: {error}: {sentence[:2 * MAX_SENTENCE]!r}")
    return error


def fuzz(caller, path, iterations, seed):
    fuzzer = Fuzzer(seed, path)
    methods, properties = contract(path)
    tally = collections.Counter()

    def count(answer, what, ours):
        tally[checked(answer, what, ours)] += 1

    def one(interface, member, signature):
        body, fds = fuzzer.body(signature), fuzzer.take_fds()
        if len(fds) <= 16:  # The most that the bus takes with one message.
            dialog = fuzzer.random.random() < 0.5
            answer = caller.send(interface, member, body, fds, dialog=dialog)
            count(answer, f"{member}{body.print_(True)[:500] if body else '()'}", True)
        for fd in fds:
            os.close(fd)

    for interface, member, arguments in methods:
        signature = "".join(kind for _, kind in arguments)
        for _ in range(iterations if signature else min(iterations, 20)):
            one(interface, member, signature)
    for interface, name in properties:
        for _ in range(iterations):
            owner = fuzzer.random.choice([interface, "", fuzzer.text()])
            body = GLib.Variant("(ss)", (owner, fuzzer.random.choice([name, fuzzer.text()])))
            count(caller.send(PROPERTIES, "Get", body), f"Get {name}", False)
    if tally[CLOSED] * 20 > tally.total():
        sys.exit(f"the bus let too few through: {tally}")
    print(sorted(tally.items()))


def flood(caller, path):
    for interface, member, arguments in contract(path)[0]:
        signature = "(" + "".join(kind for _, kind in arguments) + ")"
        for at, (name, kind) in enumerate(arguments):
            if kind not in SHAPES:
                if "s" in kind or "ay" in kind:
                    sys.exit(f"{member}: no text in {kind} yet")
                continue
            lengths = [(LONGEST, "daemon"), (TOO_LONG, "bus")] if kind == "s" and at == 0 else [(LONGEST, "daemon")]
            for shape, (length, expected) in itertools.product(SHAPES[kind], lengths):
                values = [GLib.Variant(kind, SENSIBLE.get(other, plain(kind))) for other, kind in arguments]
                values[at] = shape("\x1b" * length)
                with open(os.memfd_create("flood"), "w+b", buffering=0) as file:
                    fds = [file.fileno()] if "h" in signature else []
                    answer = caller.send(interface, member, GLib.Variant.new_tuple(*values), fds)
                told = f"{member} with {length} bytes of {name}"
                checked(answer, told)
                if answer[0] != expected:
                    sys.exit(f"{told}: {answer[:2]}")
                print(f"{interface}.{member} {name}", flush=True)


def brim(caller):
    """Messages of exactly the length that the bus lets through, with a name that the answer repeats."""
    query = GLib.Variant("(s)", (NAME,))
    reply = caller.bus.call_sync(BUS, "/", BUS, "GetNameOwner", query, None, 0, -1, None)
    owner = reply.unpack()[0]
    for member, values in [
        ("Get", lambda text: GLib.Variant("(ss)", (NAME, text))),
        ("GetAll", lambda text: GLib.Variant("(s)", (text,))),
    ]:
        message = Gio.DBusMessage.new_method_call(owner, OBJECT, PROPERTIES, member)
        message.set_body(values("x" * 64))
        beside = len(message.to_blob(Gio.DBusCapabilityFlags.NONE)) - 64
        text = "x" * (MAX_MESSAGE - beside)
        who, error, sentence = caller.send(PROPERTIES, member, values(text), to=owner)
        print(member, error, len(sentence))
        if who != "daemon" or error == "ok":
            sys.exit(f"{member} at the brim: {who} {error} {sentence[:100]}")
    now = caller.bus.call_sync(BUS, "/", BUS, "GetNameOwner", query, None, 0, -1, None)
    if now.unpack()[0] != owner:
        sys.exit("the bus ended the connection of the daemon")


def crowd(address):
    callers, ends = [], []
    for member, body in [
        ("org.pandemonium.Metrics1.Subscribe", GLib.Variant("(u)", (1000,))),
        ("org.pandemonium.Scheduler1.Hold", GLib.Variant("(sss)", ("bpf", "", "game"))),
    ]:
        interface, _, name = member.rpartition(".")
        taken = 0
        while True:
            callers.append(Caller(address, keep=True))
            error = callers[-1].send(interface, name, body)[1]
            if error != "ok":
                break
            taken += 1
        ends += [str(taken), error]
    print(*ends, flush=True)
    sys.stdin.read()


def main():
    address, path, what, *rest = sys.argv[1:]
    caller = Caller(address)
    if what == "reach":
        reach(caller, path, "--dialog" in rest)
    elif what == "crowd":
        crowd(address)
    elif what == "flood":
        flood(caller, path)
        brim(caller)
    else:
        fuzz(caller, path, *map(int, rest))


main()
