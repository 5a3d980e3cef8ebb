package hookwire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Version is the version of the wire and of the spool's files, and Oldest the first that is
// read still: a custos-hook of the release before may run, or have spooled, when the daemon
// is exchanged. It hears answers of its own version.
const (
	Version = 1
	Oldest  = 1
)

// maxPayload is the most of a payload that a post carries, in bytes. Those of
// real hooks are some KiB; a tool that writes a file has the whole file in it.
const maxPayload = 64 << 10

// MarkerVar is the variable of the environment that says which agent of ours a
// process belongs to: NAME:INSTANCE.
const MarkerVar = "CUSTOS_AGENT"

// RunVar is the variable that says where the daemon's run folder is.
const RunVar = "CUSTOS_RUN"

// Post is one event, as the hook saw it. The daemon makes sense of it.
type Post struct {
	V         int       `json:"v"`
	ID        string    `json:"id"`             // unique; letters, digits and dashes
	Wall      int64     `json:"wall"`           // when, in nanoseconds since 1970
	Boot      string    `json:"boot,omitempty"` // /proc/sys/kernel/random/boot_id
	UpNanos   int64     `json:"up,omitempty"`   // when, by CLOCK_BOOTTIME, in nanoseconds
	Kind      string    `json:"kind"`           // of agent CLI
	Event     string    `json:"event"`          // the CLI's own name of it
	Agent     string    `json:"agent,omitempty"`
	Instance  string    `json:"instance,omitempty"`
	PPIDs     []Process `json:"ppids,omitempty"` // the hook's ancestors, nearest first
	CWD       string    `json:"cwd,omitempty"`
	Payload   []byte    `json:"payload,omitempty"`   // JSON, when it is whole
	Truncated bool      `json:"truncated,omitempty"` // the payload was longer
	Installed bool      `json:"installed,omitempty"` // the hook stands in settings, and was not launched with
	Denied    string    `json:"denied,omitempty"`    // the rule of a policy that kept a call from being made
	Used      string    `json:"used,omitempty"`      // no event: the rule of which a grant for one call was used up
}

// Process is one ancestor of a hook. PID and Start name it within a boot.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`          // clock ticks since boot, field 22 of /proc/PID/stat
	Comm  string `json:"comm,omitempty"` // what the kernel calls it, at most 15 bytes
}

// Ack answers a post.
type Ack struct {
	V      int    `json:"v"`
	ID     string `json:"id"`
	OK     bool   `json:"ok"`               // it is stored; the hook may forget it
	Why    string `json:"why,omitempty"`    // it is not
	Output string `json:"output,omitempty"` // what the hook is to print, for the agent CLI
	Wait   bool   `json:"wait,omitempty"`   // this is no answer yet: it follows within LongWait
}

// Marker takes the value of CUSTOS_AGENT apart. A name may hold colons, an
// instance does not.
func Marker(value string) (agent, instance string) {
	if i := strings.LastIndexByte(value, ':'); i >= 0 {
		return value[:i], value[i+1:]
	}
	return "", value
}

// Limits of the fields, in bytes: nothing real comes near them.
const (
	maxID   = 64
	maxName = 64   // of a kind or an event
	maxText = 4096 // of an agent's name, an instance, a folder

	// MaxAncestors is how many ancestors of a hook a post carries.
	MaxAncestors = 6
)

// Check says what is wrong with a post that came from outside.
func (p Post) Check() error {
	switch {
	case p.V < Oldest || p.V > Version:
		return fmt.Errorf("cannot take hook event: it is of version %d, this one reads versions %d to %d", p.V, Oldest, Version)
	case !isID(p.ID):
		return errors.New("cannot take hook event: its id is not 1 to 64 letters, digits or dashes")
	case p.Kind == "" || len(p.Kind) > maxName || len(p.Event) > maxName || len(p.Denied) > maxName || len(p.Used) > maxName:
		return errors.New("cannot take hook event: its kind or event has no name, or one of its names is over 64 bytes")
	case len(p.Agent) > maxText || len(p.Instance) > maxText || len(p.CWD) > maxText || len(p.Boot) > maxName:
		return errors.New("cannot take hook event: one of its texts is too long")
	case len(p.Payload) > maxPayload || len(p.PPIDs) > MaxAncestors:
		return errors.New("cannot take hook event: its payload or its ancestry is too long")
	case p.Wall < 0 || p.UpNanos < 0:
		return errors.New("cannot take hook event: its time lies before 1970 or before the boot")
	}
	return nil
}

func isID(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= maxID && s[0] != '-'
}

func decodePost(b []byte) (p Post, err error) {
	if err := json.Unmarshal(b, &p); err != nil {
		return Post{}, fmt.Errorf("cannot read hook event: %w", err)
	}
	if err := p.Check(); err != nil {
		return Post{}, err
	}
	return p, nil
}

// SetPayload puts a payload into the post. One that is too long has its long
// strings cut, so that what stands behind them is kept; what is still too long
// is cut off.
func (p *Post) SetPayload(b []byte) {
	if len(b) > maxPayload {
		p.Truncated = true
		b = shorten(b, 1024)
		b = b[:min(len(b), maxPayload)]
	}
	p.Payload = b
}

// shorten cuts every string of a JSON text to about max bytes, and changes
// nothing else: what was JSON is JSON still.
func shorten(b []byte, max int) []byte {
	out := make([]byte, 0, min(len(b), 2*maxPayload))
	for i := 0; i < len(b); {
		if b[i] != '"' {
			out = append(out, b[i])
			i++
			continue
		}
		end := stringEnd(b, i)
		s := b[i:end]
		if len(s) > max {
			out = append(append(out, cut(s, max)...), "…\""...)
		} else {
			out = append(out, s...)
		}
		i = end
	}
	return out
}

// stringEnd returns the index after the closing quote of the string at i, or
// the end of b.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// cut returns about max bytes of a string, from its quote on, and splits
// neither an escape nor a rune.
func cut(s []byte, max int) []byte {
	n := 1
	for n < max {
		step := 1
		if s[n] == '\\' {
			step = 2
			if n+1 < len(s) && s[n+1] == 'u' {
				step = 6
			}
		}
		if n+step > len(s) {
			break
		}
		n += step
	}
	for n > 1 && n < len(s) && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
