package proc

import (
	"fmt"
	"os"
	"strings"
)

// ListensAt returns the paths of the unix sockets that a process of our own
// listens at (proc(5), /proc/net/unix: flag 00010000 is a listener).
func ListensAt(pid int) (paths []string, err error) {
	dir := fmt.Sprintf("/proc/%d", pid)
	table, err := os.ReadFile(dir + "/net/unix")
	if err != nil {
		return nil, fmt.Errorf("cannot read the sockets of process %d: %w", pid, err)
	}
	fds, err := os.ReadDir(dir + "/fd")
	if err != nil {
		return nil, fmt.Errorf("cannot read the sockets of process %d: %w", pid, err)
	}
	own := map[string]bool{}
	for _, fd := range fds {
		if to, err := os.Readlink(dir + "/fd/" + fd.Name()); err == nil {
			if inode, ok := strings.CutPrefix(to, "socket:["); ok {
				own[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line) // Num RefCount Protocol Flags Type St Inode Path
		if len(fields) < 8 || fields[3] != "00010000" || !own[fields[6]] {
			continue
		}
		_, path, _ := strings.Cut(line, " "+fields[6]+" ")
		paths = append(paths, strings.TrimSuffix(path, "\n"))
	}
	return paths, nil
}
