package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/sys/gittest"
)

// teamConfig is a team of scouts and builders, and a queue in which each branch is read before it is tested.
const teamConfig = `
[limits]
stagger = "0s"
settle = "100ms"
deaths = "99 in 1s"
spawn_memory = "0"
[role.scout]
kind = "claude"
dir = "DIR/work"
project = "shop"
prompt = "fake script DIR/scout.sh {{work}}"
max = 3
[role.builder]
kind = "claude"
repo = "DIR/shop/repo"
project = "shop"
prompt = "fake script DIR/builder.sh {{work}} {{title}}"
restart = "never"
max = 4
[role.reviewer]
kind = "claude"
dir = "DIR/work"
project = "shop"
prompt = "fake script DIR/reviewer.sh {{work}}"
[team.feature]
roles = ["scout", "builder"]
[merge.shop]
repo = "DIR/shop/repo"
target = "main"
review = "reviewer"
wait = "1s"
[[merge.shop.gate]]
name = "check"
script = "! grep -rq bad --include='f-*' ."
[rule.agent-done-unproven]
expr = "work.state == 'in progress' && work.ends == 'merged' && !work.handed_in && work.claimed > duration('1s')"
actions = [{ do = "stop", targets = "agent", where = "agent.name == work.agent && agent.state == 'idle' && work.dispatched", text = "it says that it is done" }]
cooldown = "1s"
[rule.work-silent]
expr = "work.state == 'in progress' && work.dispatched && work.ends == 'merged' && !work.handed_in && work.claimed == duration('0s') && its_agents.exists(a, a.registered && a.state in ['idle', 'stuck'] && a.dwell > duration('15s'))"
actions = [{ do = "stop", targets = "agent", where = "agent.name == work.agent && agent.state in ['idle', 'stuck'] && agent.dwell > duration('15s')", text = "it does nothing" }]
cooldown = "1s"
`

// teamScripts are what the agents do in the place of a model. The first builder of "liar" says that it is done, and has done
// nothing; that of "silent" does nothing; that of "crash" commits half of it and dies. The first branch of "review" has
// what its reader calls a blocker.
var teamScripts = map[string]string{
	"scout.sh": `echo "found: nothing stands in the way" | CUSTOS work close "$1" --result -`,
	"builder.sh": `work=$1 name=$2
commit() { git add . && git -c user.name=b -c user.email=b@example.org commit --quiet --message "$name: $1"; }
first() { [ ! -e "DIR/marks/$name" ] && mkdir -p DIR/marks && touch "DIR/marks/$name"; }
case $name in
liar) if first; then exec CUSTOS mail send overseer "all done" --type worker_done --about "$work"; fi ;;
silent) if first; then exit 0; fi ;;
crash) if first; then echo half > f-half; commit half; kill -9 $PPID; fi ;;
review) if first; then echo todo > f-todo; commit first; exec CUSTOS merge add --work "$work"; fi; rm -f f-todo ;;
esac
echo "$name" > "f-$name"; commit whole
CUSTOS merge add --work "$work"`,
	"mend.sh": `rm -f f-todo; echo review > f-review; git add -A && git -c user.name=b -c user.email=b@example.org commit --quiet --message mended
CUSTOS merge add --work "$1"`,
	"reviewer.sh": `CUSTOS review show "$1" > "DIR/read-$1"
if grep -q '^+todo' "DIR/read-$1"; then exec CUSTOS review give "$1" --blocker 'f-todo:1: it is not done' --nit 'f-todo: a name like that'; fi
exec CUSTOS review give "$1" --approve`,
}

func newTeamTown(t *testing.T) *mergeTown { return scriptedTown(t, teamConfig, teamScripts) }

