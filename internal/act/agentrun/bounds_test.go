package agentrun_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/act/agentrun"
	"custos/internal/boundary"
	"custos/internal/fleet"
	"custos/internal/policy"
	"custos/internal/sys/gittest"
	"custos/internal/sys/shim"
)

// bounded is a launcher like the ground's, whose workers are kept within a boundary.
func (g *ground) bounded(b agentrun.Bounds) *agentrun.Launcher {
	g.t.Helper()
	l, err := agentrun.NewLauncher(agentrun.LauncherOptions{World: g.world, Run: g.run, Hook: filepath.Join(binaries, "custos-hook"), Bounds: []agentrun.Bounds{b},
		HookSocket: filepath.Join(g.run, "hook.sock"), Spared: []string{filepath.Join(g.home, ".config/custos/custos.toml")}, Environ: func() []string {
			return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.home, "LANG=C.UTF-8"}
		}})
	if err != nil {
		g.t.Fatal(err)
	}
	return l
}

// begun starts a command as an agent of a role, headless, and returns how that went.
func (g *ground) begun(l *agentrun.Launcher, role, dir string, argv ...string) (agentrun.Begin, error) {
	g.t.Helper()
	r := fleet.Registration{Name: "one", Role: role, Kind: "generic", Where: fleet.WhereHeadless, Argv: argv}
	b, err := l.Plan(r, "i"+itoa(len(g.ledger))+role, dir, agentrun.How{})
	if err != nil {
		g.t.Fatal(err)
	}
	g.ledger[b.Launch.Instance] = r
	_, _, err = l.Start(g.t.Context(), &b)
	return b, err
}

// ended waits for the end of an agent and returns what it wrote.
func (g *ground) ended(b agentrun.Begin) string {
	g.t.Helper()
	g.await("its end", func() bool { return shim.ReadExit(b.Launch.Shim) != nil })
	out, _ := shim.Tail(b.Launch.Shim, 1<<16)
	errs, _ := shim.TailErrors(b.Launch.Shim, 1<<16)
	return string(out) + string(errs)
}

const work = `echo x > new && git add new && git commit -qm new && echo committed; touch ../else 2>&1; cat "$HOME/secret" 2>&1; echo "$TMPDIR"; touch "$TMPDIR/t" && echo temporary`

