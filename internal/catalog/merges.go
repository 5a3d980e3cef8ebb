package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"custos/internal/act"
	"custos/internal/act/mergegroup"
	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// mergeSection is the section [merge.NAME].
type mergeSection struct {
	Repo    string        `toml:"repo" is:"path"` // the repository whose objects are used
	Target  string        `toml:"target" is:"name"`
	Remote  *string       `toml:"remote"`  // where the target is; "origin"; "": in the repository itself
	Project string        `toml:"project"` // whose work and CI it is about; the name of the queue
	Gate    []gateSection `toml:"gate"`
	Batch   *int          `toml:"batch" is:"1..64"`            // items that are tested together, at most
	Wait    string        `toml:"wait" is:"duration 0s..1h"`   // for more of them
	Ageing  string        `toml:"ageing" is:"duration 1m..7d"` // waiting for so long is one priority more
}

// isMergeID is what items and groups are called; isBranch what a branch is, as far as that is told
// without git.
var (
	isMergeID = regexp.MustCompile(`^m[qg][0-9]+$`)
	isBranch  = regexp.MustCompile(`^[A-Za-z0-9_][^ ~^:?*\[\\]*$`)
)

// gateSection is one [[merge.NAME.gate]].
type gateSection struct {
	Name    string   `toml:"name"`
	Run     []string `toml:"run"`                          // the command line
	Script  string   `toml:"script"`                       // or a text for /bin/sh -e
	Timeout string   `toml:"timeout" is:"duration 1s..1d"` // an hour
	Env     []string `toml:"env" is:"name"`                // names of variables that are passed on
	Report  string   `toml:"report"`                       // file in the worktree that it says in which tests failed; "-": what it prints
}

const (
	mergeBatch  = 8
	mergeWait   = 30 * time.Second
	mergeAgeing = 4 * time.Hour
	gateTimeout = time.Hour
)

// Merges reads the sections [merge.NAME], in the order of their names.
func Merges(cfg config.Config) (out []fleet.MergeQueue, err error) {
	sections := map[string]mergeSection{}
	if err := cfg.Section("merge", &sections); err != nil {
		return nil, err
	}
	var wrong []error
	for _, name := range sortedNames(sections) {
		q, err := sections[name].queue(name, cfg)
		if err != nil {
			wrong = append(wrong, cfg.Misread("merge."+name, err))
		}
		if other := sameTarget(out, q); err == nil && other != "" {
			wrong = append(wrong, cfg.Misread("merge."+name, fmt.Errorf("it has the target of [merge.%s]: each would find that the other has moved it", other)))
		}
		out = append(out, q)
	}
	return out, errors.Join(wrong...)
}

// sameTarget names the queue among others that has the target of one; "" when none has.
func sameTarget(list []fleet.MergeQueue, q fleet.MergeQueue) string {
	for _, o := range list {
		if o.Repo == q.Repo && o.Remote == q.Remote && o.Target == q.Target {
			return o.Name
		}
	}
	return ""
}

func (s mergeSection) queue(name string, cfg config.Config) (fleet.MergeQueue, error) {
	q := fleet.MergeQueue{Name: name, Project: cmp.Or(s.Project, name), Target: s.Target, Remote: "origin", Batch: mergeBatch,
		Dir: fleet.Path(filepath.Join(cfg.StateDir, "merge", name)), Runs: fleet.Path(filepath.Join(cfg.StateDir, "runs"))}
	if s.Remote != nil {
		q.Remote = *s.Remote
	}
	if s.Batch != nil {
		q.Batch = *s.Batch
	}
	switch {
	case !poolName.MatchString(name):
		return q, errors.New("its name may have a-z, 0-9, _ and -, 40 at most: it becomes a part of refs")
	case isMergeID.MatchString(name):
		return q, fmt.Errorf("its name is one of an item: call it otherwise than %s", name)
	case s.Repo == "":
		return q, errors.New(`repo: want the folder of a repository, like "~/src/shop"`)
	case s.Target == "":
		return q, errors.New(`target: want the branch that is merged into, like "main"`)
	case !isBranch.MatchString(s.Target) || strings.HasPrefix(s.Target, "refs/") || strings.Contains(s.Target, ".."):
		return q, fmt.Errorf("target: %q is no name of a branch, like \"main\"", fleet.Line(s.Target, 60))
	case len(s.Gate) == 0:
		return q, fmt.Errorf("there is no gate, and nothing is merged that none has passed: [[merge.%s.gate]] with name = \"test\" and run = [\"make\", \"check\"]", name)
	}
	repo, err := cfg.Expand(s.Repo)
	if err != nil {
		return q, fmt.Errorf("repo: %w", err)
	}
	q.Repo = fleet.Path(filepath.Clean(repo))
	if err := s.times(&q); err != nil {
		return q, err
	}
	return q, s.gates(&q)
}

