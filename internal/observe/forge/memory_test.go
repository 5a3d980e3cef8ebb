package forge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe/forge"
	"custos/internal/sys/forgetest"
)

// kept is what processes leave to those after them.
type kept map[string][]byte

func (k kept) recall(project string) ([]byte, error) {
	if k[project] == nil {
		return nil, errors.New("there is none")
	}
	return k[project], nil
}

// process is a look of another process, so much later: it knows what was kept, and
// leaves what it was answered. It tells how many requests it made.
func (w *world) process(t testing.TB, k kept, later time.Duration, projects ...string) (fleet.Forge, int) {
	t.Helper()
	o := forge.Options{Now: w.Now, Remembered: k.recall}
	for _, name := range projects {
		o.Projects = append(o.Projects, w.project(t, name))
	}
	var err error
	if w.probe, err = forge.New(o); err != nil {
		t.Fatal(err)
	}
	before := w.host.Sent()
	w.pass(later - time.Minute)
	f, _ := w.look(t)
	answers, err := w.probe.Answers()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range answers {
		k[name] = text
	}
	return f, w.host.Sent() - before
}

// waitsKnown counts the issues of which it is known what they wait for.
func waitsKnown(f fleet.Forge) (n int) {
	for _, i := range f.Issues {
		if i.BlockedBy.IsKnown() {
			n++
		}
	}
	return n
}

// One look asks 150 new questions at most. Looks of one process each finish a large
// project together: each asks what those before it did not.
func TestALargeProjectIsFinishedOverRuns(t *testing.T) {
	w, repos := newWorld(t, "forgejo", "shop")
	const all = 400
	for n := range all {
		repos["shop"].Open(n+1, 100*time.Hour, forgetest.Issue{Title: "an issue", DependsOn: []string{"#1"}})
	}
	repos["shop"].Propose(1000, time.Hour, forgetest.Pull{Base: "main", Head: commit(1), Checks: []forgetest.Check{{Context: "ci", State: "success", At: w.Now()}}})
	k, known := kept{}, 0
	for run := range 4 {
		f, sent := w.process(t, k, 20*time.Minute, "shop")
		if got := waitsKnown(f); got <= known && known < all {
			t.Fatalf("run %d knows what %d issues wait for; %d were known before", run+1, got, known)
		} else {
			known = got
		}
		if len(f.Pulls) != 1 || f.Pulls[0].Checks.Or("") != "success" {
			t.Errorf("run %d: the one pull request is %+v", run+1, f.Pulls)
		}
		if sent > 2*150+150+20 { // of a Gitea, each list that is not empty takes two
			t.Errorf("run %d made %d requests", run+1, sent)
		}
	}
	if known != all {
		t.Errorf("after four runs it is known what %d of %d issues wait for", known, all)
	}
}

