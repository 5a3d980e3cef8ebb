package catalog

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"custos/internal/config"
	"custos/internal/fleet"
	gitprobe "custos/internal/observe/git"
	"custos/internal/sys/git"
	"custos/internal/sys/gittest"
)

// reposOf is what the probe sees of worktrees and repositories, with what agents of ours
// are on record with; nobody stands anywhere.
func reposOf(t *testing.T, w *World) fleet.Repos {
	t.Helper()
	o, err := w.git()
	if err != nil {
		t.Fatal(err)
	}
	o.Discover, o.Standing, o.CrashedIn = nil, func(context.Context) ([]git.CWD, error) { return nil, nil }, nil
	p, err := gitprobe.New(o)
	if err != nil {
		t.Fatal(err)
	}
	put, err := p.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var s fleet.Snapshot
	put(&s)
	return s.Repos.Value
}

// What an agent of ours has worked in is looked at when it has ended, too, whatever kind
// of agent it was. A worktree that Custos made for it is its own; everything else stays
// whose it was.
func TestWhereAgentsOfOursHaveWorkedIsSeen(t *testing.T) {
	r, other, past := gittest.New(t), gittest.New(t), gittest.New(t)
	tree := map[string]string{}
	for _, name := range []string{"made", "run", "retired", "named", "refused", "adopted", "recovered", "theirs"} {
		tree[name] = r.Worktree(name)
	}
	link := filepath.Join(other.Dir, "link")
	if err := os.Symlink(r.Dir, link); err != nil {
		t.Fatal(err)
	}
	made := func(name, instance string, owner fleet.Owner) fleet.Registration {
		return fleet.Registration{Name: name, Owner: owner, Instance: instance, Repo: fleet.Path(r.Top), Worktree: fleet.Path(tree[name]), Dir: fleet.Path(tree[name])}
	}
	run, retired := made("run", "i2", fleet.OwnerCustos), made("retired", "i3", fleet.OwnerCustos)
	run.Run, retired.Desired = "r1", fleet.DesiredRetired
	refused := made("refused", "", fleet.OwnerCustos)
	refused.Run = "r1"
	recovered := made("recovered", "i10", fleet.OwnerCustos) // another system made it, and its agent was handed over
	recovered.Origin = "rig/crew/ann"
	regs := []fleet.Registration{recovered, made("made", "i1", fleet.OwnerCustos), run, retired, refused, made("adopted", "i4", fleet.OwnerAdopted),
		{Name: "named", Owner: fleet.OwnerCustos, Instance: "i5", Dir: fleet.Path(tree["named"])},
		{Name: "beside", Owner: fleet.OwnerCustos, Instance: "i6", Dir: fleet.Path(filepath.Join(other.Top, ".git", ".."))},
		{Name: "by a link", Owner: fleet.OwnerCustos, Instance: "i9", Dir: fleet.Path(filepath.Join(link, "repo"))},
		{Name: "gone", Owner: fleet.OwnerCustos, Instance: "i7", Dir: "/nonexistent", Repo: "/nonexistent", Worktree: "/nonexistent"},
		{Name: "past", Owner: fleet.OwnerCustos, Instance: "i8", Desired: fleet.DesiredRetired, Dir: fleet.Path(past.Top)}}
	cfg, err := config.Load(config.Options{Getenv: func(string) string { return r.Dir }, Sections: Sections()})
	if err != nil {
		t.Fatal(err)
	}
	w := &World{Config: cfg, Registered: func(context.Context) ([]fleet.Registration, error) { return regs, nil }}
	seen := reposOf(t, w)
	own := []string{"made", "run", "retired"}
	for _, x := range seen.Worktrees {
		want := fleet.OwnerForeign
		if slices.Contains(own, filepath.Base(x.Path)) {
			want = fleet.OwnerCustos
		}
		if x.Owner != want {
			t.Errorf("%s is %s, want %s", x.Path, x.Owner, want)
		}
	}
	if len(seen.Worktrees) != len(tree) {
		t.Errorf("seen %d worktrees of %d: %+v", len(seen.Worktrees), len(tree), seen.Worktrees)
	}
	var repos []string
	for _, x := range seen.Repos {
		if repos = append(repos, fleet.RawPath(x.Path)); x.Owner != fleet.OwnerForeign {
			t.Errorf("%s is %s", x.Path, x.Owner)
		}
	}
	if len(repos) != 2 || !slices.Contains(repos, r.Top) || !slices.Contains(repos, other.Top) {
		t.Errorf("seen %q", repos)
	}
}

// What Custos made stays its own while the ledger cannot be read.
func TestWhatIsOnRecordStaysSeenWhileTheLedgerCannotBeRead(t *testing.T) {
	w := &World{}
	known := w.keepsRegistered()
	if got := known(); len(got) != 0 {
		t.Errorf("without a ledger: %v", got)
	}
	var err error
	w.Registered = func(context.Context) ([]fleet.Registration, error) {
		if err != nil {
			return nil, err
		}
		return []fleet.Registration{{Name: "a"}}, nil
	}
	for _, err = range []error{nil, errors.New("locked")} {
		w.lately.forget()
		if got := known(); len(got) != 1 {
			t.Errorf("%v: %v", err, got)
		}
	}
}
