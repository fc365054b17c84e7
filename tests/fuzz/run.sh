#!/bin/sh
# Runs each fuzz target on its seeds for FUZZ_SECONDS; what it finds stays in
# BUILD/fuzz/NAME.found.
set -u
cd "$(dirname "$0")/../.." || exit 1

BUILD=${BUILD:-build}
seconds=${FUZZ_SECONDS:-5}
passed=0
failed=0
for t in tests/fuzz/fuzz_*.c; do
	name=$(basename "$t" .c)
	corpus=$BUILD/fuzz/$name.corpus
	found=$BUILD/fuzz/$name.found
	mkdir -p "$corpus" "$found"
	if "$BUILD/fuzz/$name" -max_total_time="$seconds" -timeout=10 \
	    -rss_limit_mb=2048 -artifact_prefix="$found/" -print_final_stats=1 \
	    "$corpus" "tests/fuzz/seeds/$name" >"$found/log" 2>&1; then
		passed=$((passed + 1))
		grep -E 'number_of_executed_units' "$found/log" |
		    sed "s/^stat::/$name: /"
	else
		failed=$((failed + 1))
		echo "FAIL $name"
		tail -n 30 "$found/log"
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