func (s mergeSection) times(q *fleet.MergeQueue) (err error) {
	if q.Wait, err = durationOr(s.Wait, mergeWait); err != nil {
		return fmt.Errorf("wait: %w", err)
	}
	if q.Ageing, err = durationOr(s.Ageing, mergeAgeing); err != nil {
		return fmt.Errorf("ageing: %w", err)
	}
	return nil
}

func durationOr(text string, other time.Duration) (fleet.Duration, error) {
	if text == "" {
		return fleet.Duration(other), nil
	}
	d, err := config.Duration(text)
	return fleet.Duration(d), err
}

// gates reads the gates of a queue, and what they are called together.
func (s mergeSection) gates(q *fleet.MergeQueue) error {
	for _, g := range s.Gate {
		timeout, err := durationOr(g.Timeout, gateTimeout)
		switch {
		case err != nil:
			return fmt.Errorf("timeout: %w", err)
		case !ledger.IsPlainID(g.Name):
			return fmt.Errorf("gate: %q is no name: it has letters, digits, '.', '_' and '-'", fleet.Line(g.Name, 40))
		case slices.ContainsFunc(g.Env, func(name string) bool { return strings.Contains(name, "=") }):
			return fmt.Errorf("env: %s wants names of variables, never values", g.Name)
		case slices.ContainsFunc(q.Gates, func(o fleet.MergeGate) bool { return o.Name == g.Name }):
			return fmt.Errorf("gate: there are two called %s", g.Name)
		case (len(g.Run) == 0) == (g.Script == ""):
			return fmt.Errorf(`gate: %s wants either run = ["make", "check"] or script = "..."`, g.Name)
		case !isReport(g.Report):
			return fmt.Errorf(`report: %s wants a file in the worktree, like "build/junit.xml", or "-" for what it prints; not %q`, g.Name, fleet.Line(g.Report, 60))
		}
		q.Gates = append(q.Gates, fleet.MergeGate{Name: g.Name, Argv: g.Run, Script: g.Script, Timeout: timeout, Env: g.Env, Report: g.Report})
	}
	text, err := json.Marshal(q.Gates)
	sum := sha256.Sum256(text)
	q.Digest = hex.EncodeToString(sum[:6])
	return err
}

// isReport says whether a text names a file within a folder, as it is kept; or nothing.
func isReport(path string) bool {
	plain := fleet.Line(path, 200) == path && filepath.Clean(path) == path && path != "."
	return path == "" || path == fleet.ReportOutput || plain && filepath.IsLocal(path)
}

// mergeMakers lists the actions on merge groups.
func mergeMakers() []actionMaker {
	options := func(w *World) (mergegroup.Options, error) {
		launcher, err := w.launcher()
		return mergegroup.Options{Room: launcher.Room, Barred: w.MergeBarred}, err
	}
	return []actionMaker{
		{mergegroup.Build, "", func(w *World) (act.Action, error) { o, err := options(w); return mergegroup.NewBuilder(o), err }},
		{mergegroup.Land, "", func(w *World) (act.Action, error) { o, err := options(w); return mergegroup.NewLander(o), err }},
		{mergegroup.Clear, "", func(w *World) (act.Action, error) { o, err := options(w); return mergegroup.NewClearer(o), err }},
	}
}
