// Package systemdtest is a systemd for tests: a systemctl and a loginctl that keep what they
// are told in files, and answer as those of version 252 do by systemctl(1) and loginctl(1).
// What it does not know, it refuses, as they refuse an unknown verb.
package systemdtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Machine is one with systemd.
type Machine struct {
	Root string // the machine's files: run/systemd/system is there
	dir  string
	t    testing.TB
}

// New makes a machine, and puts its commands first on the PATH of this test. They see the
// units of the system below Root, and those of the user below configHome.
func New(t testing.TB, configHome string) *Machine {
	t.Helper()
	m := &Machine{Root: t.TempDir(), dir: t.TempDir(), t: t}
	for _, dir := range []string{m.Root + "/run/systemd/system", m.dir + "/bin", m.dir + "/user", m.dir + "/system"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	folders := fmt.Sprintf("D='%s'\nUSER_UNITS='%s/systemd/user'\nSYSTEM_UNITS='%s/etc/systemd/system'\n", m.dir, configHome, m.Root)
	for name, text := range map[string]string{"systemctl": systemctl, "loginctl": loginctl} {
		if err := os.WriteFile(m.dir+"/bin/"+name, []byte("#!/bin/sh\n"+folders+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", m.dir+"/bin:"+os.Getenv("PATH"))
	return m
}

// systemctl keeps of each manager: loaded (the unit as of the last reload), enabled, active (with
// the number of its main process), failed, and restarts. A property that a test sets stands in
// set-NAME. What a start does is in the file "starts": well (it is said to run), ends, hangs, or runs: what
// the unit starts is started, with what it gives that for surroundings, and ended by SIGTERM.
const systemctl = `
echo "systemctl $*" >>"$D/asked"
M=$D/system UNITS=$SYSTEM_UNITS
now= args=
for a in "$@"; do case $a in
  --user) M=$D/user UNITS=$USER_UNITS ;;
  --system | --no-pager | --no-ask-password | --no-block) ;;
  --now) now=1 ;;
  --property=*) ;;
  -*) echo "systemctl: unrecognized option '$a'" >&2; exit 1 ;;
  *) args="$args $a" ;;
esac; done
set -- $args
[ ! -e "$M/refuses" ] || { cat "$M/refuses" >&2; exit 1; }
[ ! -e "$M/refuses-$1" ] || { cat "$M/refuses-$1" >&2; exit 1; }
F=$UNITS/${2:-none}
read_all() { rm -f "$M/loaded"; [ ! -f "$UNITS/custos.service" ] || cp "$UNITS/custos.service" "$M/loaded"; }
known() { [ -f "$M/loaded" ] || { echo "Failed to $1 unit: Unit custos.service not found." >&2; exit 5; }; }
start() {
  [ ! -e "$M/active" ] || return 0
  case $(cat "$M/starts" 2>/dev/null) in
  ends) echo 9 >"$M/restarts" ;;
  runs)
    { sed -n 's/^Environment=//p' "$M/loaded"; value ExecStart; } | M=$M xargs setsid sh -c 'echo $$ >"$M/active"; exec env -i "HOME=$HOME" "$@" >>"$M/said" 2>&1' sh &
    until [ -s "$M/active" ]; do :; done ;;
  *) echo $$ >"$M/active" ;;
  esac
}
real() { [ -e "$M/starts" ] && { read -r how <"$M/starts" || :; } && [ "$how" = runs ]; }
lives() { ! real || grep -qs '^State:[[:space:]]*[A-Y]' "/proc/$(cat "$M/active")/status"; }
stop() {
  ! real || [ ! -e "$M/active" ] || { kill "$(cat "$M/active")"; while lives; do sleep 0.1; done; }
  rm -f "$M/active"
}
value() { sed -n "s/^$1=//p" "$M/loaded" | tail -n 1; }
case $1 in
daemon-reload) read_all ;;
enable) [ -f "$F" ] || [ -f "$M/loaded" ] || { echo "Failed to enable unit: Unit file custos.service does not exist." >&2; exit 1; }
  : >"$M/enabled"; read_all; [ -z "$now" ] || start ;;
disable) rm -f "$M/enabled"; read_all ;;
start) known start; start ;;
restart) known restart; stop; start ;;
stop) known stop; value KillMode >>"$M/stopped"; stop ;;
reset-failed) rm -f "$M/restarts" ;;
show)
  if [ -f "$M/loaded" ]; then
    echo LoadState=loaded; echo "FragmentPath=$F"
    for p in KillMode Type OOMPolicy User; do echo "$p=$(cat "$M/set-$p" 2>/dev/null || value $p)"; done
    x=$(value ExecStart | sed 's/^"//; s/[" ].*//'); echo "ExecStart={ path=$x ; argv[]=$x up ; ignore_errors=no ; start_time=[n/a] ; stop_time=[n/a] ; pid=0 ; code=(null) ; status=0/0 }"
    [ -e "$M/enabled" ] && echo UnitFileState=enabled || echo UnitFileState=disabled
  else echo LoadState=not-found; echo FragmentPath=; echo UnitFileState=; fi
  if [ -e "$M/active" ] && lives; then echo ActiveState=active; echo SubState=running; echo "MainPID=$(cat "$M/active")"
  else echo ActiveState=inactive; echo SubState=dead; echo MainPID=0; fi
  echo "DropInPaths=$(cat "$M/set-DropInPaths" 2>/dev/null)"
  echo "NRestarts=$(cat "$M/restarts" 2>/dev/null || echo 0)"; echo Result=success
  if [ -f "$F" ] && ! cmp -s "$F" "$M/loaded"; then echo NeedDaemonReload=yes; else echo NeedDaemonReload=no; fi ;;
*) echo "Unknown command verb $1." >&2; exit 1 ;;
esac
`

const loginctl = `
echo "loginctl $*" >>"$D/asked"
case $1 in
show-user) cat "$D/linger" 2>/dev/null || { echo "Failed to get user: User ID 1000 is not logged in or lingering" >&2; exit 1; } ;;
*) echo "Unknown command verb $1." >&2; exit 1 ;;
esac
`

// Put writes one of the files that the commands go by: user/starts, user/set-KillMode, linger, …
func (m *Machine) Put(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// Is says whether one of them is there: user/active, user/enabled, …
func (m *Machine) Is(name string) bool {
	_, err := os.Stat(filepath.Join(m.dir, name))
	return err == nil
}

// Text is one of them; empty where it is not there.
func (m *Machine) Text(name string) string {
	b, _ := os.ReadFile(filepath.Join(m.dir, name)) // what is not there is empty
	return string(b)
}

// Asked are the commands that were run, but for those that only ask.
func (m *Machine) Asked() (verbs []string) {
	for line := range strings.Lines(m.Text("asked")) {
		if line = strings.TrimSpace(line); !strings.Contains(line, " show") {
			verbs = append(verbs, strings.NewReplacer(" --no-pager", "", " --no-ask-password", "").Replace(line))
		}
	}
	return verbs
}