// scriptedTown is a town with a queue, whose agents do what scripts say in the place of a model.
func scriptedTown(t *testing.T, config string, scripts map[string]string) *mergeTown {
	t.Helper()
	w := &mergeTown{town: foundTown(t, ""), repo: gittest.New(t)}
	custos := filepath.Join(w.bin, "custos") + " --config " + filepath.Join(w.dir, "custos.toml")
	at := strings.NewReplacer("DIR", w.dir, "CUSTOS", custos)
	file := filepath.Join(w.dir, "custos.toml")
	head, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, append(head, at.Replace(config)...), 0o600)
	}
	for name, text := range scripts {
		if err == nil {
			err = os.WriteFile(filepath.Join(w.dir, name), []byte(at.Replace(text)+"\n"), 0o600)
		}
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(w.dir, "shop"), 0o755)
	}
	if err == nil {
		err = os.CopyFS(filepath.Join(w.dir, "shop"), os.DirFS(w.repo.Dir))
	}
	if err != nil {
		t.Fatal(err)
	}
	w.repo.Dir, w.repo.Top = filepath.Join(w.dir, "shop"), filepath.Join(w.dir, "shop", "repo")
	w.start()
	return w
}

// A team of real processes in real terminals brings eight pieces of work to main, through review and the merge queue, though
// one of its agents lies, one is silent, one crashes half-way, and one has a branch that its reader does not let pass.
func TestATeamBringsWorkToMain(t *testing.T) {
	w := newTeamTown(t)
	c := w.client()
	names := []string{"liar", "silent", "crash", "review", "one", "two", "three", "four"}
	for _, name := range names {
		work, err := c.AddWork(t.Context(), api.WorkRequest{Title: name, Project: "shop"})
		if err == nil {
			_, err = c.RunTeam(t.Context(), api.TeamRequest{Team: "feature", Work: work.Ref})
		}
		if err != nil {
			t.Fatal(err)
		}
		if name == "review" { // what its author does when it is told of the blocker
			script := fmt.Sprintf("script %s/builder.sh %s review\n---\nscript %s/mend.sh %s\n", w.dir, work.Ref, w.dir, work.Ref)
			if err := os.WriteFile(filepath.Join(w.dir, ".fakeagent", "builder-"+work.Ref+".script"), []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	var all api.TeamList
	shown := func() string { return fmt.Sprintf("%s\n%s", w.words("team", "list", "--all"), w.said) }
	await(t, shown, func() bool {
		var err error
		all, err = c.Teams(t.Context(), true)
		return err == nil && len(all.Work) == len(names) && !slices.ContainsFunc(all.Work, func(x api.TeamWork) bool { return x.Work.State != "closed" })
	})
	w.checkTeam(all, names)
}

// checkTeam: each piece is in main, was read by another one than its author, and was closed by its merge; who was started for
// it is gone.
func (w *mergeTown) checkTeam(all api.TeamList, names []string) {
	w.Helper()
	files := w.repo.Git(filepath.Join(w.repo.Dir, "origin.git"), "ls-tree", "--name-only", "main")
	for _, x := range all.Work {
		if !strings.Contains(files, "f-"+x.Work.Title) || !strings.HasPrefix(x.Work.Why, "merged as ") || len(x.Parts) != 1 || x.Parts[0].Result == "" {
			w.Errorf("%+v; main has %s", x, files)
		}
		want := 1
		if slices.Contains([]string{"liar", "silent", "crash"}, x.Work.Title) {
			want = 2
		}
		if x.Work.Tries != want {
			w.Errorf("%s was handed out %d times, want %d", x.Work.Title, x.Work.Tries, want)
		}
	}
	if !strings.Contains(files, "f-half") || strings.Contains(files, "f-todo") {
		w.Errorf("what the crashed one had committed, or what was a blocker: %s", files)
	}
	reviews, err := w.client().Reviews(w.Context(), true)
	if err != nil || len(reviews.Reviews) != len(names)+1 {
		w.Errorf("%d reviews: %v", len(reviews.Reviews), err)
	}
	for _, r := range reviews.Reviews {
		read, _ := os.ReadFile(filepath.Join(w.dir, "read-"+r.Ref))
		if r.Author == "" || r.Agent == r.Author || !strings.Contains(string(read), "\n+") {
			w.Errorf("%+v; its reader was shown %s", r, read)
		}
	}
	if out := w.words("cost"); strings.Contains(out, "$") && !strings.Contains(out, "$0") {
		w.Errorf("Custos called a model: %s", out)
	}
}

func (w *town) words(args ...string) string {
	out, _ := w.inside(w.dir, args...)
	return out
}
