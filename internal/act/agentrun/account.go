package agentrun

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"custos/internal/agent"
	"custos/internal/fleet"
)

// configDir is the folder of its CLI's own that an agent is started with: of its account, or,
// where it goes on with a conversation, the one that this is kept in; "" for the one that
// the CLI uses by itself.
func (l *Launcher) configDir(r fleet.Registration, kind agent.Kind, how How) (string, error) {
	account, known := l.o.Accounts.Get(r.Account)
	dir := account.ConfigDir
	switch {
	case r.Instance != "" && (how.Resume != "" || how.Continue):
		dir = r.ConfigDir
	case r.Account != "" && !known && len(l.o.Accounts) > 0:
		return "", Never("there is no [account.%s] in custos.toml; there are %s", fleet.Line(r.Account, 40), strings.Join(l.o.Accounts.Names(), ", "))
	case known && account.Kind != r.Kind:
		return "", Never("account %s is one of %s, and this is %s", account.Name, account.Kind, fleet.Line(r.Kind, 40))
	}
	if dir == "" {
		return "", nil
	}
	if name := kind.Transcripts.Env; name == "" || slices.ContainsFunc(r.Set, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
		return "", Never("account %s has a folder of its own, and so have the variables that are set for the agent: want one of them", fleet.Line(r.Account, 40))
	}
	return dir, checkConfigDir(r, kind, dir)
}

// checkConfigDir refuses a folder that is not there, and one that others may look into or
// write to: it holds a login.
func checkConfigDir(r fleet.Registration, kind agent.Kind, dir string) error {
	info, err := os.Stat(fleet.RawPath(dir))
	of := "the folder " + dir + " of account " + fleet.Line(r.Account, 40)
	switch st, _ := statOf(info); {
	case os.IsNotExist(err):
		return Refused("%s is not there: make it, and log in by %s=%s %s", of, kind.Transcripts.Env, dir, kind.Name)
	case err != nil:
		return Refused("%s cannot be looked at: %s", of, fleet.Line(err.Error(), 200))
	case !info.IsDir():
		return Refused("%s is no folder", of)
	case int(st.Uid) != os.Geteuid():
		return Refused("%s belongs to another user, who could change its login", of)
	case info.Mode().Perm()&0o077 != 0:
		return Refused("%s is open to other users, and it holds a login: chmod 700 %s", of, dir)
	}
	return nil
}

func statOf(info fs.FileInfo) (syscall.Stat_t, bool) {
	if info == nil {
		return syscall.Stat_t{}, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return syscall.Stat_t{}, false
	}
	return *st, true
}
