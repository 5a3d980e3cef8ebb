package catalog

import (
	"fmt"
	"os"
	"path/filepath"

	"custos/internal/agent"
	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/sys/git"
)

// RoleBook is what custos.toml says of roles beside what they are, and what is looked up for them.
type RoleBook struct {
	Policies Policies
	Config   config.Config
	Kinds    *agent.Kinds
}

// Policy is what calls of agents of a role are judged by, and the key of custos.toml that says so; "" each
// for none.
func (b RoleBook) Policy(role string) (name, key string) { return b.Policies.From(role) }

// Line is where a key of [role.NAME] is said, as custos.toml:12; "" where it is not.
func (b RoleBook) Line(role, key string) string {
	for _, e := range b.Config.Shown() {
		if e.Key == "role."+role+"."+key && e.Line > 0 {
			return fmt.Sprintf("%s:%d", filepath.Base(b.Config.File), e.Line)
		}
	}
	return ""
}

// Untold is why agents of a role cannot be given a first prompt; "" where they can.
func (b RoleBook) Untold(r fleet.Role) string {
	kind, known := b.Kinds.Get(r.Kind)
	if !known {
		return ""
	}
	c, err := agent.Launch(kind, agent.LaunchOptions{Program: r.Kind, Headless: r.Headless, Prompt: "x"})
	switch {
	case err != nil:
		return err.Error()
	case c.Typed != "" && kind.Composer.Ends == "":
		return "it would be typed, and it is not known where " + kind.Name + " shows what is typed"
	}
	return ""
}

// Gone is what of the place of a role is not there; "" for nothing.
func (b RoleBook) Gone(r fleet.Role) string {
	if r.Repo != "" {
		if _, err := git.Find(fleet.RawPath(r.Repo)); err != nil {
			return err.Error()
		}
		return ""
	}
	if r.Dir == "" {
		return ""
	}
	i, err := os.Stat(fleet.RawPath(r.Dir))
	switch {
	case err != nil:
		return "cannot look at the folder: " + err.Error()
	case !i.IsDir():
		return r.Dir + " is no folder"
	}
	return ""
}
