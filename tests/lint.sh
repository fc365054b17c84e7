#!/bin/sh
# Everything that can be said of the source without running it.  Each check
# is one test; the last line counts them.
#
#	CC, CPPFLAGS	as in the Makefile
set -u
cd "$(dirname "$0")/.." || exit 1

passed=0
failed=0
out=$(mktemp "${TMPDIR:-/tmp}/doorward-lint.XXXXXX")
trap 'rm -f "$out"' EXIT

# check NAME COMMAND...: passes if the command does and prints nothing
check() {
	name=$1
	shift
	if "$@" >"$out" 2>&1 && [ ! -s "$out" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL $name"
		head -n 40 "$out"
	fi
}

sources=$(git ls-files -- '*.c' '*.h' | xargs ls 2>/dev/null)
product=$(git ls-files -- 'supervisor/*.c' 'relay/*.c' 'policy/*.c' \
    'approver/*.c')
defs="-D_GNU_SOURCE -DDW_VERSION=\"0\" -DDW_SUFFIX=\"\" -DDW_BINDIR=\"/b\"
-DDW_LIBEXECDIR=\"/l\" -DDW_DATADIR=\"/d\""
includes="-Isupervisor -Ipolicy"
warnings="-std=c11 -Wall -Wextra -Werror -Wshadow -Wvla -Wformat=2
-Wswitch-enum -Wimplicit-fallthrough -Wmissing-prototypes
-Wstrict-prototypes -Wwrite-strings -Wundef"

# none PATTERN FILES...: nothing matches
none() {
	pattern=$1
	shift
	! grep -nE "$pattern" "$@"
}

# Trust sides: who may include whom.
not_supervisor() {
	for f in "$1"/*.[ch]; do
		grep -oE '^#include "[^"]+"' "$f" | sed 's/.*"\(.*\)"/\1/' |
		while read -r h; do
			case $h in
			proto/*) ;;
			*) [ -e "$1/$h" ] || [ -e "policy/$h" ] ||
				echo "$f includes $h" ;;
			esac
		done
	done
}
# A JSON parser is called on foreign bytes nowhere but in relay/, which has
# its own: so nobody calls cJSON's.
no_parser() {
	! grep -nE 'cJSON_Parse|cJSON_ParseWith' supervisor/*.c \
	    supervisor/proto/*.c policy/*.c relay/*.c
}
# libyaml is policy's loader's; seccomp and fork are where they belong.
yaml_in_loader() {
	! grep -lE '<yaml\.h>' supervisor/*.[ch] relay/*.[ch] \
	    supervisor/proto/*.[ch]
}
# on_* handlers are the monitor's, mon_* stubs the relay's.
names_of_sides() {
	! grep -nE '^on_[a-z_]+\(' relay/*.c policy/*.c &&
	    ! grep -nE '^mon_[a-z_]+\(' supervisor/*.c policy/*.c
}
size_of_files() {
	wc -l $sources | awk '$2 != "total" && $1 > 700'
}
size_of_functions() {
	ctags --c-kinds=f --fields=ne --sort=no -x \
	    --_xformat='%n %{end} %F %N' $product |
	    awk '$2 - $1 > 70 { print $3 ": " $4 " has " $2 - $1 " lines" }'
}
every_file_opens_with_why() {
	for f in $sources; do
		head -c 2 "$f" | grep -q '^/\*' ||
			echo "$f: no paragraph at its top"
	done
}
gcc_analyzer() {
	for f in $product; do
		gcc $defs $includes $warnings -O1 -fanalyzer -c "$f" \
		    -o /dev/null || return 1
	done
}
clang_compiles() {
	for f in $product; do
		clang $defs $includes $warnings -fsyntax-only "$f" || return 1
	done
}
tidy() {
	clang-tidy --quiet $product -- $defs $includes -std=c11 2>/dev/null
}
man_pages() {
	for f in man/*.[157]; do
		mandoc -Tlint -Wwarning "$f"
	done
}

check "clang-format" clang-format --dry-run -Werror $sources
check "relay includes only proto and its own" not_supervisor relay
check "policy includes only proto and its own" not_supervisor policy
check "no JSON parser in the monitor" no_parser
check "libyaml only in the loader" yaml_in_loader
check "names tell the trust side" names_of_sides
check "no file over 700 lines" size_of_files
check "no function over 70 lines" size_of_functions
check "every file opens with a paragraph" every_file_opens_with_why
check "nothing left open in the source" none '\b(TODO|FIXME|XXX|HACK)\b' $sources
check "manual pages" man_pages
check "clang, all warnings" clang_compiles
check "gcc -fanalyzer" gcc_analyzer
check "cppcheck" cppcheck --quiet --error-exitcode=1 --std=c11 \
    --enable=warning,performance,portability --inline-suppr \
    --suppressions-list=tests/cppcheck.txt $defs $includes $product
check "clang-tidy" tidy

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
