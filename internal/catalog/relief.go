package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"custos/internal/agent"
	"custos/internal/config"
	"custos/internal/fleet"
)

// handoffSection is the section [handoff].
type handoffSection struct {
	For      []string `toml:"for" is:"name"`               // roles, kinds and names of agents; "*": all that Custos started
	Percent  *float64 `toml:"percent" is:"10..100"`        // of the context used; 80
	Deadline string   `toml:"deadline" is:"duration 1m.."` // for the answer; "10m"
}

// Handoff reads the section [handoff].
func Handoff(cfg config.Config) (fleet.HandoffPolicy, error) {
	out, s := fleet.DefaultHandoffPolicy(), handoffSection{}
	if err := cfg.Section("handoff", &s); err != nil {
		return out, err
	}
	fail := func(format string, args ...any) (fleet.HandoffPolicy, error) {
		return out, cfg.Misread("handoff", fmt.Errorf(format, args...))
	}
	if slices.Contains(s.For, "") {
		return fail(`for: "" names no agent: want roles, kinds, names, or "*"`)
	}
	out.For = s.For
	if s.Percent != nil {
		out.Percent = *s.Percent
	}
	if out.Percent < 10 || out.Percent > 100 {
		return fail("percent: %v is not from 10 to 100", out.Percent)
	}
	if s.Deadline != "" {
		d, err := config.Duration(s.Deadline)
		if err != nil {
			return fail("deadline: %v", err)
		}
		out.Deadline = fleet.Duration(d)
	}
	if out.Deadline < fleet.Duration(time.Minute) {
		return fail("deadline: %s is less than 1m: an agent has to think first", out.Deadline)
	}
	return out, nil
}

// poolSection is the section [pool.NAME].
type poolSection struct {
	Role     string   `toml:"role"`           // of its workers; the name of the pool
	Project  string   `toml:"project"`        // whose ready issues it is for
	Kind     string   `toml:"kind"`           // of agent CLI; what argv begins with
	Argv     []string `toml:"argv"`           // the command line
	Env      []string `toml:"env" is:"name"`  // names of variables that are passed on
	Account  string   `toml:"account"`        // whose rate limit they share
	Accounts []string `toml:"accounts"`       // or several: each new worker has the one that is in use
	Prompt   string   `toml:"prompt"`         // the first one of each
	Headless bool     `toml:"headless"`       // without a terminal
	Dir      string   `toml:"dir" is:"path"`  // where they work
	Repo     string   `toml:"repo" is:"path"` // or what each has a worktree of
	Min      int      `toml:"min" is:"0..100"`
	Max      *int     `toml:"max" is:"1..100"`
	Hosts    string   `toml:"hosts"`                         // each or one
	Lost     string   `toml:"lost_after" is:"duration 1m.."` // how long a host is silent before others replace its workers; never
	OnReturn string   `toml:"on_return"`                     // what becomes of those when it is back: keep, stop_new or ask
	Idle     string   `toml:"idle" is:"duration 1m.."`       // after which one that is not needed is ended; "30m"
	Enabled  *bool    `toml:"enabled"`
}

const (
	mostWorkers = 100
	poolIdle    = 30 * time.Minute
)

// poolName begins the names of its workers, of their branches and their orders.
var poolName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// Pools reads the sections [pool.NAME], in the order of their names.
func Pools(cfg config.Config, kinds *agent.Kinds) ([]fleet.Pool, error) {
	sections := map[string]poolSection{}
	if err := cfg.Section("pool", &sections); err != nil {
		return nil, err
	}
	accounts, err := Accounts(cfg, kinds)
	if err != nil {
		return nil, err
	}
	var out []fleet.Pool
	var wrong []error
	for _, name := range sortedNames(sections) {
		p, err := sections[name].pool(name, cfg, kinds)
		if err == nil {
			err = checkAccounts(p, accounts)
		}
		if err != nil {
			wrong = append(wrong, cfg.Misread("pool."+name, err))
		}
		out = append(out, p)
	}
	return out, errors.Join(wrong...)
}

