//go:build conformance

package conformance

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"custos/internal/agent"
)

// cli is a real agent CLI: where it comes from, how a clean home is made for it, and what
// it is known to do otherwise than the others. Each has a file of its own, cli_NAME_test.go.
type cli struct {
	kind string
	// pkg is its package at npm; taught is the version whose screens and hooks Custos was
	// taught. newer is the package of its newest version, where that got another name.
	pkg, taught, newer string
	// with are packages that are installed beside it in the same version, by the folder's name.
	with map[string]string
	bin  string // its program, in node_modules/.bin

	version string // of this run

	// settle writes the settings that a person has after the first start, and returns its
	// environment.
	settle func(t *testing.T, h home) []string
	extra  []string // arguments
	// fresh is settle for one that was never started, and first the dialogs that it shows then.
	fresh func(t *testing.T, h home) []string
	first func(version string) []firstDialog

	commands []string            // of its own, after which its prompt is free again
	menus    map[string][]string // the keys that take the first choice of the menu that a command opens

	permission  int    // dialogs that its tool call stands at
	limitIs     string // what a 429 is seen by: hook, screen; empty: by nothing
	retries     bool   // after a 429, again and again
	oneCtrlC    bool   // ends it: the next one would meet it with its terminal given back, as SIGINT from nobody
	ignoresTerm bool   // what it shows as its process: a launcher, and the CLI below it does not hear of SIGTERM
	startTold   bool   // SessionStart comes at the start, not with the first prompt
}

// clis are all that there are.
func clis() []cli {
	return []cli{claudeCLI(), codexCLI(), opencodeCLI(), geminiCLI(), qwenCLI(), piCLI()}
}

func (c cli) String() string { return c.kind + "@" + c.version }

// folder is a path below the folder that something of its version is installed in.
func (c cli) folder(name string, parts ...string) string {
	return installed(append([]string{name + "@" + c.version}, parts...)...)
}

// path is where programs are looked for: its own Node first, where it asks for another than
// this machine's.
func (c cli) path() string {
	own, err := os.ReadFile(c.folder(c.kind, ".node"))
	if err != nil {
		return os.Getenv("PATH")
	}
	return strings.TrimSpace(string(own)) + ":" + os.Getenv("PATH")
}

// program is the path of its program.
func (c cli) program() string { return c.folder(c.kind, "node_modules/.bin", c.bin) }

// list tells scripts/conformance what to install, one CLI a line: name, version taught, its
// package, the package of the newest, and NAME=PACKAGE of each beside it.
func list() string {
	var b strings.Builder
	for _, c := range clis() {
		fmt.Fprintf(&b, "%s %s %s %s", c.kind, c.taught, c.pkg, cmp.Or(c.newer, c.pkg))
		for name, pkg := range c.with {
			fmt.Fprintf(&b, " %s=%s", name, pkg)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// wanted returns the CLIs that are to be run, in the versions that are.
func wanted(t *testing.T) (found []cli) {
	t.Helper()
	for _, word := range strings.Fields(os.Getenv(clisVar)) {
		name, version, _ := strings.Cut(word, "@")
		i := slices.IndexFunc(clis(), func(c cli) bool { return c.kind == name })
		if i < 0 {
			t.Fatalf("there is no CLI %q", name)
		}
		c := clis()[i]
		c.version = version
		found = append(found, c)
	}
	return found
}

// parse reads the kinds, with the changes that somebody tries out (--kinds).
func parse(t *testing.T) *agent.Kinds {
	t.Helper()
	var overlays []agent.Source
	if file := os.Getenv(kindsVar); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		overlays = append(overlays, agent.Source{Name: file, Text: text})
	}
	kinds, err := agent.Parse(overlays...)
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

// eachCLI runs a test for every CLI that is wanted, in every version.
func eachCLI(t *testing.T, test func(t *testing.T, c cli, k agent.Kind)) {
	kinds := parse(t)
	for _, c := range wanted(t) {
		t.Run(c.String(), func(t *testing.T) {
			k, ok := kinds.Get(c.kind)
			if !ok {
				t.Fatalf("Custos knows no kind %s", c.kind)
			}
			test(t, c, k)
		})
	}
	if len(wanted(t)) == 0 {
		t.Error("no agent CLI was run")
	}
}
