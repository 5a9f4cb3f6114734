#!/usr/bin/env python3
"""Random one-operator changes of C sources, for tests/mutate.sh.

  places.py pick SEED COUNT FILE...       COUNT changes at random places, a line each: file, line, offset,
                                          length, what is there, what comes there (tabs between)
  places.py apply FILE OFFSET LENGTH NEW  the file with the change, on standard output

No change falls into comments, text, directives (but for macros of several lines), the arguments of what
formats a message or takes memory, or the refusal of a request for memory.  Whether an operator is one of numbers or of
pointers and types is guessed; what does not compile is counted by the caller."""
import random
import re
import sys

TOKEN = re.compile(
    rb"""(?P<comment>/\*.*?\*/|//[^\n]*)
    |(?P<text>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    |(?P<number>(?:0[xX][0-9a-fA-F.]+(?:[pP][+-]?\d+)?|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[a-zA-Z]*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<mark>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[^\s\w])""",
    re.S | re.X)

SWAPS = {b"+": [b"-"], b"-": [b"+"], b"*": [b"/"], b"/": [b"*"], b"%": [b"*"],
         b"+=": [b"-="], b"-=": [b"+="], b"*=": [b"/="], b"/=": [b"*="], b"++": [b"--"], b"--": [b"++"],
         b"<": [b"<=", b">="], b">": [b">=", b"<="], b"<=": [b"<", b">"], b">=": [b">", b"<"],
         b"==": [b"!="], b"!=": [b"=="], b"&&": [b"||"], b"||": [b"&&"],
         b"<<": [b">>"], b">>": [b"<<"], b"&": [b"|"], b"|": [b"&"]}
TYPES = set(b"void char short int long float double unsigned signed bool size_t FILE struct enum union const "
            b"static extern volatile register inline restrict typedef".split())
STATEMENTS = set(b"if else for while do switch case default return break continue goto sizeof".split())
LEFT_OUT = re.compile(rb"^(malloc|calloc|realloc|aligned_alloc|posix_memalign|psr_grow|\w*fail\w*|\w*printf|\w*note\w*|put_message|describe\w*|_Static_assert)$")


def is_type(token, before):
    return (token in TYPES or token.endswith(b"_t") or token.startswith(b"psr_") and before != b"."
            or before in (b"struct", b"enum", b"union"))


