"""Frames, trees and orders as bytes: what a fallen relay would write.

Written from design.md section 3 and supervisor/proto/{frames,tree}.h, not from
the encoder that the relay uses.  Everything can be made wrong on purpose.
"""
import json
import struct

NONE, HELLO, NOTE, EOI, TREE_PART, TREE_END, REFUSE, ENVELOPE, LINE_PART, \
    RESULT_PART, RESULT_END = range(11)
NAMES = ["NONE", "HELLO", "NOTE", "EOI", "TREE_PART", "TREE_END", "REFUSE", "ENVELOPE",
         "LINE_PART", "RESULT_PART", "RESULT_END"]
TYPE_MAX = 11

PROTOCOL = 1
HEADER = 16
KIB, MIB = 1024, 1024 * 1024
BODY_MAX = MIB
PART = 256 * KIB
MESSAGE_MAX = 64 * MIB
NODES_MAX = 1000000
TREE_MAX = MESSAGE_MAX + 8 * NODES_MAX
ID_MAX = METHOD_MAX = 1024
NOTE_MAX, SAMPLE_MAX, VERSION_MAX = 512, 80, 32
DEPTH_MAX = 128

SECCOMP, NO_NEW_PRIVS = 1, 2
LAYERS = (1 << 11) - 1

KIND_REQUEST, KIND_NOTIFICATION, KIND_RESULT, KIND_ERROR = 1, 2, 3, 4
IS_ERROR, TASK, INPUT, RESULT, UNREADABLE = 1, 2, 4, 8, 16

# Reasons of a REFUSE in their order; the last four are the monitor's own.
REASONS = ["none", "not_json", "invalid_utf8", "incomplete_line", "message_too_long",
           "too_deep", "too_many_values", "lone_surrogate", "nul_in_string",
           "duplicate_key", "key_variant", "batch", "not_an_object", "no_jsonrpc",
           "id_null", "id_type", "id_too_long", "method_type", "method_too_long",
           "params_type", "not_a_message", "mixed_message", "call_without_id",
           "too_many_tools", "id_in_flight", "too_many_in_flight", "call_params",
           "tool_name_too_long"]
MONITORS = ("id_in_flight", "too_many_in_flight", "call_params", "tool_name_too_long")


def header(length, kind, call=0, reserved=0):
    return struct.pack("<IHHQ", length & 0xffffffff, kind & 0xffff, reserved & 0xffff,
                       call & (2 ** 64 - 1))


def frame(kind, call=0, body=b"", reserved=0, length=None):
    return header(len(body) if length is None else length, kind, call, reserved) + body


def hello(layers=LAYERS, protocol=PROTOCOL, abi=6):
    return frame(HELLO, 0, struct.pack("<HHI", protocol, abi, layers))


def note(text=b"a note"):
    return frame(NOTE, 0, text)


def eoi():
    return frame(EOI)


class Num(str):
    """A number by its literal text, right or wrong."""


def scalar(value):
    """An id or token: None, a number (int or Num), or a string."""
    if value is None:
        kind, text = 0, b""
    elif isinstance(value, (int, Num)):
        kind, text = 1, str(value).encode()
    else:
        kind, text = 2, value if isinstance(value, bytes) else value.encode()
    return struct.pack("<BH", kind, len(text)) + text


def refuse_body(reason, ident=None, offset=0, sample=b""):
    number = REASONS.index(reason) if isinstance(reason, str) else reason
    return struct.pack("<HQ", number, offset) + scalar(ident) + \
        struct.pack("<H", len(sample)) + sample


def refuse(call, reason, ident=None, offset=0, sample=b""):
    return frame(REFUSE, call, refuse_body(reason, ident, offset, sample))


def envelope_body(kind, line_len, ident=None, method=b"", token=None, version=b"", flags=0):
    return struct.pack("<BBI", kind, flags, line_len) + scalar(ident) + scalar(token) + \
        struct.pack("<H", len(method)) + method + struct.pack("<H", len(version)) + version


def envelope(call, kind, line_len, ident=None, method=b"", token=None, version=b"", flags=0):
    return frame(ENVELOPE, call,
                 envelope_body(kind, line_len, ident, method, token, version, flags))


def line_parts(call, line, step=PART):
    return b"".join(frame(LINE_PART, call, line[i:i + step])
                    for i in range(0, len(line), step))


def said(call, kind, line, ident=None, method=b"", **more):
    """A whole message of the server: ENVELOPE and line."""
    return envelope(call, kind, len(line), ident, method, **more) + line_parts(call, line)


# ---- trees ----

def text(tag, data):
    data = data if isinstance(data, bytes) else data.encode()
    return tag + struct.pack("<I", len(data)) + data


def tree(value):
    """A Python value as a tree; a list of pairs in a Pairs is an object whose
    keys may repeat."""
    if value is None:
        return b"n"
    if value is True or value is False:
        return b"t" if value else b"f"
    if isinstance(value, Raw):
        return bytes(value)
    if isinstance(value, (int, Num, float)):
        return text(b"0", str(value))
    if isinstance(value, (str, bytes)):
        return text(b'"', value)
    if isinstance(value, (Pairs, dict)):
        pairs = value.items() if isinstance(value, dict) else value
        return b"{" + b"".join(text(b":", k) + tree(v) for k, v in pairs) + b"."
    if isinstance(value, list):
        return b"[" + b"".join(map(tree, value)) + b"."
    raise TypeError(type(value))


class Pairs(list):
    pass


class Raw(bytes):
    """Tree bytes put in as they are."""


def tree_frames(call, data, part=TREE_PART, end=TREE_END, step=PART):
    out = []
    while len(data) > step:
        out.append(frame(part, call, data[:step]))
        data = data[step:]
    return b"".join(out) + frame(end, call, data)


def message(call, value):
    """A whole message of the client."""
    return tree_frames(call, tree(value))


def tools_frames(call, value):
    return tree_frames(call, tree(value), RESULT_PART, RESULT_END)


# ---- orders of evil.c ----

# What evil.c writes another id in the place of, once it has seen one.
OWN_ID = "doorward-" + "0" * 32


def order(letter, n=0, data=b""):
    return letter.encode() + struct.pack("<II", n, len(data)) + data


def write(data):
    return order("W", 0, data)


def listed(call, result, ident=OWN_ID, line=None, **more):
    """An answer with a tree: as an honest relay reports it, unless told otherwise."""
    value = {"jsonrpc": "2.0", "id": ident, "result": result}
    if line is None:
        line = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    more.setdefault("flags", RESULT)
    return tools_frames(call, value) + said(call, KIND_RESULT, line, ident, **more)
