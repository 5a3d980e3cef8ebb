package catalog

import (
	"fmt"
	"os"
	"path/filepath"

	"custos/internal/act/agentrun"
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

// contexts are the files with the standing instructions of each role.
func contexts(cfg config.Config, kinds *agent.Kinds) (func(role string) []string, error) {
	roles, err := Roles(cfg, kinds)
	of := map[string][]string{}
	for _, r := range roles {
		of[r.Name] = r.Context
	}
	return func(role string) []string { return of[role] }, err
}

// Context is what an agent of a role with that first prompt would be given now: its standing instructions, "" for none, the
// arguments that name the file with them, and the prompt, which they stand before where there are no such arguments.
func (b RoleBook) Context(r fleet.Role, prompt string) (text string, args []string, with string, err error) {
	kind, known := b.Kinds.Get(r.Kind)
	if len(r.Context) == 0 || !known {
		return "", nil, prompt, nil
	}
	if text, err = agentrun.ReadContext(r.Context); err != nil {
		return "", nil, prompt, err
	}
	args, with = kind.Instructed(r.Headless, text, prompt)
	return text, args, with, nil
}

// Unread is why the standing instructions of a role cannot be read; "" where they can, and where it has none.
func (b RoleBook) Unread(r fleet.Role) string {
	if _, err := agentrun.ReadContext(r.Context); err != nil {
		return err.Error()
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
