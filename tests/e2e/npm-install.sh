#!/bin/sh
# Installs the pinned clients and servers of package-lock.json into
# node_modules, unless they are there.  Nothing of theirs is run.
set -eu

cd "$(dirname "$0")"
if cmp -s package-lock.json node_modules/.doorward-lock; then
	exit 0
fi
exec 9<package-lock.json
flock 9
if cmp -s package-lock.json node_modules/.doorward-lock; then
	exit 0
fi
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
cp package-lock.json node_modules/.doorward-lock
