package catalog

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"custos/internal/agent"
	"custos/internal/config"
	"custos/internal/fleet"
)

// accountSection is the section [account.NAME].
type accountSection struct {
	Kind      string `toml:"kind"`                 // of the agent CLI
	ConfigDir string `toml:"config_dir" is:"path"` // where that keeps this login; by default where it does by itself
	Plan      string `toml:"plan"`                 // what you call the plan
}

// Accounts reads the sections [account.NAME], in the order of their names.
func Accounts(cfg config.Config, kinds *agent.Kinds) (out fleet.Accounts, err error) {
	sections := map[string]accountSection{}
	if err := cfg.Section("account", &sections); err != nil {
		return nil, err
	}
	var wrong []error
	homes := map[string]string{} // kind and folder past all links: the account
	for _, name := range sortedNames(sections) {
		a, err := sections[name].account(name, cfg, kinds)
		if err == nil {
			k, _ := kinds.Get(a.Kind)
			err = claims(homes, a, folderOf(a, k.Transcripts, cfg.Home))
		}
		if err != nil {
			wrong = append(wrong, cfg.Misread("account."+name, err))
		}
		out = append(out, a)
	}
	return out, errors.Join(wrong...)
}

func (s accountSection) account(name string, cfg config.Config, kinds *agent.Kinds) (fleet.Account, error) {
	a := fleet.Account{Name: name, Kind: s.Kind, Plan: fleet.Line(s.Plan, 80)}
	kind, known := kinds.Get(s.Kind)
	switch {
	case !budgetName.MatchString(name):
		return a, errors.New("its name may have letters, digits, and . _ -, 64 at most: it is a word of commands")
	case s.Kind == "":
		return a, errors.New(`kind: want the agent CLI that is logged in, like "claude"`)
	case !known:
		return a, fmt.Errorf("kind: there is no kind %q; there are %s", fleet.Line(s.Kind, 40), strings.Join(kinds.Names(), ", "))
	case s.ConfigDir == "":
		return a, nil
	case kind.Transcripts.Env == "":
		return a, fmt.Errorf("config_dir: it is not known by which variable %s is told of its folder", s.Kind)
	}
	dir, err := cfg.Expand(s.ConfigDir)
	a.ConfigDir = fleet.Path(dir)
	return a, err
}

// claims refuses a folder that another account has: two logins in one folder are one.
func claims(homes map[string]string, a fleet.Account, dir string) error {
	if real, err := filepath.EvalSymlinks(dir); err == nil { // else it is not there yet
		dir = real
	}
	if other, taken := homes[a.Kind+" "+dir]; taken {
		return fmt.Errorf("config_dir: %s is the folder of account %s, too: two logins of one CLI need two folders", fleet.Path(dir), other)
	}
	homes[a.Kind+" "+dir] = a.Name
	return nil
}

// checkAccounts refuses accounts of a pool that its workers cannot have.
func checkAccounts(p fleet.Pool, all fleet.Accounts) error {
	if len(p.Accounts) > 0 && p.Account != "" {
		return errors.New("accounts: account names one; want one of the two")
	}
	for i, name := range p.Accounts {
		if _, known := all.Get(name); !known && len(all) == 0 || slices.Contains(p.Accounts[:i], name) {
			return fmt.Errorf("accounts: %q is named twice, or has no section: want names of sections [account.NAME], each once", fleet.Line(name, 40))
		}
		if err := checkAccount(name, p.Kind, all); err != nil {
			return err
		}
	}
	return checkAccount(p.Account, p.Kind, all)
}

// checkAccount refuses the name of an account that no section has, where there are
// sections at all: else accounts are mere names.
func checkAccount(name, kind string, all fleet.Accounts) error {
	if name == "" || len(all) == 0 {
		return nil
	}
	a, known := all.Get(name)
	switch {
	case !known:
		return fmt.Errorf("account: there is no [account.%s]; there are %s", fleet.Line(name, 40), strings.Join(all.Names(), ", "))
	case a.Kind != kind:
		return fmt.Errorf("account: %s is an account of %s, and this is %s", a.Name, a.Kind, fleet.Line(kind, 40))
	}
	return nil
}

// folderOf is where the CLI of an account keeps its login and its conversations: the one that it
// uses by itself, where no other is named.
func folderOf(a fleet.Account, m agent.TranscriptMark, home string) string {
	if a.ConfigDir == "" {
		return filepath.Join(home, m.Home)
	}
	return m.Named(fleet.RawPath(a.ConfigDir))
}
