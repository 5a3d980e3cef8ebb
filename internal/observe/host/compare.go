package host

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"custos/internal/fleet"
	clocks "custos/internal/sys/host"
)

// firstLook is why a difference is unknown.
const firstLook = "there was no look before this one"

// jitter is how far the two clocks may drift apart between two looks without
// that being a jump: they are read one after the other, and time is slewed.
const jitter = 50 * time.Millisecond

// compare fills in what takes two looks.
func (p *Probe) compare(h *fleet.Host, now clocks.Moment) {
	kills, err := oomKills(p.o.Proc)
	h.OOMKills, h.OOMRecent = fleet.Known(kills), fleet.Unknown[int64](firstLook)
	h.ClockJump = fleet.Unknown[fleet.Duration](firstLook)
	if err != nil {
		why := fleet.Line(err.Error(), 200)
		h.OOMKills, h.OOMRecent = fleet.Unknown[int64](why), fleet.Unknown[int64](why)
	}
	if err == nil && p.before.known {
		h.OOMRecent = fleet.Known(max(0, kills-p.before.kills))
	}
	if p.before.seen {
		h.ClockJump = fleet.Known(jump(p.before.moment, now))
	}
	p.before = before{seen: true, moment: now, kills: kills, known: err == nil}
}

// jump is how far the wall clock was set between two moments.
func jump(from, to clocks.Moment) fleet.Duration {
	d := to.Wall.Sub(from.Wall) - (to.Up - from.Up)
	if d.Abs() < jitter {
		return 0
	}
	return fleet.Duration(d.Round(time.Millisecond))
}

var errNoKills = errors.New("/proc/vmstat does not count them")

// oomKills returns how often the kernel killed for lack of memory since boot.
func oomKills(proc string) (int64, error) {
	f, err := os.Open(proc + "/vmstat")
	if err != nil {
		return 0, fmt.Errorf("cannot read kills: %w", err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "oom_kill "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("cannot read kills: %w", err)
			}
			return n, nil
		}
	}
	return 0, fmt.Errorf("cannot read kills: %w", errNoKills)
}