class Source:
    """Tokens of a file: (kind, text, offset), without those that are no code."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.bytes = file.read()
        self.tokens = [(m.lastgroup, m.group(), m.start())
                       for m in TOKEN.finditer(self.without_directives())
                       if m.lastgroup != "comment"]
        self.close = self.match_brackets()
        self.left_out = self.find_left_out()

    def without_directives(self):
        """Blanks, but for the later lines of macros."""
        out, directive, macro = [], False, False
        for line in self.bytes.split(b"\n"):
            begins = not directive and line.lstrip().startswith(b"#")
            if begins:
                macro = line.lstrip().startswith(b"#define")
            keep = not begins and (not directive or macro)
            goes_on = line.endswith(b"\\")
            if directive or begins:
                directive = goes_on
            if keep and goes_on:
                line = line[:-1] + b" "
            out.append(line if keep else b" " * len(line))
        return b"\n".join(out)

    def text(self, i):
        return self.tokens[i][1] if 0 <= i < len(self.tokens) else b""

    def match_brackets(self):
        stack, close = [], {}
        for i, (_, text, _) in enumerate(self.tokens):
            if text in (b"(", b"[", b"{"):
                stack.append(i)
            elif text in (b")", b"]", b"}") and stack:
                close[stack.pop()] = i
        return close

    def find_left_out(self):
        """Indices inside calls that make messages or take memory, and of what refuses memory: the statement, and
        the condition before it."""
        out = set()
        for i, (kind, text, _) in enumerate(self.tokens):
            if kind == "name" and LEFT_OUT.match(text) and self.text(i + 1) == b"(":
                out.update(range(i, self.close.get(i + 1, i) + 1))
            if text in (b"psr_fail_nomem", b"PSR_ENOMEM"):
                out.update(range(self.find_condition(i), i + 1))
        return out

    def begin_of_statement(self, i):
        while i > 0 and self.text(i - 1) not in (b";", b"{", b"}"):
            i -= 1
        return i

    def find_condition(self, i):
        """The if before token i: in its statement, or before the block that this is in."""
        begin = self.begin_of_statement(i)
        for j in range(begin, i):
            if self.text(j) == b"if":
                return j
        block = max((o for o, c in self.close.items() if o < i < c and self.text(o) == b"{"), default=0)
        head = self.begin_of_statement(block)
        return head if self.text(head) == b"if" else begin

    def is_binary(self, i):
        """Between two values, as far as can be seen; not of a declaration, a cast or a pointer."""
        kind, before, _ = self.tokens[i - 1]
        if kind == "number" or before == b"]":
            return True
        if kind == "name":
            return before not in STATEMENTS and not is_type(before, self.text(i - 2))
        return before == b")" and not self.is_cast(i - 1)

    def is_cast(self, close):
        begin = next((o for o, c in self.close.items() if c == close), None)
        return (begin is not None and is_type(self.text(begin + 1), b"")
                and self.tokens[begin - 1][0] != "name")

    def begins_statement(self, i):
        before = self.text(i - 1)
        return before in (b";", b"{", b"}", b"else") or before == b")" and self.follows_condition(i)

    def follows_condition(self, i):
        begin = next((o for o, c in self.close.items() if c == i - 1), 0)
        return self.text(begin - 1) in (b"if", b"for", b"while")

    def in_dimension(self, i):
        """A size in a declaration, as of text[80]."""
        if self.text(i - 1) != b"[" or self.text(i + 1) != b"]" or self.text(i + 2) not in (b";", b",", b"="):
            return False
        begin = i
        while begin > 0 and self.text(begin - 1) not in (b";", b"{", b"}", b"("):
            begin -= 1
        return is_type(self.text(begin), b"")

    def places(self):
        """Pairs of a token's index and what may come there: texts, or None for a dropped statement."""
        depth = 0
        for i, (kind, text, _) in enumerate(self.tokens):
            depth += (text == b"{") - (text == b"}")
            if i in self.left_out:
                continue
            if kind == "number" and not self.in_dimension(i):
                yield i, change_number(text)
            elif kind == "mark" and text in (b"++", b"--") or text in SWAPS and i and self.is_binary(i):
                yield i, SWAPS[text]
            elif text == b"!" and depth:
                yield i, [b""]
            if depth and self.is_droppable(i):
                yield i, None

    def is_droppable(self, i):
        kind, text, _ = self.tokens[i]
        if not self.begins_statement(i):
            return False
        if text in (b"break", b"continue"):
            return True
        if kind != "name" and text not in (b"*", b"++", b"--") or text in STATEMENTS:
            return False
        end = self.end_of_statement(i)
        if end is None or kind == "name" and is_type(text, b"") and self.text(i + 1) != b"(":
            return False
        if self.tokens[i + 1][0] == "name" or self.text(i + 1) == b"*" and self.tokens[i + 2][0] == "name":
            return False
        return any(self.text(j) in (b"=", b"(", b"++", b"--") or self.text(j).endswith(b"=")
                   for j in range(i, end))

    def end_of_statement(self, i):
        while i < len(self.tokens) and self.text(i) != b";":
            if self.text(i) in (b"{", b"}") or i in self.left_out:
                return None
            i = self.close.get(i, i) + 1
        return i

    def change(self, i, new):
        """Line, offset, length, what is there and what comes there."""
        _, text, offset = self.tokens[i]
        length = len(text)
        if new is None:
            length = self.tokens[self.end_of_statement(i)][2] - offset
            new = b""
        old = self.bytes[offset:offset + length]
        line = self.bytes.count(b"\n", 0, offset) + 1
        return line, offset, length, re.sub(rb"\s*\\?\s+", b" ", old), new


def change_number(text):
    m = re.match(rb"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)$", text)
    if m:
        value = int(m.group(1), 16 if m.group(1)[:2] in (b"0x", b"0X") else
                    8 if len(m.group(1)) > 1 and m.group(1)[:1] == b"0" else 10)
        return [b"%d" % v + m.group(2) for v in (value - 1, value + 1) if v >= 0]
    m = re.match(rb"(.*?)([fFlL]?)$", text)
    try:
        value = float.fromhex(m.group(1).decode()) if text[:2] in (b"0x", b"0X") else float(m.group(1))
    except ValueError:
        return [text + b" + 1"]
    if text[:2] in (b"0x", b"0X"):
        m = re.match(rb"(.*)()$", text)
    changed = (1.0,) if value == 0 else (value * 0.9, value * 1.1)
    return [repr(v).encode() + m.group(2) for v in changed]


def pick(seed, count, paths):
    places = []
    for path in paths:
        source = Source(path)
        places += [(source, i, news) for i, news in source.places()]
    rng = random.Random(seed)
    print("# %d places, seed %d" % (len(places), seed))
    for source, i, news in rng.sample(places, min(count, len(places))):
        line, offset, length, old, new = source.change(i, rng.choice(news) if news else None)
        print("\t".join([source.path, str(line), str(offset), str(length), old.decode(), new.decode()]))


def apply(path, offset, length, new):
    with open(path, "rb") as file:
        text = file.read()
    sys.stdout.buffer.write(text[:offset] + new.encode() + text[offset + length:])


def main(argv):
    if len(argv) > 4 and argv[1] == "pick":
        pick(int(argv[2]), int(argv[3]), argv[4:])
    elif len(argv) == 6 and argv[1] == "apply":
        apply(argv[2], int(argv[3]), int(argv[4]), argv[5])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv)
