package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"custos/internal/act"
	"custos/internal/act/cancelpipeline"
	"custos/internal/act/retrigger"
	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/observe"
	ciprobe "custos/internal/observe/ci"
	"custos/internal/sys/ci"
	"custos/internal/sys/ci/gitlab"
	"custos/internal/sys/httpcache"
	"custos/internal/sys/httpjson"
)

// ciMakers lists the built-in kinds of CI system. Adding one is its folder and one line here.
func ciMakers() []ci.Kind {
	return []ci.Kind{
		ci.Woodpecker(),
		ci.ForgejoActions(),
		ci.GiteaActions(),
		ci.GitHubActions(),
		gitlab.Kind(),
	}
}

// ciSection is the section [ci.NAME]: one project of one CI system.
type ciSection struct {
	Kind    string `toml:"kind"`              // the name of one of ciMakers
	URL     string `toml:"url" is:"name"`     // of the server; by default that of its kind, where it has one
	Repo    string `toml:"repo" is:"name"`    // OWNER/NAME
	Project string `toml:"project" is:"name"` // the name of its [forge.NAME]; by default NAME of repo

	TokenFile    string   `toml:"token_file" is:"path"`
	TokenCommand []string `toml:"token_command"`
	TokenEnv     string   `toml:"token_env" is:"name"`
	CAFile       string   `toml:"ca_file" is:"path"` // who vouches for the server

	Primary      string            `toml:"primary" is:"name"`                // branch; by default what the server says
	Infra        []ciprobe.Rule    `toml:"infra"`                            // which failures are the machinery's
	Workers      map[string]string `toml:"workers"`                          // those that must be there, and the containers they run in
	WorkerSilent string            `toml:"worker_silent" is:"duration 1m.."` // longer than this, and a worker is not healthy
	WorkerForget string            `toml:"worker_forget" is:"duration 1m.."` // longer than this, and one that is not named above is forgotten
	Attempts     int               `toml:"attempts" is:"0..20"`              // of one pipeline, by retrigger, the first one counted
	WatchOnly    bool              `toml:"watch_only"`                       // nothing there is run again or cancelled
	Every        string            `toml:"every" is:"duration 10s.."`        // between two looks; the shortest of all sections counts
}

// ciAt is one section, read and checked.
type ciAt struct {
	section ciSection
	options ci.Options
	host    *httpcache.Host
	system  ciprobe.System
	every   time.Duration
}

// cis reads every [ci.NAME], by name.
func (w *World) cis() (map[string]ciAt, error) {
	sections := map[string]ciSection{}
	if err := w.Config.Section("ci", &sections); err != nil {
		return nil, err
	}
	out := map[string]ciAt{}
	var bad []error
	for _, name := range sortedNames(sections) {
		at, key, err := w.ciOf(name, sections[name])
		if err != nil {
			bad = append(bad, w.wrong("ci."+name, key, err))
		}
		out[name] = at
	}
	return out, errors.Join(bad...)
}

// ciOf checks one section; with an error it says which key is wrong.
func (w *World) ciOf(name string, s ciSection) (at ciAt, key string, err error) {
	kind, err := named(ciMakers(), func(k ci.Kind) string { return k.Name }, s.Kind)
	if err != nil {
		return at, "kind", err
	}
	s.URL = cmp.Or(s.URL, kind.Site)
	api, err := kind.API(s.URL)
	if err != nil {
		return at, "url", errors.New(`want the address of the server, like "https://ci.example.org", without a password in it`)
	}
	token, key, err := w.token(s.TokenFile, s.TokenCommand, s.TokenEnv)
	if err != nil {
		return at, key, err
	}
	if at.host, err = w.host(api); err != nil {
		return at, "url", err
	}
	roots, err := w.roots(s.CAFile, httpjson.Roots)
	if err != nil {
		return at, "ca_file", err
	}
	besides, err := w.roots(s.CAFile, httpjson.RootsBesides)
	if err != nil {
		return at, "ca_file", err
	}
	at.section = s
	at.options = ci.Options{Kind: kind, URL: s.URL, Project: s.Repo, Clock: at.host.Clock, Roots: besides,
		HTTP: httpcache.NewTransport(at.host, kind.Scheme, token).Trusting(roots).Client()}
	if err := kind.CheckRepo(s.Repo); err != nil {
		return at, "repo", err
	}
	key, err = at.watch(name)
	return at, key, err
}

