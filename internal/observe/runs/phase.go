package runs

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/files"
)

// coarse is how much earlier than the clock a file may seem to be written: the
// time of a file is that of the kernel's last tick.
const coarse = 100 * time.Millisecond

// phase reads what the agent wrote. A file that is older than the run says
// nothing of it; a first line that is no phase is shown in quotes, and is none.
func (p *Probe) phase(r fleet.Run, now fleet.Instant) fleet.Leaf[fleet.Phrase] {
	f, info, err := files.OpenRegular(r.File(fleet.RunPhaseFile), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return fleet.Known(fleet.Phrase{})
	}
	if err != nil {
		return fleet.Unknown[fleet.Phrase](fleet.Line("cannot read the phase: "+err.Error(), 200))
	}
	defer f.Close()
	if !written(info.Modified(), r.At, now) {
		return fleet.Known(fleet.Phrase{})
	}
	content, err := files.Head(f, files.MaxSmall)
	if err != nil {
		return fleet.Unknown[fleet.Phrase](fleet.Line("cannot read the phase: "+err.Error(), 200))
	}
	return fleet.Known(phrase(content, moment(info.Modified(), now)))
}

func phrase(content []byte, at fleet.Instant) fleet.Phrase {
	word, reason, err := files.PhaseLine(content)
	if err == nil {
		return fleet.Phrase{Word: word, Reason: fleet.Line(fleet.Redact(reason), 500), At: at}
	}
	first, _, _ := strings.Cut(string(content), "\n")
	if first = fleet.Redact(fleet.Line(first, 40)); first == "" {
		return fleet.Phrase{} // it is just being written
	}
	return fleet.Phrase{Word: strconv.Quote(first), At: at}
}

// written says whether a file was last changed after a moment. Where the wall
// clock was set in between, the boot clock may say so, too.
func written(at time.Time, since, now fleet.Instant) bool {
	if !at.Add(coarse).Before(since.Wall) {
		return true
	}
	ago := now.Wall.Sub(at)
	return since.Boot == now.Boot && since.Boot != "" && ago >= 0 && time.Duration(now.Up)-ago+coarse >= time.Duration(since.Up)
}

// moment is the time of a file, by both clocks where that can be.
func moment(at time.Time, now fleet.Instant) fleet.Instant {
	ago := now.Wall.Sub(at)
	if ago < 0 || ago > time.Duration(now.Up) {
		return fleet.Instant{Wall: at.UTC()}
	}
	out := now.Add(-ago)
	out.Wall = out.Wall.UTC()
	return out
}

// watchClock notices that the wall clock was set since the first look: times of
// files and starts of processes do not compare across that.
func (p *Probe) watchClock(now fleet.Instant) {
	offset := time.Duration(now.Wall.UnixNano()) - time.Duration(now.Up)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == nil {
		p.first = &offset
	}
	if (offset - *p.first).Abs() > slack/2 {
		p.first, p.setAt = &offset, now.Wall
	}
}

func (p *Probe) setSince(written time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return written.Before(p.setAt)
}
