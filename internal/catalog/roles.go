package catalog

import (
	"cmp"
	_ "embed" // for the presets
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"custos/internal/agent"
	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/nearest"
)

//go:embed roles.toml
var rolePresets []byte

// roleSection is the section [role.NAME]. What it does not say its preset says.
type roleSection struct {
	Preset    string   `toml:"preset"`         // "": the one of its own name, where there is one
	What      string   `toml:"what"`           // one line for people
	Kind      string   `toml:"kind"`           // of agent CLI; what argv begins with
	Argv      []string `toml:"argv"`           // the command line
	Env       []string `toml:"env" is:"name"`  // names of variables that are passed on
	Account   string   `toml:"account"`        // whose rate limit they share
	Project   string   `toml:"project"`        // whose work they take
	Repo      string   `toml:"repo" is:"path"` // what each has a worktree of
	Dir       string   `toml:"dir" is:"path"`  // or where they work
	Prompt    string   `toml:"prompt"`         // the first one, with {{work}} and the like
	Headless  bool     `toml:"headless"`       // without a terminal
	Restart   string   `toml:"restart" is:"|always|on-failure|never"`
	Standing  *bool    `toml:"standing"`         // being idle is no fault of it
	Memory    string   `toml:"memory" is:"size"` // cap on the memory of each
	Heartbeat string   `toml:"heartbeat" is:"duration 1m.."`
	MaySpawn  []string `toml:"may_spawn"`                  // roles of agents that its own may start
	ReportsTo string   `toml:"reports_to"`                 // role of who hears of their end and of their silence
	Mails     []string `toml:"mails"`                      // types of mail that they may send
	Max       int      `toml:"max" is:"1..1000"`           // agents that have it at once
	Ends      string   `toml:"ends" is:"|merged"`          // "merged": its work is closed by its merge, not by its word
	Takes     string   `toml:"takes" is:"|ready|returned"` // work of it that Custos hands out by itself: all, or what was given back
	Tries     int      `toml:"tries" is:"1..20"`           // how often one piece of work is handed out by Custos; 3
	Context   []string `toml:"context"`                    // files with standing instructions, as from the folder of custos.toml
	Policy    string   `toml:"policy" is:"name"`           // what calls of its agents are judged by; see ReadPolicies
}

// RolePresets are the roles that come with Custos, sorted by name.
func RolePresets() ([]fleet.Role, error) {
	sections := map[string]roleSection{}
	if err := toml.Unmarshal(rolePresets, &sections); err != nil {
		return nil, fmt.Errorf("cannot read the presets of roles: %w", err)
	}
	var out []fleet.Role
	for _, name := range sortedNames(sections) {
		s := sections[name]
		out = append(out, fleet.Role{Name: name, Preset: name, What: s.What, Prompt: s.Prompt, Standing: s.Standing != nil && *s.Standing, MaySpawn: s.MaySpawn, Ends: s.Ends})
	}
	return out, nil
}

// Roles reads the sections [role.NAME], in the order of their names.
func Roles(cfg config.Config, kinds *agent.Kinds) (out []fleet.Role, err error) {
	sections := map[string]roleSection{}
	if err := cfg.Section("role", &sections); err != nil {
		return nil, err
	}
	presets, err := RolePresets()
	if err != nil {
		return nil, err
	}
	var wrong []error
	for _, name := range sortedNames(sections) {
		r, err := sections[name].role(name, presets, cfg)
		if err == nil {
			err = checkRole(&r, sections, presets, kinds)
		}
		if err != nil {
			wrong = append(wrong, cfg.Misread("role."+name, err))
		}
		out = append(out, r)
	}
	return out, errors.Join(wrong...)
}

func (s roleSection) role(name string, presets []fleet.Role, cfg config.Config) (fleet.Role, error) {
	r := fleet.Role{}
	if p := fleet.Find(presets, func(p *fleet.Role) bool { return p.Name == cmp.Or(s.Preset, name) }); p != nil {
		r = *p
	} else if s.Preset != "" {
		return r, fmt.Errorf("preset: there is none called %q%s", fleet.Line(s.Preset, 40), nearest.Hint(s.Preset, roleNames(presets)))
	}
	r.Name, r.Env, r.Account, r.Project, r.Headless, r.Heartbeat = name, s.Env, s.Account, s.Project, s.Headless, s.Heartbeat
	r.Kind, r.Argv, r.Restart, r.Max, r.Takes, r.Tries = s.Kind, s.Argv, fleet.Restart(s.Restart), s.Max, s.Takes, s.Tries
	r.ReportsTo, r.Mails = s.ReportsTo, s.Mails
	r.What, r.Prompt, r.Ends = cmp.Or(s.What, r.What), cmp.Or(s.Prompt, r.Prompt), cmp.Or(s.Ends, r.Ends)
	if s.Standing != nil {
		r.Standing = *s.Standing
	}
	if s.MaySpawn != nil {
		r.MaySpawn = s.MaySpawn
	}
	if r.Kind == "" && len(s.Argv) > 0 {
		r.Kind = filepath.Base(s.Argv[0])
	}
	return r, s.places(&r, cfg)
}

