//go:build conformance

package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// home is a home folder that nobody lives in, with a project in it.
type home struct {
	dir     string
	project string   // a git repository
	trees   []string // folders below it that are worked in, too
	run     string   // the run folder that hooks report to
	model   *Model
	cli     cli
}

func newHome(t *testing.T, c cli, model *Model) home {
	t.Helper()
	h := home{dir: workDir(t), cli: c, model: model}
	h.project, h.run = filepath.Join(h.dir, "project"), filepath.Join(h.dir, "run")
	for _, dir := range []string{h.project, h.run, filepath.Join(h.dir, "tmp")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	h.write(t, "project/README.md", "A project to try things in.\n")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "first"}} {
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
		cmd.Dir, cmd.Env = h.project, h.env()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	return h
}

// write puts a file below the home.
func (h home) write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// env is what every program is given: nothing of ours but PATH, with the Node of its CLI, and
// where Custos is installed.
func (h home) env() []string {
	return []string{"HOME=" + h.dir, "PATH=" + h.cli.path() + ":" + filepath.Dir(ours("custos")), "LANG=C.UTF-8", "TERM=xterm-256color", "SHELL=/bin/sh",
		"USER=nobody", "TMPDIR=" + filepath.Join(h.dir, "tmp")}
}

// add puts a text behind what a file below the home holds.
func (h home) add(t *testing.T, name, text string) {
	t.Helper()
	before, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	h.write(t, name, string(before)+text)
}

func (h home) link(t *testing.T, old, name string) {
	t.Helper()
	file := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(old, file); err != nil {
		t.Fatal(err)
	}
}
