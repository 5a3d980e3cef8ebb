// Package edge_test holds what is shipped for a container against itself, the layout and the
// page: what it does with a real engine is shown by scripts/edge-check.
package edge_test

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v3"

	"custos/internal/cli"
	"custos/internal/config"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"custos": func() { os.Exit(cli.Main("test")) }})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Setup: func(e *testscript.Env) error {
		for k, v := range map[string]string{"HOME": e.WorkDir, "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""} {
			e.Setenv(k, v)
		}
		return shipped(e.WorkDir)
	}})
}

// shipped puts the custos.toml of each service into a folder, with its secrets and the ops
// repository beside it, as they are mounted.
func shipped(dir string) error {
	mounted := regexp.MustCompile(`"(/run/secrets/[a-z_]+|/srv/ops)"`)
	if err := os.MkdirAll(dir+"/srv/ops", 0o700); err != nil {
		return err
	}
	if err := os.MkdirAll(dir+"/run/secrets", 0o700); err != nil {
		return err
	}
	for name, file := range map[string]string{"alone.toml": "custos/custos.toml", "disinto.toml": "disinto/custos/custos.toml", "agents.toml": "agents/custos.toml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), mounted.ReplaceAll(text, []byte(`"`+dir+`$1"`)), 0o600); err != nil {
			return err
		}
		for _, m := range mounted.FindAllSubmatch(text, -1) {
			if at := string(m[1]); strings.HasPrefix(at, "/run/") {
				if err := os.WriteFile(dir+at, []byte("a secret"), 0o600); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// service is one service of compose, as far as it is held against something.
type service struct {
	Image, Hostname string
	Name            string   `yaml:"container_name"`
	Network         string   `yaml:"network_mode"`
	Root            bool     `yaml:"read_only"`
	Drop            []string `yaml:"cap_drop"`
	Security        []string `yaml:"security_opt"`
	Groups          []string `yaml:"group_add"`
	Command         []string
	Volumes, Tmpfs  []string
	Secrets         []string
	Healthcheck     struct{ Disable bool }
}

// mounts are the places in the container, each with what is mounted there.
func (s service) mounts() map[string]string {
	out := map[string]string{}
	for _, v := range s.Volumes {
		parts := strings.Split(variable.ReplaceAllString(v, "$1"), ":")
		out[parts[1]] = parts[0]
	}
	for _, name := range s.Secrets {
		out["/run/secrets/"+name] = name
	}
	return out
}

// holds says whether a path in the container lies in something that is mounted.
func (s service) holds(file string) bool {
	for dir := range s.mounts() {
		if file == dir || strings.HasPrefix(file, dir+"/") {
			return true
		}
	}
	return strings.HasPrefix(file, "~/")
}

type compose struct {
	Services map[string]service
	Volumes  map[string]any
	Secrets  map[string]any
}

// variable is one of compose: ${NAME}, ${NAME:-default} or ${NAME:?what it is}.
var variable = regexp.MustCompile(`\$\{([A-Z_]+)(?::([-?])([^}]*))?\}`)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func parsed(t *testing.T, name string) (c compose) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, name)), &c); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return c
}

// settings are what of a custos.toml names a place in the container, or a container.
type settings struct {
	Active     string
	LogDir     string `toml:"log_dir"`
	Patrol     string `toml:"patrol_every"`
	Mode       string
	Containers struct {
		Socket       string
		Ours, Wanted []string
	}
	Journal struct {
		Repo string `toml:"ops_repo"`
	}
	Forge, Host map[string]struct {
		Socket string
		Token  string `toml:"token_file"`
	}
	Publish struct {
		Socket string
		Token  string `toml:"token_file"`
	}
	Logs struct{ Globs []string }
}

