#!/usr/bin/env python3
"""A server that lists what a file of tests/data/tools lists, or misbehaves.

usage: listing.py FILE [--page N] [--do WHAT]... [PACKAGE]

PACKAGE does nothing; it stands where a real command has its package's name.
WHAT is one of

  noise        lines that are no messages, before and between the answers
  ask          ask the client for a ping, its roots and a sample first
  same-cursor  the same cursor for ever
  no-end       ever new cursors
  silent       no answer to tools/list
  refuse       an error to initialize
  die          exit before the answer to tools/list
  not-json     half an answer
  twice        the first tool comes again at the end
  null-byte    one more tool, with a NUL in its description
  many         more tools than there may be
  nameless     a tool without a name
  stay         ignore the end of input and SIGTERM, and leave a child behind
"""
import argparse
import json
import signal
import subprocess
import sys


def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(ident, result):
    send({"jsonrpc": "2.0", "id": ident, "result": result})


class Server:
    def __init__(self, args):
        with open(args.file, encoding="utf-8") as f:
            self.data = json.load(f)
        self.tools = self.data["tools"]
        self.page = args.page or len(self.tools)
        self.do = set(args.do)
        self.pages = 0
        if "twice" in self.do:
            self.tools = self.tools + self.tools[:1]
        if "null-byte" in self.do:
            self.tools = self.tools + [{"name": "odd", "description": "a\0b",
                                        "inputSchema": {"type": "object"}}]
        if "nameless" in self.do:
            self.tools = self.tools + [{"inputSchema": {"type": "object"}}]
        if "many" in self.do:
            self.tools = [{"name": "t%d" % i, "inputSchema": {"type": "object"}}
                          for i in range(10001)]
            self.page = 1000

    def list(self, ident, cursor):
        if "die" in self.do:
            sys.exit(3)
        if "silent" in self.do:
            return
        if "not-json" in self.do:
            sys.stdout.write('{"jsonrpc": "2.0", "id": %s, "result": {]\n' % ident)
            sys.stdout.flush()
            return
        at = 0 if cursor is None else int(cursor.split()[-1])
        result = {"tools": self.tools[at:at + self.page]}
        at += self.page
        if at < len(self.tools):
            result["nextCursor"] = "from \u201c %d" % at
        if self.do & {"same-cursor", "no-end"}:
            self.pages += 1
            n = 0 if "same-cursor" in self.do else len(self.tools) + self.pages
            result = {"tools": [], "nextCursor": "from %d" % n}
        answer(ident, result)

    def take(self, message):
        method, ident = message.get("method"), message.get("id")
        if "noise" in self.do:
            print("listening on nothing\n[1, 2]\n{\"id\": \"x\"}", flush=True)
        if method == "initialize":
            if "refuse" in self.do:
                send({"jsonrpc": "2.0", "id": ident, "error":
                      {"code": -32602, "message": "not in this \x1b[2Jversion"}})
                return
            answer(ident, self.data["initialize"])
        elif method == "tools/list":
            self.list(ident, message["params"].get("cursor"))
        elif method == "notifications/initialized" and "ask" in self.do:
            self.ask()
        elif method is not None and ident is not None:
            send({"jsonrpc": "2.0", "id": ident,
                  "error": {"code": -32601, "message": "no such method"}})

    def ask(self):
        """Lists nothing unless the client answers as it should."""
        for i, method in enumerate(("ping", "roots/list", "sampling/createMessage")):
            send({"jsonrpc": "2.0", "id": "ask %d" % i, "method": method, "params": {}})
        got = {}
        waiting = []
        while len(got) < 3:
            message = json.loads(sys.stdin.readline())
            if "method" in message:
                waiting.append(message)
            else:
                got[message["id"]] = message
        if got["ask 0"].get("result") != {} or \
                got["ask 1"].get("result") != {"roots": []} or "error" not in got["ask 2"]:
            sys.exit(4)
        for message in waiting:
            self.take(message)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--page", type=int)
    parser.add_argument("--do", action="append", default=[])
    parser.add_argument("package", nargs="?")
    args = parser.parse_args()
    server = Server(args)
    if "stay" in server.do:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen(["sleep", "1000"], start_new_session=True,
                         stdin=subprocess.DEVNULL)
    for line in sys.stdin:
        server.take(json.loads(line))
    while "stay" in server.do:
        signal.pause()


if __name__ == "__main__":
    main()
