#!/bin/sh
set -e
{ date -u; du -x -d 2 -h "$HOME" 2> /dev/null | sort -rh | head -n 10; } >> "$CUSTOS_VAR_plugin_dir/report.txt"
