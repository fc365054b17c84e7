#!/bin/sh
# Measures a bare server, the same behind a pipe that does nothing, behind
# Doorward, and behind Doorward with small and large policies, interleaved in
# one run, and prints one table.
#
#	BUILD		where the programs are (default build)
#	BENCH_ROUNDS	rounds (default 5)
#	BENCH_WRAP	another command to stand in Doorward's place; the
#			server's command is appended to it
#	BENCH_SCALE	per cent of the usual number of calls (default 100)
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$root/$BUILD ;; esac
rounds=${BENCH_ROUNDS:-5}
scale=${BENCH_SCALE:-100}

tmp=$(mktemp -d "${TMPDIR:-/tmp}/doorward-bench.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
printf 'version: 1\n' >"$tmp/policy.yaml"

# One entry or rule that speaks of the tool, alone and behind 9,999 others.
# Two files hold the rules, since one has at most 65,536 keys and values.
entry='  echo: {max_calls: 1000000000, arg_patterns: {text: "a+"}}'
rule='  - {id: own, tool: echo, action: allow}'
printf 'version: 1\ntools:\n%s\n' "$entry" >"$tmp/entry.yaml"
printf 'version: 1\nrules:\n%s\n' "$rule" >"$tmp/rule.yaml"
awk -v entry="$entry" -v rule="$rule" -v dir="$tmp" 'BEGIN {
	entries = dir "/entries.yaml"
	print "version: 1\ntools:" >entries
	for (i = 1; i < 10000; i++)
		print "  other_" i ": {max_calls: 5}" >entries
	print entry >entries
	for (half = 1; half <= 2; half++) {
		rules = dir "/rules" half ".yaml"
		print "version: 1\nrules:" >rules
		for (i = 1; i < 5000; i++)
			print "  - {id: r" i ", tool: other_" half "_" i \
			    ", action: block}" >rules
	}
	print "  - {id: r5000, tool: other_2_5000, action: block}" >rules
	print rule >(dir "/rules1.yaml")
}'

bench=$BUILD/test/bench
echo=$BUILD/test/echo
doorward="$BUILD/doorward${SUFFIX:-} run --state $tmp/state"
counts="-w $((10 * scale)) -s $((80 * scale)) -f $((400 * scale))"

# one NAME ROUND COMMAND...: a round's lines go to NAME.ROUND
one() {
	name=$1 round=$2
	shift 2
	idle=0 big=5 stay=
	case $name in
	bare) ;;
	pass | wrapped) [ "$round" -ne 1 ] || idle=3 ;;
	# On one processor, where a difference is not lost in waking others.
	*) big=0 stay=-p ;;
	esac
	"$bench" $counts $stay -b $big -i $idle "$@" "$echo" >"$tmp/$name.$round" \
	    2>"$tmp/$name.$round.err" || {
		echo "bench: $name failed in round $round:" >&2
		tail -n 20 "$tmp/$name.$round.err" >&2
		echo failed >>"$tmp/$name.failed"
	}
	# Some 50 MB a time.
	rm -f "$tmp/state/audit.jsonl"
}

# What the machine did meanwhile, and how much of it was ours.
{ cat /proc/uptime; head -n 1 /proc/stat; } >"$tmp/before"
round=1
while [ "$round" -le "$rounds" ]; do
	one bare "$round"
	one pass "$round" "$BUILD/test/pass"
	if [ -n "${BENCH_WRAP:-}" ]; then
		one wrapped "$round" $BENCH_WRAP
	else
		one wrapped "$round" $doorward --policy "$tmp/policy.yaml" --
		one entry "$round" $doorward --policy "$tmp/entry.yaml" --
		one entries "$round" $doorward --policy "$tmp/entries.yaml" --
		one rule "$round" $doorward --policy "$tmp/rule.yaml" --
		one rules "$round" $doorward --policy "$tmp/rules1.yaml" \
		    --policy "$tmp/rules2.yaml" --
	fi
	round=$((round + 1))
done
{ cat /proc/uptime; head -n 1 /proc/stat; } >"$tmp/after"
times >"$tmp/times"
python3 "$here/table.py" "$tmp" "$rounds" "${BENCH_WRAP:-doorward}" |
    tee "$tmp/table"

# What is missed is explained: which system calls the monitor spends a call
# on, and where the processors were meanwhile, as far as the tools are there.
if grep -q '^MISSED' "$tmp/table" && [ -z "${BENCH_WRAP:-}" ]; then
	if command -v perf >/dev/null 2>&1; then
		echo
		echo "profile (share of all processors, by program and function):"
		perf record -q -a -e cpu-clock -F 4000 -o "$tmp/perf" -- \
		    "$bench" $counts -b 5 -i 0 "$BUILD/doorward${SUFFIX:-}" run \
		    --state "$tmp/state" --policy "$tmp/policy.yaml" -- \
		    "$echo" >/dev/null 2>&1
		perf report -i "$tmp/perf" --sort comm,symbol 2>/dev/null |
		    grep '%' | head -n 25
	else
		echo "no profile: perf is not installed"
	fi
fi
