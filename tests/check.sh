#!/bin/sh
# All tests, each kind in turn; ends with one plain line over all of them.
#
#	BUILD, SUFFIX	which build (a sanitizer build: build-san, -san)
#	FUZZ_SECONDS	for each fuzz target
#	--long		also what takes longer than a quarter of an hour
set -u
cd "$(dirname "$0")/.." || exit 1

BUILD=${BUILD:-build}
SUFFIX=${SUFFIX:-}
FUZZ_SECONDS=${FUZZ_SECONDS:-5}
long=""
[ "${1:-}" = --long ] && long="--long"
export BUILD SUFFIX FUZZ_SECONDS
logs=$BUILD/check
mkdir -p "$logs"
total_passed=0
total_failed=0

# add NAME STATUS LOG: counts what a suite said of itself; a suite that died
# without saying, or that counted no test at all, is a failure.
add() {
	line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$3" | tail -n 1)
	p=$(echo "$line" | sed -n 's/^\([0-9]*\) passed.*/\1/p')
	f=$(echo "$line" | sed -n 's/.* \([0-9]*\) failed.*/\1/p')
	p=${p:-0}
	f=${f:-0}
	if [ "$2" -ne 0 ] && [ "$f" -eq 0 ] || [ $((p + f)) -eq 0 ]; then
		f=$((f + 1))
	fi
	total_passed=$((total_passed + p))
	total_failed=$((total_failed + f))
	printf '%-8s %5d passed, %d failed  (%d s)\n' "$1" "$p" "$f" "$4"
	[ "$f" -eq 0 ] || tail -n 60 "$3"
}

# suite NAME COMMAND...
suite() {
	name=$1
	shift
	log=$logs/$name.log
	begun=$(date +%s)
	"$@" >"$log" 2>&1 </dev/null
	status=$?
	add "$name" "$status" "$log" $(($(date +%s) - begun))
}

# cmocka prints "[  PASSED  ] N test(s)." and "[  FAILED  ] N test(s)".
unit() {
	passed=0
	failed=0
	for t in "$BUILD"/unit/test_*; do
		[ -x "$t" ] || continue
		case $t in *.d | *.o) continue ;; esac
		"$t" >"$logs/one" 2>&1
		status=$?
		cat "$logs/one"
		p=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' \
		    "$logs/one" | tail -n 1)
		f=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test.*/\1/p' \
		    "$logs/one" | head -n 1)
		[ "$status" -eq 0 ] || [ "${f:-0}" -gt 0 ] || f=1
		passed=$((passed + ${p:-0}))
		failed=$((failed + ${f:-0}))
	done
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ]
}

sanitize=""
[ -z "$SUFFIX" ] || sanitize="SANITIZE=1"
echo "building ($BUILD)"
if ! make --no-print-directory -j2 BUILD="$BUILD" $sanitize \
    test-programs fuzzers >"$logs/build.log" 2>&1; then
	tail -n 40 "$logs/build.log"
	echo "0 passed, 1 failed"
	exit 1
fi

[ -n "$SUFFIX" ] || suite lint tests/lint.sh
suite unit unit
suite e2e python3 tests/e2e/run.py $long
suite fuzz tests/fuzz/run.sh

echo "$total_passed passed, $total_failed failed"
[ "$total_failed" -eq 0 ]
