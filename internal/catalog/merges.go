package catalog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
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
	"custos/internal/nearest"
)

// mergeSection is the section [merge.NAME].
type mergeSection struct {
	Repo    string        `toml:"repo" is:"path"` // the repository whose objects are used
	Target  string        `toml:"target" is:"name"`
	Mode    string        `toml:"mode"`    // who moves it: "own", "forge" or "watch"
	Remote  *string       `toml:"remote"`  // where the target is; "origin"; "": in the repository itself
	Project string        `toml:"project"` // whose work and CI it is about; the name of the queue
	Gate    []gateSection `toml:"gate"`
	Batch   *int          `toml:"batch" is:"1..64"`            // items that are tested together, at most
	Wait    string        `toml:"wait" is:"duration 0s..1h"`   // for more of them
	Ageing  string        `toml:"ageing" is:"duration 1m..7d"` // waiting for so long is one priority more
	Review  string        `toml:"review"`                      // role of those who read a branch before it is tested
	Rounds  *int          `toml:"rounds" is:"1..10"`           // of reviews of one item, before a person is asked; 2
	Resolve string        `toml:"resolve"`                     // role of those who bring in what conflicts or fails when its author does not

	Regenerate []regenerateSection `toml:"regenerate"`
	Rerere     bool                `toml:"rerere"` // whether resolutions that git has recorded are used again
}

// regenerateSection is one [[merge.NAME.regenerate]].
type regenerateSection struct {
	Files   []string `toml:"files"`                         // patterns of the files that the command makes
	Run     []string `toml:"run"`                           // the command line
	Timeout string   `toml:"timeout" is:"duration 1s..10m"` // 3m
	Env     []string `toml:"env" is:"name"`                 // names of variables that are passed on
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
	mergeRounds = 2 // what a third and a fourth round find is seldom worth their time

	regenerateTimeout = 3 * time.Minute
	// mostRegenerate is how long all commands of a queue may take together: a group is built while they run.
	mostRegenerate = 10 * time.Minute
)

// Merges reads the sections [merge.NAME], in the order of their names; who reviews for them is one of roles.
func Merges(cfg config.Config, roles []fleet.Role) (out []fleet.MergeQueue, err error) {
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
		if err == nil {
			wrong = append(wrong, knownRole(cfg, name, "review", q.Review, roles), knownRole(cfg, name, "resolve", q.Resolve, roles))
		}
		if other := sameTarget(out, q); err == nil && other != "" {
			wrong = append(wrong, cfg.Misread("merge."+name, fmt.Errorf("it has the target of [merge.%s]: each would find that the other has moved it", other)))
		}
		out = append(out, q)
	}
	return out, errors.Join(wrong...)
}

// knownRole refuses a role that a key of a queue names, and that there is not.
func knownRole(cfg config.Config, queue, key, role string, all []fleet.Role) error {
	if names := roleNames(all); role != "" && !slices.Contains(names, role) {
		return cfg.Misread("merge."+queue, fmt.Errorf("%s: there is no [role.%s]%s", key, fleet.Line(role, 40), nearest.Hint(role, names)))
	}
	return nil
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
	q.Resolve = s.Resolve
	if q.Review = s.Review; q.Review != "" {
		q.Rounds = mergeRounds
		if s.Rounds != nil {
			q.Rounds = *s.Rounds
		}
	}
	mode, err := s.mode()
	switch q.Mode = mode; {
	case err != nil:
		return q, err
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
	case q.Mode != fleet.MergeOwn:
		if err := s.notOwn(q, cfg); err != nil {
			return q, err
		}
	case len(s.Gate) == 0:
		return q, fmt.Errorf("there is no gate, and nothing is merged that none has passed: [[merge.%s.gate]] with name = \"test\" and run = [\"make\", \"check\"]", name)
	}
	repo, err := cfg.Expand(s.Repo)
	if err != nil {
		return q, fmt.Errorf("repo: %w", err)
	}
	q.Repo = fleet.Path(filepath.Clean(repo))
	if err := errors.Join(s.times(&q), s.regenerates(&q)); err != nil {
		return q, err
	}
	q.Rerere = s.Rerere
	return q, s.gates(&q)
}

// mode reads who moves the target.
func (s mergeSection) mode() (fleet.MergeMode, error) {
	const own = "own"
	modes := []string{own, string(fleet.MergeForge), string(fleet.MergeWatch)}
	switch {
	case s.Mode == "" || s.Mode == own:
		return fleet.MergeOwn, nil
	case slices.Contains(modes, s.Mode):
		return fleet.MergeMode(s.Mode), nil
	}
	return "", fmt.Errorf("mode: %q is none of %s%s", fleet.Line(s.Mode, 40), strings.Join(modes, ", "), nearest.Hint(s.Mode, modes))
}

