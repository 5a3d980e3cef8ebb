package tmux

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"custos/internal/fleet"
)

// paneFields are asked of tmux in this order; raw.field reads them back.
var paneFields = [...]string{
	"pid", "pane_id", "pane_pid", "session_id", "session_name", "window_index", "window_name",
	"pane_index", "pane_current_command", "pane_start_command", "pane_title", "pane_current_path",
	"pane_dead", "pane_dead_status", "pane_dead_signal", "window_activity", "session_created", "pane_in_mode",
}

var clientFields = [...]string{"session_id", "client_control_mode", "client_flags", "client_activity"}

// list asks one server for its panes and the people who look at them.
//
// Titles and names reach us cleaned by tmux, but pane_current_path and
// pane_current_command come as the kernel has them (measured on 3.3a: newline,
// 0x1f and broken UTF-8 included), so no fixed separator is safe. The separator
// is a random number, new for each look, which no program can print beforehand.
func (v *Viewer) list(ctx context.Context, socket string) ([]fleet.Pane, error) {
	sep := nonce()
	out, err := v.ask(ctx, socket, "list-panes", "-a", "-F", format(sep, 'P', paneFields[:]),
		";", "list-clients", "-F", format(sep, 'C', clientFields[:]))
	if err != nil && strings.Contains(err.Error(), "no current target") {
		return nil, nil // list-clients says so of a server that has no session left
	}
	if err != nil {
		return nil, err
	}
	panes, err := v.parse(socket, string(out), sep)
	if err != nil {
		return nil, fmt.Errorf("cannot use what tmux server %s says: %w", fleet.Path(socket), err)
	}
	return panes, nil
}

// nonce returns 80 random bits in letters and digits.
func nonce() string { return rand.Text()[:16] }

// format writes one record: sep, type, then each field led by sep, then sep and
// a full stop.
func format(sep string, kind byte, fields []string) string {
	var b strings.Builder
	b.WriteString(sep + string(kind))
	for _, f := range fields {
		b.WriteString(sep + "#{" + f + "}")
	}
	b.WriteString(sep + ".")
	return b.String()
}

// parse reads the records of one server.
func (v *Viewer) parse(socket, out, sep string) ([]fleet.Pane, error) {
	var panes []fleet.Pane
	people, typed := map[string]int{}, map[string]fleet.Leaf[fleet.Duration]{}
	var server fleet.ProcessID
	rest := strings.Split(out, sep)[1:]
	for len(rest) > 0 {
		kind := rest[0]
		n := len(paneFields)
		if kind == "C" {
			n = len(clientFields)
		}
		if len(rest) < n+2 || kind != "P" && kind != "C" || strings.TrimSpace(rest[n+1]) != "." {
			return nil, fmt.Errorf("a record %q of %d fields is not what was asked for", fleet.Line(kind, 20), len(rest))
		}
		fields := rest[1 : n+1]
		rest = rest[n+2:]
		if kind == "C" {
			if fields[1] != "1" && !strings.Contains(fields[2], "control-mode") {
				people[fields[0]]++ // a client in control mode is a program: ours, or an IDE
				typed[fields[0]] = sooner(typed[fields[0]], ageOf(v.o.Now(), fields[3]))
			}
			continue
		}
		if server.PID == 0 {
			var err error
			if server, err = v.server(number(fields[0])); err != nil {
				return nil, err
			}
		}
		if !isPost(fields[4], fields[9]) {
			panes = append(panes, v.pane(socket, server, fields))
		}
	}
	for i := range panes {
		panes[i].Attached, panes[i].Typed = people[panes[i].SessionID], typed[panes[i].SessionID]
	}
	slices.SortStableFunc(panes, comparePanes)
	return panes, nil
}

// sooner returns the shorter of two ages; the known one where one is not.
func sooner(a, b fleet.Leaf[fleet.Duration]) fleet.Leaf[fleet.Duration] {
	x, ok := a.Get()
	if y, known := b.Get(); !ok || known && y < x {
		return b
	}
	return a
}

func comparePanes(a, b fleet.Pane) int {
	return cmp.Or(strings.Compare(a.Session, b.Session), a.WindowIndex-b.WindowIndex, a.PaneIndex-b.PaneIndex,
		strings.Compare(a.ID.Pane, b.ID.Pane))
}

// pane reads one record; f holds the values of paneFields.
func (v *Viewer) pane(socket string, server fleet.ProcessID, f []string) fleet.Pane {
	now := v.o.Now()
	return fleet.Pane{
		ID:           fleet.PaneID{Socket: fleet.Path(socket), Server: server, Pane: fleet.Line(f[1], 20), Root: v.identity(number(f[2]))},
		SessionID:    fleet.Line(f[3], 20),
		Session:      fleet.Line(f[4], 200),
		WindowIndex:  number(f[5]),
		Window:       fleet.Line(f[6], 200),
		PaneIndex:    number(f[7]),
		Command:      fleet.Line(f[8], 64),
		StartCommand: v.redacted.of(fleet.Line(f[9], 500)),
		Title:        v.redacted.of(fleet.Line(f[10], 200)),
		CWD:          fleet.Path(f[11]),
		Dead:         f[12] == "1",
		ExitStatus:   exit(f[12] == "1", f[13]),
		ExitSignal:   exit(f[12] == "1", f[14]),
		Activity:     ageOf(now, f[15]),
		Age:          ageOf(now, f[16]),
		InMode:       f[17] != "" && f[17] != "0",
	}
}

// exit reads how a dead pane ended. tmux 3.3a loses this in 7 of 10 deaths of a
// multi-threaded program, and has only one of the two for the others.
func exit(dead bool, s string) fleet.Leaf[int] {
	n, err := strconv.Atoi(s)
	switch {
	case !dead:
		return fleet.Unknown[int]("the pane is not dead")
	case err != nil:
		return fleet.Unknown[int]("tmux does not tell")
	}
	return fleet.Known(n)
}

// ageOf turns seconds since 1970, as tmux counts them, into an age. What lies in
// the future (the clock was set back) is age 0.
func ageOf(now time.Time, s string) fleet.Leaf[fleet.Duration] {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 {
		return fleet.Unknown[fleet.Duration]("tmux does not tell")
	}
	return fleet.Known(fleet.Duration(max(0, now.Sub(time.Unix(n, 0)).Truncate(time.Second))))
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