// places says where its agents work, and how much memory they have.
func (s roleSection) places(r *fleet.Role, cfg config.Config) error {
	if s.Repo != "" && s.Dir != "" {
		return errors.New("dir: want repo, of which each agent has a worktree, or dir, and not both")
	}
	for _, p := range []struct{ from, to *string }{{&s.Repo, &r.Repo}, {&s.Dir, &r.Dir}} {
		if *p.from == "" {
			continue
		}
		full, err := cfg.Expand(*p.from)
		if err != nil {
			return err
		}
		*p.to = fleet.Path(filepath.Clean(full))
	}
	for _, file := range s.Context {
		full, err := beside(cfg, file)
		if err != nil {
			return fmt.Errorf("context: %w", err)
		}
		r.Context = append(r.Context, fleet.Path(full))
	}
	if s.Memory == "" {
		return nil
	}
	n, err := fleet.ParseSize(s.Memory)
	r.MemoryMax = n
	return err
}

// beside is a path that is relative to the folder of custos.toml, where it is no other.
func beside(cfg config.Config, path string) (string, error) {
	if path == "" || strings.ContainsAny(path, "\x00\n") {
		return "", fmt.Errorf("%q is no file", fleet.Line(path, 80))
	}
	if path != "~" && !strings.HasPrefix(path, "~/") && !filepath.IsAbs(path) {
		dir, err := filepath.Abs(filepath.Dir(cfg.File)) // --config takes a path as from the folder that it is typed in
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, path)
	}
	return cfg.Expand(path)
}

func roleNames(roles []fleet.Role) (names []string) {
	for _, r := range roles {
		names = append(names, r.Name)
	}
	return names
}

// checkRole refuses a role that no agent could have.
func checkRole(r *fleet.Role, all map[string]roleSection, presets []fleet.Role, kinds *agent.Kinds) error {
	known := append(sortedNames(all), roleNames(presets)...)
	if !poolName.MatchString(r.Name) {
		return errors.New("its name may have a-z, 0-9, _ and -, 40 at most: it begins the names of its agents")
	}
	if err := checkKind(r.Kind, kinds); err != nil {
		return err
	}
	for _, name := range r.MaySpawn {
		if !slices.Contains(known, name) {
			return fmt.Errorf("may_spawn: there is no role %q%s", fleet.Line(name, 40), nearest.Hint(name, known))
		}
	}
	if err := checkContract(r, sortedNames(all)); err != nil {
		return err
	}
	for _, x := range [][2]string{{"prompt", r.Prompt}, {"argv", strings.Join(r.Argv, "\n")}} {
		if v := ledger.UnknownVariable(x[1]); v != "" {
			return fmt.Errorf("%s: there is no {{%s}}; there are %s", x[0], fleet.Line(v, 40), strings.Join(ledger.RoleVariables(), ", "))
		}
	}
	if r.Heartbeat != "" {
		if _, err := time.ParseDuration(r.Heartbeat); err != nil {
			return fmt.Errorf("heartbeat: want a time like \"10m\": %w", err)
		}
	}
	if kind, known := kinds.Get(r.Kind); known && r.Prompt != "" {
		cmd, err := agent.Launch(kind, agent.LaunchOptions{Headless: r.Headless, Prompt: r.Prompt})
		r.Typed = err == nil && cmd.Typed != "" // what cannot be launched is told where it is
	}
	return checkContext(r, kinds)
}

// checkContext refuses standing instructions that no agent of the role could be given.
func checkContext(r *fleet.Role, kinds *agent.Kinds) error {
	kind, known := kinds.Get(r.Kind)
	if len(r.Context) == 0 || !known {
		return nil
	}
	o := agent.LaunchOptions{Headless: r.Headless, Prompt: r.Prompt, Context: "x", ContextFile: "/x"}
	if o.Program = r.Kind; len(r.Argv) > 0 {
		o.Extra = r.Argv[1:]
	}
	if o.Headless && o.Prompt == "" {
		o.Prompt = "x" // which spawn has to say
	}
	if _, err := agent.Launch(kind, o); err != nil {
		return fmt.Errorf("context: %w", err)
	}
	return nil
}

// checkContract refuses a role that reports to none there is, or to itself, and mail of a type that there is not.
func checkContract(r *fleet.Role, configured []string) error {
	switch {
	case r.ReportsTo == r.Name:
		return errors.New("reports_to: a role reports to another one")
	case r.ReportsTo != "" && !slices.Contains(configured, r.ReportsTo):
		return fmt.Errorf("reports_to: there is no [role.%s]%s", fleet.Line(r.ReportsTo, 40), nearest.Hint(r.ReportsTo, configured))
	}
	types := ledger.RoleMails()
	for _, t := range r.Mails {
		if !slices.Contains(types, t) {
			return fmt.Errorf("mails: there is no type %q%s", fleet.Line(t, 40), nearest.Choice(t, types))
		}
	}
	return nil
}
