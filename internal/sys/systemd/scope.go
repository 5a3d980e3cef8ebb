package systemd

import (
	"path"
	"strconv"
	"strings"
)

// InService says in which service a process runs, and of whose manager, by the text of its
// /proc/PID/cgroup: of that of the user with a number, or of the system's. "" for a process in no service.
func InService(cgroup string, uid int) (name string, user bool) {
	at := ""
	for line := range strings.Lines(cgroup) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		// The hierarchy of systemd's own may be another one's than this systemd's: then it says nothing.
		if len(f) == 3 && f[2] != "/" && (f[1] == "name=systemd" || f[1] == "" && at == "") {
			at = f[2]
		}
	}
	if !strings.HasSuffix(path.Base(at), ".service") || strings.HasPrefix(path.Base(at), "user@") {
		return "", false
	}
	return path.Base(at), strings.Contains(at, "/user@"+strconv.Itoa(uid)+".service/")
}

// InScope are the commands that begin a program in a new scope with a name, beside all services. The
// second is for managers before version 253, whose scopes know no OOMPolicy, and end no
// others when one process is killed for lack of memory.
func InScope(user bool, name string) [][]string {
	manager := "--system"
	if user {
		manager = "--user"
	}
	begin := []string{"systemd-run", manager, "--scope", "--quiet", "--collect", "--no-ask-password", "--unit=" + name}
	return [][]string{append(begin[:len(begin):len(begin)], "--property=OOMPolicy=continue", "--"), append(begin[:len(begin):len(begin)], "--")}
}

// Environ is what these commands need of an environment.
func (r *Reader) Environ() []string { return r.environ() }