func TestAgentsOfARoleStartWithinItsBoundary(t *testing.T) {
	for _, by := range []string{boundary.Landlock, boundary.Bwrap} {
		t.Run(by, func(t *testing.T) {
			if by == boundary.Bwrap && exec.Command("bwrap", "--unshare-user", "--disable-userns", "--ro-bind", "/", "/", "true").Run() != nil {
				t.Skip("bwrap is not installed, or cannot make namespaces here")
			}
			g, repo := newGround(t), gittest.New(t)
			if err := os.WriteFile(filepath.Join(g.home, "secret"), []byte("hush\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			l := g.bounded(agentrun.Bounds{Name: "b", By: by, Missing: boundary.Say, Network: boundary.NetClosed, Roles: []string{"dev"}})
			tree := filepath.Join(repo.Dir, "linked")
			repo.Git(repo.Top, "worktree", "add", "-q", "-b", "linked", tree)
			for _, dir := range []string{tree, repo.Top} {
				b, err := g.begun(l, "dev", dir, "sh", "-c", "git config user.name >/dev/null || export GIT_AUTHOR_NAME=a GIT_COMMITTER_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_EMAIL=a@b; "+work)
				if err != nil {
					t.Fatal(err)
				}
				said := g.ended(b)
				if !strings.Contains(said, "committed") || !strings.Contains(said, "temporary") || strings.Contains(said, "hush") {
					t.Errorf("in %s: %s", dir, said)
				}
				if _, err := os.Lstat(filepath.Join(repo.Dir, "else")); err == nil {
					t.Errorf("it wrote beside %s", dir)
				}
				if h := b.Boundary; h == nil || h.Name != "b" || h.By != by || len(h.Never) == 0 || (by == boundary.Landlock) != (len(h.Open) > 0) {
					t.Errorf("its record says %+v", h)
				}
			}
			b, err := g.begun(l, "", tree, "sh", "-c", `cat "$HOME/secret"`)
			if err != nil || !strings.Contains(g.ended(b), "hush") || b.Boundary != nil || len(b.Launch.Boundary) > 0 {
				t.Errorf("an agent without a role is kept within %+v: %v", b.Boundary, err)
			}
		})
	}
}

// The policy of an agent whose worktree is made after its start was planned knows that worktree, and the others.
func TestAPolicyKnowsAWorktreeThatIsMadeForIt(t *testing.T) {
	g, repo := newGround(t), gittest.New(t)
	l, err := agentrun.NewLauncher(agentrun.LauncherOptions{World: g.world, Run: g.run, Hook: filepath.Join(binaries, "custos-hook"),
		Policy:  func(string) (policy.Policy, bool) { return policy.Policy{Name: "p"}, true },
		Environ: func() []string { return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.home, "LANG=C.UTF-8"} }})
	if err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(repo.Dir, "made")
	b, err := l.Plan(fleet.Registration{Name: "one", Kind: "claude", Where: fleet.WhereHeadless, Argv: []string{"/bin/true"}}, "i1", tree, agentrun.How{Prompt: "x"})
	if err != nil {
		t.Fatal(err)
	}
	repo.Git(repo.Top, "worktree", "add", "-q", "-b", "made", tree)
	g.ledger[b.Launch.Instance] = fleet.Registration{Name: "one"}
	if _, _, err := l.Start(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	g.ended(b)
	text, err := os.ReadFile(policy.File(g.run, "one"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := policy.Decode(text)
	if p := c.Places; err != nil || p.Worktree != tree || p.Common != filepath.Join(repo.Top, ".git") || p.Branch != "made" || len(p.Others) != 1 || p.Others[0] != repo.Top {
		t.Errorf("%+v, %v", c.Places, err)
	}
}

// What a person grants later is read within a boundary, and not written there.
func TestGrantsAreReadWithin(t *testing.T) {
	g, repo := newGround(t), gittest.New(t)
	l, err := agentrun.NewLauncher(agentrun.LauncherOptions{World: g.world, Run: g.run, Hook: filepath.Join(binaries, "custos-hook"),
		Bounds: []agentrun.Bounds{{Name: "b", By: boundary.Landlock, Missing: boundary.Say, Network: boundary.NetOpen, Roles: []string{"dev"}}}, HookSocket: filepath.Join(g.run, "hook.sock"),
		Policy:  func(string) (policy.Policy, bool) { return policy.Policy{Name: "p"}, true },
		Environ: func() []string { return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.home, "LANG=C.UTF-8"} }})
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(repo.Top, "agent")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nG=${CUSTOS_POLICY%.json}.grants\nuntil cat \"$G\"/*.json 2>/dev/null; do sleep 0.05; done\nrm -f \"$G\"/*.json 2>/dev/null && echo removed\necho x >\"$G/y.json\" && echo written\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := fleet.Registration{Name: "one", Role: "dev", Kind: "claude", Where: fleet.WhereHeadless, Argv: []string{script}}
	b, err := l.Plan(r, "i1", repo.Top, agentrun.How{Prompt: "x"})
	if err != nil {
		t.Fatal(err)
	}
	g.ledger[b.Launch.Instance] = r
	if _, _, err := l.Start(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(policy.Grants(policy.File(g.run, "one")), "x.json"), []byte("granted\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := g.ended(b); !strings.Contains(said, "granted") || strings.Contains(said, "removed") || strings.Contains(said, "written") {
		t.Errorf("within: %s", said)
	}
}

// An agent that has written its .git itself is given nothing by that, and one in whose folder Custos's
// own files lie is not started.
func TestBoundariesThatWouldOpenWhatIsNotTheAgents(t *testing.T) {
	g, repo := newGround(t), gittest.New(t)
	l := g.bounded(agentrun.Bounds{Name: "b", By: boundary.Landlock, Missing: boundary.Say, Network: boundary.NetOpen, Roles: []string{"dev"}})
	mine, other := filepath.Join(repo.Dir, "mine"), filepath.Join(repo.Dir, "other")
	repo.Git(repo.Top, "worktree", "add", "-q", "-b", "mine", mine)
	repo.Git(repo.Top, "worktree", "add", "-q", "-b", "other", other)
	put := func(path, text string) {
		t.Helper()
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(g.home, "keys/objects/k"), "hush")
	forged := filepath.Join(mine, "fake")
	put(filepath.Join(forged, "HEAD"), "ref: refs/heads/mine\n")
	put(filepath.Join(forged, "commondir"), filepath.Join(g.home, "keys")+"\n")
	put(filepath.Join(forged, "gitdir"), filepath.Join(mine, ".git")+"\n")
	for name, to := range map[string]string{
		"the entry of another worktree": filepath.Join(repo.Top, ".git/worktrees/other"),
		"the repository itself":         filepath.Join(repo.Top, ".git"),
		"a folder that names another":   forged,
	} {
		put(filepath.Join(mine, ".git"), "gitdir: "+to+"\n")
		if b, err := g.begun(l, "dev", mine, "true"); err == nil || !strings.Contains(err.Error(), "no worktree of a repository") {
			t.Errorf("%s: it started, within %s: %v", name, b.Launch.Boundary, err)
		}
	}
	put(filepath.Join(g.home, ".config/custos/custos.toml"), "")
	for _, dir := range []string{filepath.Dir(g.world.Shims), g.home, filepath.Join(g.home, ".config")} {
		if b, err := g.begun(l, "dev", dir, "true"); err == nil || !strings.Contains(err.Error(), "Custos's own files") {
			t.Errorf("it started in %s, within %s: %v", dir, b.Launch.Boundary, err)
		}
	}
}
