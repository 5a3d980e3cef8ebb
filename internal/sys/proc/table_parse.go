package proc

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"strings"
	"time"

	"custos/internal/sys/procstat"
)

// Stat is what /proc/PID/stat tells.
type Stat struct {
	ID      ID
	PPID    int
	PGID    int
	SID     int
	TTY     string // "pts/3"; empty without a terminal
	State   string // R, S, D, Z, T …; Z also while it is being reaped
	Comm    string
	CPUTime time.Duration // user and system
	RSS     int64         // bytes
}

// userHZ is the unit of times in /proc: 100 per second on every architecture
// that Go runs on, whatever the kernel's own clock.
const userHZ = 100

func ticks(n uint64) time.Duration { return time.Duration(n) * (time.Second / userHZ) }

// parseStat reads a line of /proc/PID/stat.
func parseStat(text []byte) (Stat, error) {
	p, err := procstat.Parse(text)
	if err != nil {
		return Stat{}, err
	}
	if p.Ended() {
		p.State = 'Z' // X is seen for a moment, between the zombie and nothing
	}
	return Stat{
		ID: ID{PID: p.PID, Start: p.Start}, PPID: p.PPID, PGID: p.PGID, SID: p.SID, TTY: ttyName(p.TTY),
		State: letter(p.State), Comm: p.Comm, CPUTime: ticks(p.CPU), RSS: p.Pages * int64(os.Getpagesize()),
	}, nil
}

// image returns a number that changes when the process runs another program:
// its name, and where that program's code, stack, arguments and environment lie
// (fields 26–28 and 45–51). The kernel shows those only to who may trace the
// process; traceable says whether it did.
func image(text []byte) (sum uint64, traceable bool) {
	to := bytes.LastIndexByte(text, ')')
	h := fnv.New64a()
	_, _ = h.Write(text[:to+1])
	n := 2
	for field := range bytes.FieldsSeq(text[to+1:]) {
		if n++; n >= 26 && n <= 28 || n >= 45 && n <= 51 {
			_, _ = h.Write(field)
			traceable = traceable || len(field) > 1
		}
	}
	return h.Sum64(), traceable
}

// letter returns a string of one letter without allocating.
func letter(b byte) string {
	const letters = "RSDZTtXxIKWPN"
	if i := strings.IndexByte(letters, b); i >= 0 {
		return letters[i : i+1]
	}
	return string([]byte{b})
}

// The device numbers of terminals, from the kernel's devices.txt.
const (
	majorTTY     = 4
	majorConsole = 5
	majorSerial  = 64 // the first minor of ttyS below majorTTY
	majorPTS     = 136
	lastMajorPTS = 143
)

// ttyName turns the number of a controlling terminal into its name below /dev.
func ttyName(nr uint32) string {
	major, minor := (nr>>8)&0xfff, nr&0xff|(nr>>12)&0xfff00
	switch {
	case nr == 0:
		return ""
	case major >= majorPTS && major <= lastMajorPTS:
		return "pts/" + strconv.Itoa(int((major-majorPTS)<<20+minor))
	case major == majorTTY && minor >= majorSerial:
		return "ttyS" + strconv.Itoa(int(minor-majorSerial))
	case major == majorTTY:
		return "tty" + strconv.Itoa(int(minor))
	case major == majorConsole && minor == 1:
		return "console"
	}
	return fmt.Sprintf("%d:%d", major, minor)
}

// statusUID returns the effective user of /proc/PID/status.
func statusUID(text []byte) (int, bool) {
	_, rest, ok := bytes.Cut(text, []byte("\nUid:"))
	if !ok {
		return 0, false
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	f := bytes.Fields(line) // real, effective, saved, file system
	if len(f) < 2 {
		return 0, false
	}
	uid, err := strconv.Atoi(string(f[1]))
	return uid, err == nil
}

// cgroupPath picks the path that says where a process was put: of the unified
// hierarchy, else of the memory controller, else of systemd's.
func cgroupPath(text []byte) []byte {
	var best []byte
	rank := 0
	for line := range bytes.Lines(text) {
		_, rest, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(":"))
		controllers, path, ok := bytes.Cut(rest, []byte(":"))
		if !ok {
			continue
		}
		if r := cgroupRank(string(controllers), string(path)); r > rank {
			best, rank = path, r
		}
	}
	return best
}

func cgroupRank(controllers, path string) int {
	switch {
	case path == "/":
		return 1
	case controllers == "":
		return 4
	case strings.Contains(","+controllers+",", ",memory,"):
		return 3
	case controllers == "name=systemd":
		return 2
	}
	return 0
}

func variableIn(environ []byte, key string) (string, bool) {
	for pair := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(pair, []byte(key+"=")); ok {
			return string(value), true
		}
	}
	return "", false
}
