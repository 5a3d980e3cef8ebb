package agentrun_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"custos/internal/act/agentrun"
	"custos/internal/act/spawn"
	"custos/internal/boundary"
	"custos/internal/fleet"
	"custos/internal/sys/shim"
)

// instructed is a launcher like the ground's, whose builders have standing instructions in these files.
func (g *ground) instructed(files []string, bounds ...agentrun.Bounds) *agentrun.Launcher {
	g.t.Helper()
	l, err := agentrun.NewLauncher(agentrun.LauncherOptions{World: g.world, Run: g.run, Hook: filepath.Join(binaries, "custos-hook"), Bounds: bounds,
		Context: func(role string) []string {
			if role == "builder" {
				return files
			}
			return nil
		},
		Environ: func() []string { return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.home, "LANG=C.UTF-8"} }})
	if err != nil {
		g.t.Fatal(err)
	}
	return l
}

// written makes a file with a text, and returns its path.
func written(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// aCLI is a scripted CLI: it writes its arguments, each in a line of its own, what stands in the file that it is
// told of, and what it reads.
const aCLI = `#!/bin/sh
{ for a; do printf '<%s>\n' "$a"; done
while [ $# -gt 0 ]; do [ "$1" = --append-system-prompt-file ] && { echo "MODE $(stat -c %a "$2")"; echo "FILE $(cat "$2")"; }; shift; done
[ -t 0 ] || echo "STDIN $(cat)"; echo END; } > OUT.tmp; mv OUT.tmp OUT
`

// What the CLI of each kind is given is what ReadContext and the kind say, and nothing of it is on the command line where
// there is another way.
func TestContextReachesTheCLI(t *testing.T) {
	for name, c := range map[string]struct {
		kind  string
		where fleet.Where
		role  string
		want  func(text, with string) string // what the CLI has to say
		argv  bool                           // the text stands on its command line
	}{
		"claude in a terminal":  {"claude", fleet.WhereTmux, "builder", func(text, _ string) string { return "MODE 600\nFILE " + text }, false},
		"claude without one":    {"claude", fleet.WhereHeadless, "builder", func(text, _ string) string { return "MODE 600\nFILE " + text }, false},
		"codex without one":     {"codex", fleet.WhereHeadless, "builder", func(_, with string) string { return "STDIN " + with }, false},
		"codex in a terminal":   {"codex", fleet.WhereTmux, "builder", func(_, with string) string { return "<" + with + ">" }, true},
		"qwen in a terminal":    {"qwen", fleet.WhereTmux, "builder", func(_, with string) string { return "<--prompt-interactive=" + with + ">" }, true},
		"claude, of other role": {"claude", fleet.WhereTmux, "scout", func(string, string) string { return "<do it>" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			g, dir := newGround(t), t.TempDir()
			files := []string{written(t, filepath.Join(dir, "a.md"), "House rules: 'quotes' & $HOME.\n", 0o600), written(t, filepath.Join(dir, "b.md"), "\nSecond.\n\n", 0o600)}
			out := filepath.Join(dir, "out")
			cli := written(t, filepath.Join(dir, c.kind), strings.ReplaceAll(aCLI, "OUT", out), 0o700)
			text, err := agentrun.ReadContext(files)
			if err != nil || text != "House rules: 'quotes' & $HOME.\n\nSecond." {
				t.Fatalf("%q, %v", text, err)
			}
			kind, _ := g.world.Kinds.Get(c.kind)
			_, with := kind.Instructed(c.where == fleet.WhereHeadless, text, "do it")
			b, err := g.instructed(files).Plan(fleet.Registration{Name: "one", Role: c.role, Kind: c.kind, Where: c.where, Argv: []string{cli}}, "i1", dir, agentrun.How{Prompt: "do it"})
			if err != nil {
				t.Fatal(err)
			}
			l := g.instructed(files)
			g.ledger["i1"] = fleet.Registration{Name: "one"}
			got, _, err := l.Start(t.Context(), &b)
			if err == nil {
				err = l.Give(t.Context(), b, got)
			}
			if err != nil {
				t.Fatal(err)
			}
			g.await("what it was given", func() bool { _, err := os.Stat(out); return err == nil })
			said, _ := os.ReadFile(out)
			if !strings.Contains(string(said), c.want(text, with)) {
				t.Errorf("it was given\n%s\nwant\n%s", said, c.want(text, with))
			}
			args, _, _ := strings.Cut(string(said), "\nMODE")
			args, _, _ = strings.Cut(args, "\nSTDIN")
			if strings.Contains(args, "House rules") != c.argv {
				t.Errorf("its command line is %s", args)
			}
			kept := filepath.Join(shim.Dir(g.world.Shims, "i1"), agentrun.ContextFile)
			if _, err := os.Lstat(kept); (err == nil) != (c.role == "builder" && c.kind == "claude") {
				t.Errorf("the file of a start with %s: %v", name, err)
			}
			if learned := agentrun.Learned(fleet.Registration{}, b, got, fleet.Instant{}); slices.ContainsFunc(learned.Given, func(f fleet.Given) bool { return fleet.RawPath(f.Path) == kept }) != (c.role == "builder" && c.kind == "claude") {
				t.Errorf("on record is %v", learned.Given)
			}
		})
	}
}

// A file that cannot be used refuses the start with its cause; of a start that comes to nothing no file stays.
func TestContextRefuses(t *testing.T) {
	g, dir := newGround(t), t.TempDir()
	small := written(t, filepath.Join(dir, "small"), "x", 0o600)
	for want, c := range map[string]struct {
		files []string
		kind  string
		where fleet.Where
		argv  []string
	}{
		"gone: ":                                  {files: []string{filepath.Join(dir, "gone")}},
		"has more than 64 KiB: ":                  {files: []string{written(t, filepath.Join(dir, "half"), strings.Repeat("x", 40<<10), 0o600), filepath.Join(dir, "half")}},
		"large: it is no file":                    {files: []string{written(t, filepath.Join(dir, "large"), strings.Repeat("x", 2<<20), 0o600)}},
		"it is no text":                           {files: []string{written(t, filepath.Join(dir, "binary"), "a\x00b", 0o600)}},
		"it is no file of":                        {files: []string{dir}},
		"which does not go with context":          {files: []string{small}, argv: []string{"claude", "--append-system-prompt=x"}},
		"its first prompt, which is typed":        {files: []string{small}, kind: "pi", where: fleet.WhereTmux},
		"not known how this command takes a prom": {files: []string{small}, kind: "generic", argv: []string{"true"}},
	} {
		r := fleet.Registration{Name: "one", Role: "builder", Kind: "claude", Where: fleet.WhereHeadless, Argv: c.argv}
		if c.kind != "" {
			r.Kind = c.kind
		}
		if c.where != "" {
			r.Where = c.where
		}
		if _, err := g.instructed(c.files).Plan(r, "i1", dir, agentrun.How{Prompt: "x"}); err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "/gone") > 1 {
			t.Errorf("%v, want %s, and its path once", err, want)
		}
	}
	whole := written(t, filepath.Join(dir, "whole"), strings.Repeat("x", 64<<10), 0o600)
	if text, err := agentrun.ReadContext([]string{whole}); err != nil || len(text) != 64<<10 {
		t.Errorf("of 64 KiB: %d, %v", len(text), err)
	}
	l := g.instructed([]string{small})
	b, err := l.Plan(fleet.Registration{Name: "one", Role: "builder", Kind: "claude", Where: fleet.WhereHeadless, Argv: []string{filepath.Join(dir, "no-such-cli")}}, "i1", dir, agentrun.How{Prompt: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Start(t.Context(), &b); err == nil {
		t.Fatal("what is not there was started")
	}
	if _, err := os.Lstat(filepath.Join(shim.Dir(g.world.Shims, "i1"), agentrun.ContextFile)); !os.IsNotExist(err) {
		t.Errorf("its file is left: %v", err)
	}
}

// A plan names the instructions, and reads none.
func TestContextIsNamedInAPlan(t *testing.T) {
	g, dir := newGround(t), t.TempDir()
	x, err := spawn.New(spawn.Options{Launcher: g.instructed([]string{filepath.Join(dir, "gone")})})
	if err != nil {
		t.Fatal(err)
	}
	r := g.register(fleet.Registration{Name: "one", Role: "builder", Kind: "codex", Where: fleet.WhereTmux, Dir: fleet.Path(dir), Prompt: "do it"})
	shown := x.Commands(fleet.Action{ID: "a", Do: spawn.Do, Target: fleet.Target{Registration: &r}})
	if len(shown) != 1 || shown[0].Argv[len(shown[0].Argv)-1] != "<standing instructions of role builder>\n\ndo it" {
		t.Errorf("%+v", shown)
	}
	if _, err := g.perform(x, fleet.Action{Target: fleet.Target{Registration: &r}}); err == nil || !strings.Contains(err.Error(), "gone: no such file") {
		t.Errorf("it was started: %v", err)
	}
}

// A conversation that is gone on with is given the file again, and no text before its words.
func TestContextOfAResume(t *testing.T) {
	g, dir := newGround(t), t.TempDir()
	l := g.instructed([]string{written(t, filepath.Join(dir, "a.md"), "House rules.", 0o600)})
	for kind, named := range map[string]bool{"claude": true, "codex": false} {
		b, err := l.Plan(fleet.Registration{Name: "one", Role: "builder", Kind: kind, Where: fleet.WhereHeadless}, "i1", dir, agentrun.How{Prompt: "go on", Resume: "c1"})
		if err != nil || b.Input != "go on" || slices.Contains(b.Command.Argv, "--append-system-prompt-file") != named {
			t.Errorf("%s: %q, %q, %v", kind, b.Command.Argv, b.Input, err)
		}
	}
}

// Within a boundary the agent reads its file.
func TestContextWithinABoundary(t *testing.T) {
	g, dir := newGround(t), t.TempDir()
	house := written(t, filepath.Join(g.home, "house.md"), "House rules.", 0o600)
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(work, "out")
	cli := written(t, filepath.Join(work, "claude"), strings.ReplaceAll(aCLI, "OUT", out), 0o700)
	l := g.instructed([]string{house}, agentrun.Bounds{Name: "b", By: boundary.Landlock, Missing: boundary.Say, Network: boundary.NetOpen, Roles: []string{"builder"}})
	b, err := l.Plan(fleet.Registration{Name: "one", Role: "builder", Kind: "claude", Where: fleet.WhereHeadless, Argv: []string{cli}}, "i1", work, agentrun.How{Prompt: "x"})
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := l.Start(t.Context(), &b)
	if err == nil {
		err = l.Give(t.Context(), b, got)
	}
	if err != nil {
		t.Fatal(err)
	}
	g.await("what it was given", func() bool { _, err := os.Stat(out); return err == nil })
	if said, _ := os.ReadFile(out); !strings.Contains(string(said), "FILE House rules.") {
		t.Errorf("it was given\n%s", said)
	}
}
