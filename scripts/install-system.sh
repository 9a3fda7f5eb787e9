#!/bin/sh
# Installs what Retinue can use of the system: bubblewrap, for the sandbox of commands. Nothing needs it: without it
# `npm test` skips the tests of the sandbox and says so. Only where there are apt and root; elsewhere it says what to do.
set -eu

if command -v bwrap >/dev/null 2>&1 && command -v nsenter >/dev/null 2>&1; then
  echo "bubblewrap and nsenter are there."
  exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
  echo "There is no apt here. Install bubblewrap and util-linux with this system's own tool." >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "This needs root: sudo $0" >&2
  exit 1
fi
apt-get update -q
apt-get install -q -y --no-install-recommends bubblewrap util-linux
