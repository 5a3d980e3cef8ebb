#!/bin/sh
# Written by custos for the formulas of Gas Town that it runs.
me=${0##*/} here=${0%/*}
custos() { exec CUSTOS "$@"; }
# An installed one has records of its own: it is named, and never called in its place.
installed() {
	IFS=:
	for dir in $PATH; do
		case $dir in /*) [ "$dir" != "$here" ] && [ -x "$dir/$me" ] && [ ! -d "$dir/$me" ] && echo "; the one that is installed is $dir/$me" && break ;; esac
	done
}
no() { echo "$me: custos has no \"$*\"$hint$(installed)" >&2; exit 2; }
hint=
