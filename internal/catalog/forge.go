package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/observe"
	forgeprobe "custos/internal/observe/forge"
	"custos/internal/observe/phases"
	"custos/internal/sys/forge"
	"custos/internal/sys/forge/gitlab"
	"custos/internal/sys/git"
	"custos/internal/sys/httpcache"
	"custos/internal/sys/httpjson"
	"custos/internal/sys/program"
)

// forgeMakers lists the built-in kinds of forge. Adding one is its folder and one line here.
func forgeMakers() []forge.Kind {
	return []forge.Kind{
		forge.Forgejo(),
		forge.Gitea(),
		forge.GitHub(),
		gitlab.Kind(),
	}
}

// forgeSection is the section [forge.NAME]: one project.
type forgeSection struct {
	Kind string `toml:"kind"`           // the name of one of forgeMakers
	URL  string `toml:"url" is:"name"`  // of the forge; by default that of its kind, where it has one
	Repo string `toml:"repo" is:"name"` // OWNER/NAME

	TokenFile    string   `toml:"token_file" is:"path"`
	TokenCommand []string `toml:"token_command"`
	TokenEnv     string   `toml:"token_env" is:"name"`
	CAFile       string   `toml:"ca_file" is:"path"` // who vouches for the forge

	Ready      []string `toml:"ready"`       // labels of issues that may be taken up
	InProgress []string `toml:"in_progress"` // of those that somebody works on
	Blocked    []string `toml:"blocked"`     // of those that wait

	Path      string `toml:"path" is:"path"`            // of its repository on this machine
	Agents    string `toml:"agents" is:"regexp"`        // how its agents are called
	Active    string `toml:"active" is:"path"`          // file whose absence says that nobody is to take up work there
	WatchOnly bool   `toml:"watch_only"`                // nothing there is touched
	Every     string `toml:"every" is:"duration 10s.."` // between two looks
}

// forgeAt is one project, read and checked.
type forgeAt struct {
	section forgeSection
	options forge.Options
	host    *httpcache.Host
}

// pulls are the options by which numbers are those of pull requests.
func (at forgeAt) pulls() forge.Options {
	o := at.options
	o.Pulls = true
	return o
}

// forges reads every [forge.NAME], by name.
func (w *World) forges() (map[string]forgeAt, error) {
	sections := map[string]forgeSection{}
	if err := w.Config.Section("forge", &sections); err != nil {
		return nil, err
	}
	out := map[string]forgeAt{}
	var wrong []error
	for _, name := range sortedNames(sections) {
		at, key, err := w.forge(sections[name])
		if err != nil {
			wrong = append(wrong, w.wrong("forge."+name, key, err))
		}
		out[name] = at
	}
	return out, errors.Join(wrong...)
}

// wrong says where in custos.toml a mistake is: at the key, else at its table.
func (w *World) wrong(table, key string, err error) error {
	at := cmp.Or(w.Config.Line(table+"."+key), w.Config.Line(table))
	return &config.Mistake{Err: fmt.Errorf("cannot read %s:%d: [%s] %s: %w", w.Config.File, at, table, key, err)}
}

// forge checks one section; with an error it says which key is wrong.
func (w *World) forge(s forgeSection) (at forgeAt, key string, err error) {
	kind, err := named(forgeMakers(), func(k forge.Kind) string { return k.Name }, s.Kind)
	if err != nil {
		return at, "kind", err
	}
	s.URL = cmp.Or(s.URL, kind.Site)
	if u, err := url.Parse(s.URL); err != nil || s.URL == "" || u.RawQuery != "" || u.Fragment != "" {
		return at, "url", errors.New(`want the address of the forge, like "https://git.example.org"`)
	}
	token, key, err := w.token(s.TokenFile, s.TokenCommand, s.TokenEnv)
	if err != nil {
		return at, key, err
	}
	at.section = s
	if at.host, err = w.host(kind.API(s.URL)); err != nil {
		return at, "url", err
	}
	roots, err := w.roots(s.CAFile, httpjson.Roots)
	if err != nil {
		return at, "ca_file", err
	}
	to := httpcache.NewTransport(at.host, kind.Scheme, token).Trusting(roots)
	at.options = forge.Options{Kind: kind, URL: s.URL, Repo: s.Repo, HTTP: to.Client()}
	return at, "repo", kind.CheckRepo(s.Repo)
}

// named is the kind of that name.
func named[K any](all []K, name func(K) string, want string) (kind K, err error) {
	var names []string
	for _, k := range all {
		if name(k) == want {
			return k, nil
		}
		names = append(names, name(k))
	}
	return kind, fmt.Errorf("%q is none of %s", want, strings.Join(names, ", "))
}

// token is where the secret of a section is, checked, and read when it is needed;
// with an error it says which key is wrong.
func (w *World) token(file string, command []string, env string) (func(context.Context) (string, error), string, error) {
	secret := program.Secret{File: file, Command: command, Env: env, Getenv: w.Getenv}
	if file != "" {
		path, err := w.Config.Expand(file)
		if err != nil {
			return nil, "token_file", err
		}
		secret.File = path
	}
	if err := secret.Check(); err != nil {
		return nil, "token_file, token_command, token_env", err
	}
	return secret.Read, "", nil
}