func (s poolSection) pool(name string, cfg config.Config, kinds *agent.Kinds) (fleet.Pool, error) {
	p := fleet.Pool{Name: name, Role: cmp.Or(s.Role, name), Project: s.Project, Kind: s.Kind, Argv: s.Argv, Env: s.Env, Account: s.Account, Accounts: s.Accounts, Prompt: s.Prompt,
		Where: fleet.WhereTmux, Min: s.Min, Max: max(1, s.Min), Disabled: s.Enabled != nil && !*s.Enabled, Hosts: fleet.Hosts(s.Hosts), OnReturn: fleet.OnReturn(s.OnReturn)}
	if s.Hosts != "" && p.Hosts != fleet.HostsEach && p.Hosts != fleet.HostsOne {
		return p, fmt.Errorf("hosts: %q is none of %s and %s", s.Hosts, fleet.HostsEach, fleet.HostsOne)
	}
	if s.Lost != "" && p.Hosts != fleet.HostsOne {
		return p, errors.New(`lost_after needs hosts = "one": each host starts its own workers otherwise`)
	}
	if err := s.checkReturn(); err != nil {
		return p, err
	}
	if s.Headless {
		p.Where = fleet.WhereHeadless
	}
	if s.Max != nil {
		p.Max = *s.Max
	}
	if p.Kind == "" && len(s.Argv) > 0 {
		p.Kind = filepath.Base(s.Argv[0])
	}
	var err error
	if p.Idle, err = durationOr(s.Idle, poolIdle); err != nil {
		return p, fmt.Errorf("idle: %w", err)
	}
	if p.LostAfter, err = durationOr(s.Lost, 0); err != nil {
		return p, fmt.Errorf("lost_after: %w", err)
	}
	if err := s.place(&p, cfg.Home); err != nil {
		return p, err
	}
	return p, checkPool(&p, kinds)
}

// checkReturn refuses an on_return that says nothing.
func (s poolSection) checkReturn() error {
	ways := []string{string(fleet.ReturnKeep), string(fleet.ReturnStopNew), string(fleet.ReturnAsk)}
	switch {
	case s.OnReturn == "":
		return nil
	case s.Lost == "":
		return errors.New("on_return needs lost_after: no worker is replaced otherwise")
	case !slices.Contains(ways, s.OnReturn):
		return fmt.Errorf("on_return: %q is none of %s", s.OnReturn, strings.Join(ways, ", "))
	}
	return nil
}

// place says where its workers work.
func (s poolSection) place(p *fleet.Pool, home string) error {
	if (s.Dir == "") == (s.Repo == "") {
		return errors.New(`want exactly one of dir = "~/work" and repo = "~/project", of which each worker has a worktree`)
	}
	path := cmp.Or(s.Dir, s.Repo)
	if rest, below := strings.CutPrefix(path, "~/"); below {
		path = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%q is no absolute path", fleet.Line(path, 200))
	}
	if path = fleet.Path(filepath.Clean(path)); s.Dir != "" {
		p.Dir = path
	} else {
		p.Repo = path
	}
	return nil
}

// checkKind refuses a kind of agent that there is not.
func checkKind(name string, kinds *agent.Kinds) error {
	if name == "" {
		return errors.New(`kind: want a kind of agent, like "claude"`)
	}
	if _, known := kinds.Get(name); !known {
		return fmt.Errorf("kind: there is no kind %q; there are %s", fleet.Line(name, 40), strings.Join(kinds.Names(), ", "))
	}
	return nil
}

func checkPool(p *fleet.Pool, kinds *agent.Kinds) error {
	if !poolName.MatchString(p.Name) {
		return errors.New("its name may have a-z, 0-9, _ and -, 40 at most: it becomes a part of branches")
	}
	if err := checkKind(p.Kind, kinds); err != nil {
		return err
	}
	kind, _ := kinds.Get(p.Kind)
	switch {
	case p.Prompt == "":
		return errors.New("prompt: without one a worker does not know what it is for")
	case p.Min < 0 || p.Max < 1 || p.Max > mostWorkers || p.Min > p.Max:
		return fmt.Errorf("min = %d and max = %d: want 0 to max, and 1 to %d", p.Min, p.Max, mostWorkers)
	case p.Idle < fleet.Duration(time.Minute):
		return fmt.Errorf("idle: %s is less than 1m", p.Idle)
	}
	cmd, err := agent.Launch(kind, agent.LaunchOptions{Headless: p.Where == fleet.WhereHeadless, Prompt: p.Prompt})
	if err != nil {
		return err
	}
	p.Typed = cmd.Typed != ""
	return nil
}