// watch fills in the system as the probe wants it.
func (at *ciAt) watch(name string) (key string, err error) {
	s := at.section
	repo := path.Base(s.Repo)
	at.system = ciprobe.System{Name: name, Project: cmp.Or(s.Project, repo), Repo: s.Repo, Primary: s.Primary, Owner: fleet.OwnerConfigured, Spare: at.host.Spare,
		Infra: s.Infra, Workers: s.Workers, TellsWorkers: at.options.Kind.Tells}
	if s.WatchOnly {
		at.system.Owner = fleet.OwnerForeign
	}
	for _, n := range []struct{ key, text string }{{"", name}, {"project", at.system.Project}} {
		if fleet.Line(n.text, 60) != n.text || n.text == "" || strings.ContainsAny(n.text, "#!/ ") {
			return n.key, fmt.Errorf("%q is no name: want letters, digits, dots, - and _", fleet.Line(n.text, 60))
		}
	}
	if _, err := ciprobe.Rules(s.Infra); err != nil {
		return "infra", err
	}
	if s.Attempts < 0 || s.Attempts > 20 {
		return "attempts", fmt.Errorf("%d: want 1 to 20, or nothing for 3", s.Attempts)
	}
	for _, d := range []struct {
		key, text string
		least     time.Duration
		into      *time.Duration
	}{{"worker_silent", s.WorkerSilent, time.Minute, &at.system.Silent}, {"worker_forget", s.WorkerForget, time.Minute, &at.system.Forget},
		{"every", s.Every, 10 * time.Second, &at.every}} {
		if d.text == "" {
			continue
		}
		if *d.into, err = config.Duration(d.text); err != nil {
			return d.key, err
		}
		if *d.into < d.least {
			return d.key, fmt.Errorf("%s is too short: the least is %s", d.text, d.least)
		}
	}
	at.system.Reader, err = ci.NewReader(at.options)
	return "repo", err
}

func newCI(w *World) (observe.Probe, error) {
	all, err := w.cis()
	if err != nil {
		return nil, err
	}
	var o ciprobe.Options
	for _, name := range sortedNames(all) {
		at := all[name]
		o.Systems = append(o.Systems, at.system)
		if at.every > 0 && (o.Every == 0 || at.every < o.Every) {
			o.Every = at.every
		}
	}
	return ciprobe.New(o)
}

// ciActionMakers lists the actions on pipelines.
func ciActionMakers() []actionMaker {
	return []actionMaker{
		{retrigger.Do, "ci", newRetrigger},
		{cancelpipeline.Do, "ci", newCancelPipeline},
	}
}

func newRetrigger(w *World) (act.Action, error) {
	o := retrigger.Options{Systems: map[string]retrigger.System{}}
	err := w.eachCI(func(name string, at ciAt, r *ci.Reader, writer *ci.Writer) {
		o.Systems[name] = retrigger.System{Looker: r, Writer: writer, Attempts: at.section.Attempts}
	})
	return retrigger.New(o), err
}

func newCancelPipeline(w *World) (act.Action, error) {
	o := cancelpipeline.Options{Systems: map[string]cancelpipeline.System{}}
	err := w.eachCI(func(name string, at ciAt, r *ci.Reader, writer *ci.Writer) {
		o.Systems[name] = cancelpipeline.System{Looker: r, Writer: writer, Clock: at.host.Clock}
	})
	return cancelpipeline.New(o), err
}

// eachCI hands over the systems that may be written to, with a reader that is not
// the probe's: an action does not wait for a look.
func (w *World) eachCI(f func(name string, at ciAt, r *ci.Reader, writer *ci.Writer)) error {
	all, err := w.cis()
	if err != nil {
		return err
	}
	for name, at := range all {
		if at.section.WatchOnly {
			continue
		}
		r, err := ci.NewReader(at.options)
		if err != nil {
			return w.wrong("ci."+name, "repo", err)
		}
		writer, err := ci.NewWriter(at.options)
		if err != nil {
			return w.wrong("ci."+name, "repo", err)
		}
		f(name, at, r, writer)
	}
	return nil
}