// host is the one host of an address: all who speak to it share one budget.
func (w *World) host(address string) (*httpcache.Host, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("it is no URL")
	}
	name := u.Scheme + "://" + strings.ToLower(u.Host)
	if h := w.hosts[name]; h != nil {
		return h, nil
	}
	h, err := httpcache.NewHost(httpcache.HostOptions{URL: address})
	if err != nil {
		return nil, err
	}
	if w.hosts == nil {
		w.hosts = map[string]*httpcache.Host{}
	}
	w.hosts[name] = h
	return h, nil
}

func newForge(w *World) (observe.Probe, error) {
	all, err := w.forges()
	if err != nil {
		return nil, err
	}
	o := forgeprobe.Options{Agents: w.hands, Worktrees: worktreesOf, Named: w.Named, Remembered: w.remembered}
	for _, name := range sortedNames(all) {
		project, key, err := w.watched(name, all[name])
		if err != nil {
			return nil, w.wrong("forge."+name, key, err)
		}
		o.Projects = append(o.Projects, project)
	}
	w.Forge, err = forgeprobe.New(o)
	return w.Forge, err
}

// watched is a project as the probe wants it; with an error, which key is wrong.
func (w *World) watched(name string, at forgeAt) (p forgeprobe.Project, key string, err error) {
	s := at.section
	p = forgeprobe.Project{Name: name, URL: s.URL, Repo: s.Repo, Owner: fleet.OwnerConfigured, Lazy: at.options.Kind.Lazy, Clock: at.host,
		Labels: forgeprobe.Labels{Ready: orElse(s.Ready, "backlog"), InProgress: orElse(s.InProgress, "in-progress"), Blocked: orElse(s.Blocked, "blocked")}}
	if s.WatchOnly {
		p.Owner = fleet.OwnerForeign
	}
	if fleet.Line(name, 60) != name || strings.ContainsAny(name, "#!/ ") {
		return p, "", fmt.Errorf("%q is no name for a project: want letters, digits, dots, - and _", fleet.Line(name, 60))
	}
	if s.Path != "" {
		if p.Path, err = w.Config.Expand(s.Path); err != nil {
			return p, "path", err
		}
		p.Path = filepath.Clean(p.Path)
	}
	if s.Active != "" {
		if p.Switch, err = w.Config.Expand(s.Active); err != nil {
			return p, "active", err
		}
	}
	if s.Agents != "" {
		if p.Agents, err = forgeprobe.CompileAgents(s.Agents); err != nil {
			return p, "agents", err
		}
	}
	if s.Every != "" {
		if p.Every, err = config.Duration(s.Every); err == nil && p.Every < forgeprobe.LeastEvery {
			err = fmt.Errorf("%s is too short: the least is %s", p.Every, forgeprobe.LeastEvery)
		}
		if err != nil {
			return p, "every", err
		}
	}
	if at.options.Kind.Apart {
		if p.Apart, err = forge.New(at.pulls()); err != nil {
			return p, "repo", err
		}
	}
	p.Reader, err = forge.New(at.options)
	return p, "repo", err
}

// orElse is a list, or its default when it was not set at all.
func orElse(list []string, other string) []string {
	if list == nil {
		return []string{other}
	}
	return list
}

// newPhases is the probe of phase files, which asks the forge about their issues.
func newPhases(w *World) (observe.Probe, error) {
	return probe(w, "phases", phases.Options{Home: w.Config.Home, Forge: w.Forge}, phases.New)
}

// hands lists who may be at work: the agents that are registered, and those that
// were seen lately.
func (w *World) hands(ctx context.Context) (out []forgeprobe.Hand, err error) {
	registered := map[string]bool{}
	if w.Registered != nil {
		list, err := w.registeredLately(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			registered[r.Name] = true
			if r.Desired == fleet.DesiredRetired {
				continue
			}
			out = append(out, forgeprobe.Hand{Name: r.Name, Project: r.Project, Task: r.Task, Branch: r.Branch, Registered: true,
				Repo: fleet.RawPath(r.Repo), Dir: fleet.RawPath(cmp.Or(r.Worktree, r.Dir))})
		}
	}
	if w.Recorded == nil {
		return out, nil
	}
	list, err := w.Recorded(ctx)
	for _, r := range list {
		if !registered[r.Name] && w.Now().Since(r.LastSeen) < recently {
			out = append(out, forgeprobe.Hand{Name: r.Name, Dir: fleet.RawPath(r.CWD)})
		}
	}
	return out, err
}

// recently is how long ago an agent that nobody registered may have been seen and
// still be at work: two patrols.
const recently = 40 * time.Minute

// worktreesOf lists the worktrees of a repository with their branches.
func worktreesOf(ctx context.Context, repo string) (out []forgeprobe.Tree, err error) {
	list, err := git.New(git.Options{}).Worktrees(ctx, repo)
	for _, t := range list {
		out = append(out, forgeprobe.Tree{Path: t.Path, Branch: t.Branch})
	}
	return out, err
}
