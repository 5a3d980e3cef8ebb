package boundary

import (
	"fmt"
	"slices"
	"strings"
)

// Needs is the oldest version of Landlock's interface that keeps files at all so that git still
// works: the one before it allows no rename from one folder to another.
const Needs = 2

// lack is something that Landlock keeps from some version of its interface on.
type lack struct {
	abi  int
	what string
	asks func(Spec) bool
}

func always(Spec) bool        { return true }
func byLandlock(s Spec) bool  { return s.By == Landlock }
func asksPorts(s Spec) bool   { return s.Network == NetPorts }
func sharesNames(s Spec) bool { return s.By == Landlock || s.Network != NetClosed }
func asksSockets(s Spec) bool { return s.By == Landlock }
func (l lack) of(abi int) string {
	return fmt.Sprintf("%s (Landlock %d of this kernel; from %d)", l.what, abi, l.abi)
}

// lacks are in the order of the versions: Linux 6.2, 6.7, 6.10, 6.12, and what came after 6.18.
var lacks = []lack{
	{2, "links among git's own files, which lead git, where it is run outside, elsewhere", func(s Spec) bool { return s.By == Bwrap && len(s.Plain) > 0 }},
	{3, "cutting short of files that it may not write", byLandlock},
	{4, "TCP connections to other ports", asksPorts},
	{5, "ioctl of devices", byLandlock},
	{6, "signals to other processes of its user", always},
	{6, "abstract unix sockets", sharesNames},
	{9, "unix sockets in the file system, like docker.sock", asksSockets},
	{10, "UDP", asksPorts},
}

// Open lists, in words, what was asked for and is not held where the kernel's Landlock has a
// version (0: none); absent are those of Keep that are not there.
func (s Spec) Open(abi int, absent []string) (open []string) {
	for _, l := range lacks {
		if abi < l.abi && l.asks(s) {
			open = append(open, l.of(abi))
		}
	}
	if s.By == Landlock && len(s.Keep) > 0 {
		return append(open, "writing of what lies in trees that it writes: "+strings.Join(s.Keep, ", "))
	}
	for _, path := range s.Keep {
		if slices.Contains(absent, path) {
			open = append(open, "making of "+path+", which is not there, or is a link")
		}
	}
	return open
}

// Never lists what a boundary does not hold on any kernel.
func (s Spec) Never() []string {
	never := []string{"other branches of its repository and its objects, which it writes"}
	if s.By == Landlock {
		never = append(never, "that files exist, and changes of their mode, owner and times")
	}
	if s.Steers != "" {
		never = append(never, "what git does for whoever runs it on "+s.Steers+", where it makes files")
	}
	if s.By == Bwrap && len(s.Keep) > 0 {
		never = append(never, "single files in trees that it writes, like .git and settings, once somebody outside has put others in their place")
	}
	if s.Network == NetOpen {
		never = append(never, "the network, which is open")
	}
	return never
}

// Lacking is the error of a start that is refused.
func Lacking(s Spec, open []string) error {
	hint := "say missing = \"say\""
	if s.By == Landlock {
		hint = "use by = \"bwrap\", or " + hint
	}
	return fmt.Errorf("boundary %q cannot be held here (%s); open would be: %s", s.Name, hint, strings.Join(open, "; "))
}
