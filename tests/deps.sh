#!/bin/sh
# Installs by apt what is missing, as root or with sudo; otherwise prints the
# line to run and stops.
#
#	deps.sh build	what it takes to build (and so for the demonstration)
#	deps.sh [test]	and to test: compilers, linters, node
set -eu

packages="gcc make libc6-dev libseccomp-dev libcjson-dev libyaml-dev
libcap-dev libsodium-dev libpcre2-dev"
case ${1:-test} in
build) ;;
test)
	packages="$packages libcmocka-dev libcap2-bin clang clang-tidy
clang-format libclang-rt-dev cppcheck valgrind universal-ctags mandoc python3
git"
	command -v npm >/dev/null 2>&1 || packages="$packages npm"
	;;
*)
	echo "usage: deps.sh [build | test]" >&2
	exit 2
	;;
esac

missing=""
for p in $packages; do
	dpkg-query -W -f='${db:Status-Status}\n' "$p" 2>/dev/null |
	    grep -qx installed || missing="$missing $p"
done
[ -n "$missing" ] || exit 0

run=""
if [ "$(id -u)" -ne 0 ]; then
	if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
		run="sudo"
	else
		echo "doorward: needed, please run:" >&2
		echo "  sudo apt-get install -y$missing" >&2
		exit 1
	fi
fi
echo "installing:$missing"
$run apt-get update -qq
DEBIAN_FRONTEND=noninteractive $run apt-get install -y -qq $missing >/dev/null
