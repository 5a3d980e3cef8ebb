package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"custos/internal/api"
)

// size writes bytes for people: "512 B", "1.4 GiB"; "?" when not known.
func size(n *int64) string {
	if n == nil {
		return "?"
	}
	return api.Size(*n)
}

// clock writes a moment of the day at: its date only when it is another day's.
func clock(t, at time.Time) string {
	if t.UTC().Format(time.DateOnly) == at.UTC().Format(time.DateOnly) {
		return t.UTC().Format("15:04")
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// soon is how near a moment is that is waited for to the second.
const soon = 5 * time.Minute

// due writes a moment that is waited for.
func due(t, at time.Time) string {
	if t.Sub(at).Abs() < soon {
		return t.UTC().Format("15:04:05")
	}
	return clock(t, at)
}

func yesNo(b *bool) string {
	switch {
	case b == nil:
		return "?"
	case *b:
		return "yes"
	}
	return "no"
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	if stem, ok := strings.CutSuffix(one, "ry"); ok {
		return strconv.Itoa(n) + " " + stem + "ries"
	}
	return strconv.Itoa(n) + " " + one + "s"
}

// shell writes a command the way a person types it.
func shell(argv []string) string {
	out := make([]string, len(argv))
	for i, a := range argv {
		out[i] = quote(a)
	}
	return strings.Join(out, " ")
}

func quote(arg string) string {
	plain := arg != ""
	for _, r := range arg {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+,", r) {
			plain = false
		}
	}
	if plain {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// hostLine is the machine in one line.
func hostLine(h api.Host) string {
	var out []string
	if h.MemoryAvailable != nil {
		out = append(out, fmt.Sprintf("memory %s free of %s", size(h.MemoryAvailable), size(h.MemoryTotal)))
	}
	if h.SwapUsed != nil && *h.SwapUsed > 0 {
		out = append(out, "swap "+size(h.SwapUsed)+" used")
	}
	if h.DiskPercent != nil {
		out = append(out, fmt.Sprintf("disk %.0f %% of %s", *h.DiskPercent, clean(h.FullestMount)))
	}
	if h.Load != nil {
		out = append(out, fmt.Sprintf("load %.1f on %s", *h.Load, plural(h.CPUs, "CPU")))
	}
	if len(out) == 0 {
		return "the machine could not be seen"
	}
	return strings.Join(out, " · ")
}

// longestWhat is the room that is kept for the words beside a command.
const longestWhat = 35

// next writes what to type next.
func (p *page) next(list []api.Hint) {
	if len(list) == 0 {
		return
	}
	p.head("NEXT", "")
	var rows [][]string
	strong := func(s string) string { return p.paint(bold, s) }
	for _, h := range list {
		command := p.proposed(flat(h.Command))
		if runes(command) > p.width-longestWhat { // it would push the words of all others out of sight
			p.line("  %s", strong(command))
			p.text(6, h.What)
			continue
		}
		rows = append(rows, []string{command, flat(h.What)})
	}
	p.table([]column{{paint: strong}, {}}, rows)
}

// typed writes a command for a person to type behind a sign. One that is wider than the
// page goes on below, as a shell reads it: it is broken between words that no quotes hold.
func (p *page) typed(sign, command string) {
	line := ""
	for word := range strings.SplitSeq(command, " ") {
		if strings.Count(line, "'")%2 == 0 && line != "" && runes(sign+line+" "+word+" \\") > p.width {
			p.line("%s%s \\", sign, line)
			sign, line = strings.Repeat(" ", runes(sign)+2), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	p.line("%s%s", sign, line)
}
