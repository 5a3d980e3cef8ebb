package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"custos/internal/config"
	"custos/internal/report/journal"
	"custos/internal/sys/git"
)

// journalSection is the section [journal].
type journalSection struct {
	OpsRepo  string `toml:"ops_repo" is:"path"` // path of a git repository on this machine
	Push     bool   `toml:"push"`
	Remote   string `toml:"remote" is:"name"`
	Branch   string `toml:"branch" is:"name"`
	Folder   string `toml:"folder"` // in the repository
	Name     string `toml:"name"`   // of the committer
	Email    string `toml:"email"`
	Deadline string `toml:"deadline" is:"duration 1ms.."`
}

// Ops makes what commits the journal to an ops repository; nil when none is
// configured.
func Ops(w *World) (*journal.Ops, error) {
	var s journalSection
	if err := w.Config.Section("journal", &s); err != nil {
		return nil, err
	}
	o, err := s.options(w.Config, w.From.Host)
	if err != nil {
		return nil, w.Config.Misread("journal", err)
	}
	if s.OpsRepo == "" {
		return nil, nil
	}
	read := git.New(git.Options{})
	o.Read, o.Write = read, git.NewWriter(read, git.WriterOptions{})
	return journal.NewOps(o), nil
}

func (s journalSection) options(cfg config.Config, host string) (journal.OpsOptions, error) {
	o := journal.OpsOptions{Journal: journal.Dir(cfg.JournalDir), Push: s.Push, Remote: s.Remote, Branch: s.Branch,
		Folder: cmp.Or(s.Folder, path.Join("journal", host)), Name: cmp.Or(s.Name, "Custos"), Email: cmp.Or(s.Email, "custos@"+host)}
	if s == (journalSection{}) {
		return o, nil
	}
	if s.OpsRepo == "" {
		return o, errors.New("ops_repo: want the path of a git repository: the other keys say how to commit to it")
	}
	var err error
	if o.Repo, err = cfg.Expand(s.OpsRepo); err != nil {
		return o, fmt.Errorf("ops_repo: %w", err)
	}
	if _, err := os.Stat(o.Repo); err != nil {
		return o, fmt.Errorf("ops_repo: %w", err)
	}
	if !filepath.IsLocal(o.Folder) || strings.ContainsAny(o.Folder, "\\\n\x00") || strings.HasPrefix(o.Folder, ".git") {
		return o, fmt.Errorf("folder: %q is no folder within the repository", o.Folder)
	}
	for key, v := range map[string]string{"remote": s.Remote, "branch": s.Branch} {
		if strings.HasPrefix(v, "-") || strings.ContainsAny(v, " \t\n:?*[\\^~") {
			return o, fmt.Errorf("%s: %q is no name of a %s", key, v, key)
		}
	}
	if strings.ContainsAny(o.Name+o.Email, "<>\n\x00") {
		return o, errors.New("name, email: want them without < and >")
	}
	if s.Deadline != "" {
		if o.Deadline, err = config.Duration(s.Deadline); err != nil {
			return o, fmt.Errorf("deadline: %w", err)
		}
	}
	return o, nil
}