func configured(t *testing.T, name string) (s settings) {
	t.Helper()
	if err := toml.Unmarshal([]byte(read(t, name)), &s); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

// Each place that a custos.toml names is mounted in the service that reads it, and each
// container that it names is one.
func TestConfigurationsFitTheirServices(t *testing.T) {
	for _, c := range []struct{ compose, service, config string }{
		{"compose.yaml", "custos", "custos/custos.toml"},
		{"compose.yaml", "agents", "agents/custos.toml"},
		{"disinto/compose.override.yaml", "custos", "disinto/custos/custos.toml"},
	} {
		s, all := configured(t, c.config), parsed(t, c.compose)
		places := append([]string{s.Active, s.LogDir, s.Containers.Socket, s.Journal.Repo, s.Publish.Socket, s.Publish.Token}, s.Logs.Globs...)
		for _, x := range []map[string]struct {
			Socket string
			Token  string `toml:"token_file"`
		}{s.Forge, s.Host} {
			for _, y := range x {
				places = append(places, y.Socket, y.Token)
			}
		}
		for _, p := range places {
			if p != "" && p != "none" && !all.Services[c.service].holds(p) {
				t.Errorf("%s names %s, and nothing is mounted there by %s", c.config, p, c.compose)
			}
		}
		if at := all.Services[c.service].mounts()["/etc/custos"]; "./"+filepath.Base(filepath.Dir(c.config)) != at {
			t.Errorf("%s mounts %q at /etc/custos, and the configuration is %s", c.compose, at, c.config)
		}
	}
}

// What may be restarted, the proxy allows; what is wanted has the name of a container.
func TestWhatMayBeRestarted(t *testing.T) {
	disinto := []string{"disinto-edge", "disinto-agents", "disinto-forgejo"} // container_name in its docker-compose.yml
	for name, config := range map[string]string{"compose.yaml": "custos/custos.toml", "disinto/compose.override.yaml": "disinto/custos/custos.toml"} {
		s, all := configured(t, config), parsed(t, name)
		known := slices.Clone(disinto)
		for _, x := range all.Services {
			known = append(known, x.Name)
		}
		allowed := ""
		for _, word := range all.Services["custos-engine"].Command {
			if rest, ok := strings.CutPrefix(word, "--allow-restart="); ok {
				allowed = variable.FindStringSubmatch(rest)[3]
			}
			if rest, ok := strings.CutPrefix(word, "--listen="); ok && rest != s.Containers.Socket {
				t.Errorf("%s has the proxy at %s, and %s looks at %s", name, rest, config, s.Containers.Socket)
			}
		}
		for _, c := range append(s.Containers.Ours, s.Containers.Wanted...) {
			if !slices.Contains(known, c) {
				t.Errorf("%s names container %s, of which there is none", config, c)
			}
		}
		if got := strings.Join(s.Containers.Ours, ","); got != allowed {
			t.Errorf("%s may restart %q, and the proxy allows %q", config, got, allowed)
		}
	}
}

// Custos has no more than it needs: no rights, no root that can be written, and never the
// engine's socket; who has that has no network, and nothing else of anybody.
func TestServicesHaveNoMoreThanTheyNeed(t *testing.T) {
	for _, name := range []string{"compose.yaml", "disinto/compose.override.yaml"} {
		all := parsed(t, name)
		for _, s := range []string{"custos", "custos-engine"} {
			x := all.Services[s]
			if !x.Root || !slices.Equal(x.Drop, []string{"ALL"}) || !slices.Equal(x.Security, []string{"no-new-privileges:true"}) || !slices.Contains(x.Tmpfs, "/tmp") {
				t.Errorf("%s: %s is %+v", name, s, x)
			}
		}
		for s, x := range all.Services {
			if got := x.holds("/var/run/docker.sock"); got != (s == "custos-engine") {
				t.Errorf("%s: that %s has the engine's socket is %v", name, s, got)
			}
		}
		e := all.Services["custos-engine"]
		if e.Network != "none" || len(e.Secrets) > 0 || !e.Healthcheck.Disable || len(e.mounts()) != 2 || len(e.Groups) != 1 || !slices.Contains(e.Tmpfs, "/var/lib/custos") {
			t.Errorf("%s: custos-engine is %+v", name, e)
		}
		for s, x := range all.Services {
			for at, what := range x.mounts() {
				_, volume := all.Volumes[what]
				_, secret := all.Secrets[what]
				if named := regexp.MustCompile(`^[a-z]`).MatchString(what); named && !volume && !secret && what != "agent-data" { // that is the factory's
					t.Errorf("%s: %s mounts %s at %s, which is not declared", name, s, what, at)
				}
			}
		}
	}
	raw := parsed(t, "compose.raw.yaml").Services
	if len(raw) != 1 || !raw["custos"].holds("/var/run/docker.sock") {
		t.Errorf("compose.raw.yaml is %+v", raw)
	}
}

// A custos.toml that is shipped says nothing that the layout does not tell of, with the same
// words: what is a comment there may be in force here.
func TestConfigurationsFollowTheLayout(t *testing.T) {
	layout, err := config.Layout("edge")
	if err != nil {
		t.Fatal(err)
	}
	known := words(string(layout))
	for _, name := range []string{"custos/custos.toml", "disinto/custos/custos.toml"} {
		for w := range words(read(t, name)) {
			if !known[w] {
				t.Errorf("%s has %s, of which custos init --layout edge says nothing", name, w)
			}
		}
		if s := configured(t, name); s.Mode != "observe" || s.Patrol != "20m" || s.LogDir != "~/log" {
			t.Errorf("%s begins with %+v", name, s)
		}
	}
}

// words are the keys of a custos.toml, each with its section but for the name that a person
// gives it, comments that hold one among them.
func words(text string) map[string]bool {
	out, section := map[string]bool{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "#"))
		if m := regexp.MustCompile(`^\[([a-z]+)(\.[a-z]+)?\]$`).FindStringSubmatch(line); m != nil {
			section = m[1]
		}
		if m := regexp.MustCompile(`^([a-z_]+) = `).FindStringSubmatch(line); m != nil {
			out[strings.TrimPrefix(section+" "+m[1], " ")] = true
		}
	}
	return out
}

