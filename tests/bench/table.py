#!/usr/bin/env python3
"""Prints the bench's tables: medians over the rounds, ratios, targets.

table.py DIR ROUNDS NAME: DIR has NAME.ROUND files of bench.c's lines.
Exit 0 whether or not a target was met, as machines differ; 1 if a
measurement is missing.
"""

import os
import re
import statistics
import sys


PLAIN = ("bare", "pass", "wrapped")
POLICIES = (("entry", "entries"), ("rule", "rules"))    # one, 10,000


def read(directory, rounds):
    """{what: {value name: [one a round]}}; without the policies where another
    command stands in Doorward's place."""
    found = {}
    kinds = PLAIN + tuple(w for pair in POLICIES for w in pair)
    if not os.path.exists(os.path.join(directory, "entry.1")):
        kinds = PLAIN
    for what in kinds:
        values = found[what] = {}
        for n in range(1, rounds + 1):
            with open(os.path.join(directory, f"{what}.{n}")) as f:
                for line in f:
                    name, value = line.split()
                    values.setdefault(name, []).append(float(value))
    return found


def busy(line):
    """Seconds that all processors were not idle, off /proc/stat's first line."""
    user, nice, system, _idle, _iowait, irq, softirq = map(int, line.split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def others(directory):
    """Share of the processors' time that went to anything but the bench."""
    with open(os.path.join(directory, "before")) as f:
        start, stat = float(f.readline().split()[0]), f.readline()
    with open(os.path.join(directory, "after")) as f:
        end, stat2 = float(f.readline().split()[0]), f.readline()
    with open(os.path.join(directory, "times")) as f:
        own = sum(float(m) * 60 + float(s) for m, s in
                  re.findall(r"(\d+)m([\d.]+)s", f.read()))
    return max(0.0, busy(stat2) - busy(stat) - own) / (end - start) / os.cpu_count()


ROWS = (
    ("p50_us", "one call after another, p50, us", "{:,.1f}"),
    ("p99_us", "one call after another, p99, us", "{:,.1f}"),
    ("calls_per_s", "calls a second, 64 in flight", "{:,.0f}"),
    ("big_ms", "10 MiB result, ms", "{:,.1f}"),
    ("first_ms", "start to first answer, ms", "{:,.1f}"),
    ("pss_kib", "PSS when idle, KiB", "{:,.0f}"),
    ("idle_ticks", "CPU ticks in 3 s idle", "{:,.0f}"),
    ("idle_processes", "processes", "{:,.0f}"),
)


def table(median, name):
    print(f"{'':34}{'bare':>12}{'pipe':>12}{name:>12}{'/ bare':>9}{'/ pipe':>9}")
    for key, title, form in ROWS:
        cells = [median[w].get(key) for w in ("bare", "pass", "wrapped")]
        line = f"{title:34}"
        for value in cells:
            line += f"{form.format(value) if value is not None else '-':>12}"
        for base in cells[:2]:
            ok = base and cells[2] is not None and not key.startswith("idle")
            line += f"{cells[2] / base if ok else 0:>8.2f}x" if ok else f"{'-':>9}"
        print(line)


def policies(median):
    """What a large policy costs a call, all on one processor; globs are not
    in it, which are tried one after another."""
    print(f"\n{'policies, on one processor':34}" + "".join(
        f"{'1 ' + one:>12}{'10,000':>12}{'/ 1':>9}" for one, _ in POLICIES))
    for key, title, form in ROWS:
        if key not in ("p50_us", "p99_us", "calls_per_s", "first_ms"):
            continue
        line = f"{title:34}"
        for pair in POLICIES:
            a, b = (median[w][key] for w in pair)
            line += f"{form.format(a):>12}{form.format(b):>12}{b / a:>8.2f}x"
        print(line)


def large(median):
    """Yields the targets of large policies."""
    for one, many in POLICIES:
        slower = median[many]["p50_us"] / median[one]["p50_us"]
        fewer = median[one]["calls_per_s"] / median[many]["calls_per_s"]
        yield (f"a call with 10,000 {many} at most 1.5 times one with 1",
               slower <= 1.5 and fewer <= 1.5,
               f"p50 {slower:.2f}x, 64 in flight {fewer:.2f}x")


def targets(median, found):
    """Yields (text, met or None if it could not be measured, seen)."""
    bare, pipe, own = (median[w] for w in ("bare", "pass", "wrapped"))

    # Bare, client and server share a processor or do not, by luck, and a
    # wake-up costs twenty times as much if not: what is added counts from
    # the better of the two.
    floor = min(found["bare"]["p50_us"])
    added_pipe = pipe["p50_us"] - floor
    added = own["p50_us"] - floor
    yield ("added p50 at most 3 times the pipe's",
           added <= 3 * added_pipe if added_pipe > 0 else None,
           f"{added:.1f} us against {added_pipe:.1f} us"
           + (f", {added / added_pipe:.2f}x" if added_pipe > 0 else ""))
    yield ("40,000 calls a second with 64 in flight",
           own["calls_per_s"] >= 40000, f"{own['calls_per_s']:,.0f}")
    yield ("10 MiB at most 4 times the pipe",
           own["big_ms"] <= 4 * pipe["big_ms"],
           f"{own['big_ms'] / pipe['big_ms']:.2f}x")
    later = own["first_ms"] - bare["first_ms"]
    yield ("at most 20 ms more to the first answer", later <= 20,
           f"{later:.1f} ms")
    pss = own.get("pss_kib")
    yield ("at most 8 MiB PSS together when idle",
           None if pss is None else pss <= 8192,
           "unreadable: run as root" if pss is None else f"{pss / 1024:.2f} MiB")
    ticks = own.get("idle_ticks")
    yield ("no CPU when idle", None if ticks is None else ticks == 0,
           f"{ticks:.0f} ticks in 3 s")


def spread(found):
    """How far the rounds lie apart, so that nobody reads noise as news."""
    print("\nlowest and highest round:")
    for key, title, form in ROWS[:5]:
        line = f"{title:34}"
        for what in PLAIN:
            v = found[what][key]
            line += f"{form.format(min(v)) + '..' + form.format(max(v)):>22}"
        print(line)


def main():
    directory, rounds, name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    failed = [f for f in os.listdir(directory) if f.endswith(".failed")]
    if failed:
        sys.exit("bench: incomplete, no table")
    found = read(directory, rounds)
    median = {w: {k: statistics.median(v) for k, v in values.items()}
              for w, values in found.items()}
    print(f"C echo server, 200-byte arguments; medians of {rounds} rounds, "
          f"{os.cpu_count()} processors")
    foreign = others(directory)
    print(f"other programs used {foreign:.0%} of the processors meanwhile"
          + (": not a quiet machine, and wake-ups differ on a busy one"
             if foreign > 0.05 else ""))
    table(median, name.split()[0].rsplit("/", 1)[-1][:11])
    spread(found)
    wanted = list(targets(median, found))
    if "entry" in median:
        policies(median)
        wanted += large(median)
    print()
    missed = 0
    for text, met, seen in wanted:
        word = "not measured" if met is None else "met" if met else "MISSED"
        missed += met is False
        print(f"{word:13} {text}: {seen}")
    print(f"\n{missed} of {len(wanted)} targets missed" if missed else "\nno target missed")


main()
