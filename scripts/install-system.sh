#!/bin/sh
# Installs the optional system programs: bubblewrap and nsenter, for the command sandbox; pdftotext, with which Read shows
# PDF documents; and tmux, screen and strace, which only tests use. Without them, `npm test` skips their tests and reports
# that. This script needs apt and root; without them, it prints what to do instead.
set -eu

missing=
for program in bwrap nsenter pdftotext tmux screen strace; do
  command -v "$program" >/dev/null 2>&1 || missing="$missing $program"
done
if [ -z "$missing" ]; then
  echo "All optional programs are already installed."
  exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
  echo "apt-get is missing. With this system's package manager, install what provides:$missing." >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "This needs root: sudo $0" >&2
  exit 1
fi
apt-get update -q
apt-get install -q -y --no-install-recommends bubblewrap poppler-utils screen strace tmux util-linux