// notOwn refuses what a queue that does not move its target itself has no use for, and one of whose project no forge is
// configured: nothing of it would ever be seen.
func (s mergeSection) notOwn(q fleet.MergeQueue, cfg config.Config) error {
	forges := map[string]any{}
	if err := cfg.Section("forge", &forges); err != nil {
		return err
	}
	useless := ""
	for key, is := range map[string]bool{"gate": len(s.Gate) > 0, "regenerate": len(s.Regenerate) > 0, "rerere": s.Rerere, "batch": s.Batch != nil, "wait": s.Wait != ""} {
		if is && (useless == "" || key < useless) {
			useless = key
		}
	}
	switch {
	case useless != "":
		return fmt.Errorf("%s: a queue of mode %s merges nothing itself: its forge says what is tested, and how", useless, q.Mode)
	case forges[q.Project] == nil:
		return fmt.Errorf("mode: %s wants the pull requests of project %s, and there is no [forge.%s]%s", q.Mode, fleet.Line(q.Project, 60), fleet.Line(q.Project, 60), nearest.Hint(q.Project, sortedNames(forges)))
	}
	return nil
}

// regenerates reads the commands that make files anew.
func (s mergeSection) regenerates(q *fleet.MergeQueue) error {
	var all time.Duration
	for _, g := range s.Regenerate {
		timeout, err := durationOr(g.Timeout, regenerateTimeout)
		switch {
		case err != nil:
			return fmt.Errorf("regenerate: timeout: %w", err)
		case len(g.Files) == 0:
			return errors.New(`regenerate: files: want the files that it makes, like files = ["go.sum"]`)
		case len(g.Run) == 0 || g.Run[0] == "":
			return fmt.Errorf(`regenerate: run: want what makes %s anew, like run = ["go", "mod", "tidy"]`, fleet.Line(g.Files[0], 60))
		case slices.ContainsFunc(g.Env, func(name string) bool { return strings.Contains(name, "=") }):
			return errors.New("regenerate: env: want names of variables, never values")
		}
		for _, pattern := range g.Files {
			if err := isFilePattern(pattern); err != nil {
				return fmt.Errorf("regenerate: files: %w", err)
			}
		}
		if all += time.Duration(timeout); all > mostRegenerate {
			return fmt.Errorf("regenerate: timeout: all of them may take %s together, and these %s: a group is built while they run", mostRegenerate, all)
		}
		q.Regenerate = append(q.Regenerate, fleet.MergeRegenerate{Files: g.Files, Argv: g.Run, Timeout: timeout, Env: g.Env})
	}
	return nil
}

// isFilePattern refuses what names no file of a repository, and what names every one.
func isFilePattern(pattern string) error {
	shown := fleet.Line(pattern, 60)
	_, bad := path.Match(pattern, "")
	switch {
	case bad != nil:
		return fmt.Errorf("%q is no pattern: its bracket has no end", shown)
	case pattern == "" || pattern != path.Clean(pattern) || path.IsAbs(pattern) || pattern == ".." || strings.HasPrefix(pattern, "../"):
		return fmt.Errorf("%q is no path from the top of the repository, like \"gen/*.pb.go\"", shown)
	case strings.Trim(pattern, "*?/.") == "":
		return fmt.Errorf("%q names every file: name those that are made", shown)
	}
	return nil
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

// landed says whether a commit is in the target that an item was merged into, as that stands now; nil: that is
// not known.
func (w *World) landed() func(ctx context.Context, item, commit string) (bool, error) {
	if w.MergeQueue == nil {
		return nil
	}
	return func(ctx context.Context, item, commit string) (bool, error) {
		q, err := w.MergeQueue(ctx, item)
		if err != nil {
			return false, err
		}
		return mergegroup.Has(ctx, q, commit)
	}
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
	making := func(w *World) (mergegroup.Options, error) {
		o, err := options(w)
		var errs [2]error
		o.Start, errs[0] = newRunStep(w)
		o.End, errs[1] = newEndStep(w)
		return o, errors.Join(err, errs[0], errs[1])
	}
	return []actionMaker{
		{mergegroup.Build, "", func(w *World) (act.Action, error) { o, err := making(w); return mergegroup.NewBuilder(o), err }},
		{mergegroup.Land, "", func(w *World) (act.Action, error) { o, err := options(w); return mergegroup.NewLander(o), err }},
		{mergegroup.Clear, "", func(w *World) (act.Action, error) { o, err := making(w); return mergegroup.NewClearer(o), err }},
	}
}