// What was remembered says the same as what was asked, and costs next to nothing.
func TestWhatIsRememberedIsWhatWasAnswered(t *testing.T) {
	each(t, func(t *testing.T, kind string) {
		w, repos := newWorld(t, kind, "shop", "blog", "wiki")
		fill(repos)
		repos["blog"].Open(50, time.Hour, forgetest.Issue{Title: "waits", Body: "Depends on #999"}) // there is none
		k, names := kept{}, []string{"shop", "blog", "wiki"}
		first, asked := w.process(t, k, time.Minute, names...)
		w.pass(-time.Minute)
		second, again := w.process(t, k, time.Minute, names...)
		if !reflect.DeepEqual(first, second) {
			t.Errorf("asked:\n%s\nremembered:\n%s", asJSON(t, first), asJSON(t, second))
		}
		if again > 3*8 || again >= asked {
			t.Errorf("%d requests were made at first, and %d again", asked, again)
		}
	})
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What a former process was answered about what changes by itself is not told later
// as if it were so now: where it cannot be asked again, it is unknown.
func TestWhatIsRememberedGrowsOld(t *testing.T) {
	each(t, func(t *testing.T, kind string) {
		w, repos := newWorld(t, kind, "shop")
		pull := repos["shop"].Propose(7, time.Hour, forgetest.Pull{Base: "main", Head: commit(7), Checks: []forgetest.Check{{Context: "ci", State: "pending", At: w.Now()}}})
		k := kept{}
		if f, _ := w.process(t, k, time.Minute, "shop"); f.Pulls[0].Checks.Or("") != "pending" {
			t.Fatalf("%+v", f.Pulls)
		}
		pull.Checks[0].State = "success"
		if f, _ := w.process(t, k, 20*time.Minute, "shop"); f.Pulls[0].Checks.Or("") != "success" {
			t.Errorf("the check that ended is %+v", f.Pulls[0].Checks)
		}
		defer w.Break(forgetest.Fault{Path: commit(7), Status: 502})()
		if f, _ := w.process(t, k, 20*time.Minute, "shop"); len(f.Pulls) != 1 || f.Pulls[0].Checks.IsKnown() {
			t.Errorf("a check that was not seen now is told: %+v", f.Pulls)
		}
	})
}

// What an issue waits for is good for a day while the issue does not change; after it,
// those that were asked the longest time ago are asked first.
func TestTheOldestIsAskedFirst(t *testing.T) {
	w, repos := newWorld(t, "forgejo", "shop")
	const all = 400
	for n := range all {
		repos["shop"].Open(n+1, 1000*time.Hour, forgetest.Issue{Title: "an issue", DependsOn: []string{"#1"}})
	}
	k, seen := kept{}, map[string]bool{}
	for run := range 3 {
		f, _ := w.process(t, k, 25*time.Hour, "shop")
		known := waitsKnown(f)
		if known == 0 || known > 150+150 {
			t.Errorf("a day later run %d knows of %d issues", run+1, known)
		}
		for _, i := range f.Issues {
			seen[i.Name] = seen[i.Name] || i.BlockedBy.IsKnown()
		}
	}
	for name, known := range seen {
		if !known {
			t.Errorf("%s was never asked about", name)
		}
	}
}

// What is broken, of another shape or of another repository is as if it was not there.
func TestMemoryOfAnother(t *testing.T) {
	w, repos := newWorld(t, "forgejo", "shop")
	repos["shop"].Open(2, time.Hour, forgetest.Issue{Title: "an issue", DependsOn: []string{"#1"}})
	repos["shop"].Open(1, time.Hour, forgetest.Issue{Title: "an issue"})
	k := kept{}
	first, _ := w.process(t, k, time.Minute, "shop")
	good := k["shop"]
	for name, text := range map[string][]byte{
		"half":        good[:len(good)/2],
		"nonsense":    []byte("\x00"),
		"other shape": bytes.Replace(good, []byte(`"format":1`), []byte(`"format":2`), 1),
		"other repo":  []byte(strings.ReplaceAll(string(good), "acme/shop", "acme/blog")),
		"other value": bytes.ReplaceAll(good, []byte(`"value":[`), []byte(`"value":7,"x":[`)),
		"tomorrow":    []byte(strings.ReplaceAll(string(good), `"tried":"20`, `"tried":"30`)),
	} {
		if bytes.Equal(text, good) {
			t.Fatalf("%s is no other: %s", name, good)
		}
		k["shop"] = text
		f, _ := w.process(t, k, time.Minute, "shop")
		if waitsKnown(f) != waitsKnown(first) || len(f.Issues) != 2 || !reflect.DeepEqual(f.Issues[1].BlockedBy, first.Issues[1].BlockedBy) {
			t.Errorf("%s: %+v", name, f.Issues)
		}
	}
}

// A process whose look was in vain leaves what was remembered.
func TestALookInVainKeepsWhatWasKnown(t *testing.T) {
	w, repos := newWorld(t, "forgejo", "shop")
	repos["shop"].Open(1, time.Hour, forgetest.Issue{Title: "an issue"})
	k := kept{}
	w.process(t, k, time.Minute, "shop")
	good := string(k["shop"])
	mend := w.Break(forgetest.Fault{Status: 500})
	w.process(t, k, time.Minute, "shop")
	mend()
	if good == "" || string(k["shop"]) != good {
		t.Errorf("kept:\n%s\nafter:\n%s", good, k["shop"])
	}
}
