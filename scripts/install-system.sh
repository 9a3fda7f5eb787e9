#!/bin/sh
# Installs the optional system programs: bubblewrap and nsenter, for the command sandbox, and pdftotext, with which Read
# shows PDF documents. Without them, `npm test` skips their tests and reports that. This script needs apt and root;
# without them, it prints what to do instead.
set -eu

if command -v bwrap >/dev/null 2>&1 && command -v nsenter >/dev/null 2>&1 && command -v pdftotext >/dev/null 2>&1; then
  echo "bubblewrap, nsenter and pdftotext are already installed."
  exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
  echo "apt-get is missing. Install bubblewrap, util-linux and poppler-utils with this system's package manager." >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "This needs root: sudo $0" >&2
  exit 1
fi
apt-get update -q
apt-get install -q -y --no-install-recommends bubblewrap poppler-utils util-linux