// The image is what the pages say.
func TestTheImageIsWhatThePagesSay(t *testing.T) {
	text := read(t, "Dockerfile")
	at := func(word string) string {
		m := regexp.MustCompile(`(?m)^` + word + ` (.*)$`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("the Dockerfile has no %s", word)
		}
		return m[1]
	}
	if line := "HEALTHCHECK " + at("HEALTHCHECK"); !strings.Contains(read(t, "../../docs/service.md"), line) {
		t.Errorf("docs/service.md does not have %s", line)
	}
	for word, want := range map[string]string{"USER": "${UID}:${GID}", "STOPSIGNAL": "SIGTERM", "VOLUME": "/var/lib/custos", "ENTRYPOINT": `["custos"]`, "CMD": `["up"]`,
		"COPY": "custos custos-shim custos-hook /usr/lib/custos/"} {
		if got := at(word); got != want {
			t.Errorf("%s is %s, want %s", word, got, want)
		}
	}
	page := read(t, "../../docs/edge.md")
	for _, said := range []string{"10001", "/var/lib/custos", "/etc/custos", "custos init --layout edge"} {
		if !strings.Contains(page, said) || !strings.Contains(text, said) {
			t.Errorf("%s is not in both the page and the Dockerfile", said)
		}
	}
}

// The page tells of every file and every variable, and edge-check types every block of it.
func TestThePageIsWhole(t *testing.T) {
	page, check := read(t, "../../docs/edge.md"), read(t, "../../scripts/edge-check")
	for _, name := range []string{"compose.yaml", "compose.raw.yaml", "disinto/compose.override.yaml"} {
		if !strings.Contains(page, path.Base(name)) {
			t.Errorf("docs/edge.md does not tell of %s", name)
		}
		for _, m := range variable.FindAllStringSubmatch(read(t, name), -1) {
			if !strings.Contains(page, m[1]) {
				t.Errorf("docs/edge.md does not tell of %s in %s", m[1], name)
			}
		}
	}
	titles := map[string]bool{}
	for _, m := range regexp.MustCompile("(?s)\n```sh\n# ([^\n]+)\n(.*?)\n```").FindAllStringSubmatch(page, -1) {
		titles[m[1]] = true
		if !strings.Contains(check, "block '"+m[1]+"'") {
			t.Errorf("scripts/edge-check does not type %q of docs/edge.md", m[1])
		}
	}
	if n := strings.Count(page, "```sh\n"); n != len(titles) || n == 0 {
		t.Errorf("of %d blocks %d have a title of their own: %v", n, len(titles), slices.Sorted(maps.Keys(titles)))
	}
	for _, m := range regexp.MustCompile(`block '([^']+)'`).FindAllStringSubmatch(check, -1) {
		if !titles[m[1]] {
			t.Errorf("scripts/edge-check types %q, which docs/edge.md does not have", m[1])
		}
	}
}
