package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"
)

// Occupied returns the pids that stand in a folder (raw), now; nil where the process
// table is not looked at.
type Occupied func(ctx context.Context, path string) ([]int, error)

// In returns the pids that stand in a folder.
func (o Occupied) In(ctx context.Context, path string) ([]int, error) {
	if o == nil {
		return nil, errors.New("the process table is not looked at")
	}
	return o(ctx, path)
}

// Free is an error unless it is known that no process stands in a folder.
func (o Occupied) Free(ctx context.Context, path string) error {
	pids, err := o.In(ctx, path)
	if err == nil && len(pids) > 0 {
		err = fmt.Errorf("process %d stands in it", pids[0])
	}
	return err
}

// CWD is where one process, or one terminal pane, stands.
type CWD struct {
	PID  int
	UID  int
	Name string // comm
	Path string // raw; "" when it could not be read

	located bool        // Locate saw it
	chain   [][2]uint64 // device and inode of where it stands and of every folder above, where Path means nothing here
}

// Locate finds where processes of other mount namespaces (containers) stand:
// their paths are not ours, and a worktree that is mounted there goes by another
// name. They are told by device and inode instead, up to the root they see. It
// saves Inside from doing so for each folder that is asked about.
func Locate(rows []CWD) []CWD {
	located := make([]CWD, len(rows))
	own, _ := os.Readlink("/proc/self/ns/mnt")
	for i, c := range rows {
		if located[i] = c; c.located {
			continue
		}
		c.located = true
		ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", c.PID))
		if err == nil && own != "" && ns != own && c.Path != "" {
			c.chain = climb(fmt.Sprintf("/proc/%d/cwd", c.PID))
			c.Path = ""
		}
		located[i] = c
	}
	return located
}

// climb returns the identity of a folder and of every folder above it; nil when
// one cannot be seen.
func climb(dir string) (chain [][2]uint64) {
	const deepest = 512
	for range deepest {
		var st syscall.Stat_t
		if err := syscall.Stat(dir, &st); err != nil {
			return nil
		}
		id := [2]uint64{uint64(st.Dev), st.Ino}
		if len(chain) > 0 && chain[len(chain)-1] == id {
			return chain
		}
		chain = append(chain, id)
		dir += "/.."
	}
	return nil
}

// undumpable are programs whose working directory the kernel hides even from
// their own user (prctl(2), PR_SET_DUMPABLE), which every login leaves behind
// and which never work in a worktree. Without them, no worktree would ever be
// known to be free on a machine one logs in to.
var undumpable = set("ssh-agent", "gpg-agent", "scdaemon", "sshd", "sshd-session", "sshd-auth", "(sd-pam)", "sudo", "su",
	"fusermount", "fusermount3", "polkit-agent-he", "gnome-keyring-d", "chrome-sandbox")

// initPID is the first process of the pid namespace. One that hides where it
// stands, as init programs of containers and small virtual machines do, is an
// init: no work is done in it. One that does not hide is looked at like any other.
const initPID = 1

// Inside returns the pids whose working directory is the folder or in it. It
// fails when that cannot be told: a process of our own user hides its working
// directory; or one of another user does, and the folder lets others write in
// it. (Where others may only read, what a stranger does there cannot be work
// that would be lost. Processes of root that hide from us are taken for daemons:
// they are on every machine, and what root did in a worktree shows in its files.)
// Of a main worktree, linked worktrees that lie inside it are not a part.
func Inside(rows []CWD, folder string) ([]int, error) {
	rows = Locate(rows)
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real // the kernel names where a process stands without links
	}
	shared, id := othersMayWrite(folder), climb(folder)
	self := os.Getuid()
	var pids []int
	for _, c := range rows {
		switch {
		case within(c.Path, folder):
			if !inLinked(c.Path, folder) {
				pids = append(pids, c.PID)
			}
		case len(c.chain) > 0:
			if len(id) > 0 && slices.Contains(c.chain, id[0]) {
				pids = append(pids, c.PID)
			}
		case c.Path != "" || undumpable[c.Name] || c.PID == initPID || c.UID == 0 && self != 0:
		case c.UID == self, self == 0:
			return nil, fmt.Errorf("cannot tell who is inside: process %d (%q) hides where it stands", c.PID, c.Name)
		case shared:
			return nil, fmt.Errorf("cannot tell who is inside: process %d (%q) of another user hides where it stands, and others may write there", c.PID, c.Name)
		}
	}
	sort.Ints(pids)
	return unique(pids), nil
}

// within says whether path is folder or below it. The kernel marks a folder
// that was removed under a process by " (deleted)": no work is there.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// inLinked says whether path lies in a linked worktree of the repository whose
// main worktree is folder. In doubt it does not.
func inLinked(path, folder string) bool {
	if info, err := os.Lstat(filepath.Join(folder, ".git")); err != nil || !info.IsDir() || path == folder {
		return false
	}
	p, err := Find(path)
	return err == nil && p.Linked() && sameFile(p.Common, filepath.Join(folder, ".git"))
}

// othersMayWrite says whether users other than the owner may write in a folder.
// A group with the owner's own number is taken for his private one, which has
// no other member (Debian and Ubuntu make one for each user).
func othersMayWrite(folder string) bool {
	info, err := os.Stat(folder)
	if err != nil {
		return true
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	private := ok && st.Gid == st.Uid
	return info.Mode().Perm()&0o002 != 0 || info.Mode().Perm()&0o020 != 0 && !private
}

func unique(sorted []int) []int {
	out := sorted[:0]
	for i, p := range sorted {
		if i == 0 || p != sorted[i-1] {
			out = append(out, p)
		}
	}
	return out
}
