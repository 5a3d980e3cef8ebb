package control

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/store"
)

// office is a ledger in a file, with agents and roles.
type office struct {
	st   *store.Store
	at   fleet.Instant
	regs []fleet.Registration
	*Control
}

func newOffice(t *testing.T, roles ...fleet.Role) *office {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "custos.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	o := &office{st: st, at: fleet.Instant{Wall: time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)}}
	o.Control = &Control{Records: o, Orders: o, Roles: roles, RoleBook: roleBook{}, Now: func() fleet.Instant { return o.at },
		Registry: func(context.Context) ([]fleet.Registration, error) { return o.regs, nil }}
	return o
}

// roleBook has a policy for readers.
type roleBook struct{}

func (roleBook) Policy(role string) (name, key string) {
	if role == "reader" {
		return "read-only", "role.reader.policy"
	}
	return "", ""
}

func (roleBook) Line(role, key string) string {
	return map[string]string{"kind": "custos.toml:2", "repo": "custos.toml:3", "project": "custos.toml:4"}[key]
}
func (roleBook) Context(_ fleet.Role, prompt string) (string, []string, string, error) {
	return "", nil, prompt, nil
}
func (roleBook) Unread(fleet.Role) string { return "" }
func (roleBook) Untold(fleet.Role) string { return "" }
func (roleBook) Gone(fleet.Role) string   { return "" }

func (o *office) Seen(ctx context.Context) (fleet.Past, fleet.Snapshot, error) {
	past, err := o.st.Past(ctx, o.at)
	past.Registrations = o.regs
	return past, fleet.Snapshot{At: o.at}, err
}

func (o *office) Edit(ctx context.Context, edit func(fleet.Records) (fleet.Records, error)) (fleet.Records, error) {
	return o.st.EditRecords(ctx, o.at, edit)
}

func (o *office) Drafted(n fleet.Order) ([]fleet.Order, error) {
	taken, _, err := ledger.Take(nil, n, o.at)
	return []fleet.Order{taken}, err
}
func (o *office) Settle(context.Context, string) error                                { return nil }
func (o *office) Let(_ context.Context, n fleet.Order, _ string) (fleet.Order, error) { return n, nil }
func (o *office) Take(_ context.Context, n fleet.Order) (fleet.Order, error)          { return n, nil }
func (o *office) Order(context.Context, string) (fleet.Order, error) {
	return fleet.Order{}, fs.ErrNotExist
}
func (o *office) Cancel(_ context.Context, n fleet.Order, _ string, _ func(fleet.Registration) (fleet.Registration, error)) (fleet.Order, error) {
	return n, nil
}
func (o *office) Open(context.Context) ([]fleet.Order, error) { return nil, nil }

func (o *office) work(t *testing.T, w fleet.WorkItem, needs ...fleet.Ref) string {
	t.Helper()
	made, err := o.Edit(t.Context(), func(all fleet.Records) (fleet.Records, error) {
		w, err := ledger.AddWork(w, "ann", o.at)
		return fleet.Records{Work: []fleet.WorkItem{w}}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	id := made.Work[0].ID
	for _, n := range needs {
		if _, err := o.Edit(t.Context(), func(all fleet.Records) (fleet.Records, error) {
			d, err := ledger.AddDependency(all, fleet.Ref(id), n, "ann", o.at)
			return fleet.Records{Dependencies: []fleet.Dependency{d}}, err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return id
}

func builder() fleet.Role {
	return fleet.Role{Name: "builder", Kind: "claude", Repo: "/src/shop", Project: "shop", Max: 2, Ends: fleet.RoleEndsMerged, Prompt: "You are {{name}} on {{branch}}. Do {{work}}: {{title}}\n\n{{body}}\n\nThen hand it in."}
}

// Work that is handed out is taken, and has the order by which its agent begins, in one row; the
// same twice is once.
func TestSling(t *testing.T) {
	o := newOffice(t, builder())
	id := o.work(t, fleet.WorkItem{Title: "retry {{name}}", Body: "three times", Project: "shop"})
	s, err := o.sling(t.Context(), Call{By: "ann"}, api.SlingRequest{Work: id, Role: "builder"})
	if err != nil || s.Agent != "builder-w1" || s.Work.State != "in progress" || s.Work.Agent != "builder-w1" {
		t.Fatalf("%+v, %v", s, err)
	}
	past, _, _ := o.Seen(t.Context())
	w := past.Records.Work[0]
	begin := w.Begin[0]
	if w.Begun || begin.Do != fleet.OrderSpawn || begin.By != "ann" || begin.Spawn.Repo != "/src/shop" || begin.Spawn.Branch != "agent/builder-w1" || begin.Spawn.Task != id ||
		begin.Spawn.Prompt != "You are builder-w1 on agent/builder-w1. Do w1: retry {{name}}\n\nthree times\n\nThen hand it in." {
		t.Errorf("%+v", w)
	}
	if again, err := o.sling(t.Context(), Call{By: "ann"}, api.SlingRequest{Work: id, Role: "builder"}); err != nil || again.Agent != s.Agent {
		t.Errorf("again: %+v, %v", again, err)
	}
	d, err := o.roleOffer(t.Context(), Call{ID: "builder", Ask: func(string) string { return id }})
	if err != nil || d.Prompt != begin.Spawn.Prompt || d.Branch != begin.Spawn.Branch {
		t.Errorf("what is shown is not what is given: %+v, %v", d, err)
	}
}

func TestSlingRefuses(t *testing.T) {
	o := newOffice(t, builder(), fleet.Role{Name: "lead", Kind: "claude", Dir: "/src", MaySpawn: []string{"scout"}})
	o.regs = []fleet.Registration{{Name: "boss", Role: "lead", Desired: fleet.DesiredRunning}, {Name: "builder-w9", Role: "builder", Desired: fleet.DesiredRunning}}
	first := o.work(t, fleet.WorkItem{Title: "a"})
	waits := o.work(t, fleet.WorkItem{Title: "b"}, fleet.Ref(first))
	taken := o.work(t, fleet.WorkItem{Title: "c", Agent: "other"})
	barred := &api.Error{Kind: api.Forbidden, Message: "it takes a person"}
	for want, x := range map[string]struct {
		by string
		r  api.SlingRequest
	}{
		"it waits for w1":                       {"ann", api.SlingRequest{Work: waits, Role: "builder"}},
		"other has it":                          {"ann", api.SlingRequest{Work: taken, Role: "builder"}},
		"cannot find work \"w99\"":              {"ann", api.SlingRequest{Work: "w99", Role: "builder"}},
		"it is taken where it is kept":          {"ann", api.SlingRequest{Work: "shop#1", Role: "builder"}},
		"custos.toml has no [role.painter]":     {"ann", api.SlingRequest{Work: first, Role: "painter"}},
		"it is for no role: say --role":         {"ann", api.SlingRequest{Work: first}},
		"say --role or --to":                    {"ann", api.SlingRequest{Work: first, Role: "builder", To: "bob"}},
		"cannot find agent \"bos\"":             {"ann", api.SlingRequest{Work: first, To: "bos"}},
		"an agent of role lead may start scout": {"agent/boss", api.SlingRequest{Work: first, Role: "builder"}},
		"it takes a person":                     {"agent/boss", api.SlingRequest{Work: first, To: "builder-w9"}},
	} {
		call := Call{By: x.by}
		if _, is := fleet.AgentOf(x.by); is {
			call.Barred = barred
		}
		if _, err := o.sling(t.Context(), call, x.r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", x.r, err, want)
		}
	}
	o.regs = append(o.regs, fleet.Registration{Name: "builder-w8", Role: "builder", Desired: fleet.DesiredRunning})
	if _, err := o.sling(t.Context(), Call{By: "ann"}, api.SlingRequest{Work: first, Role: "builder"}); err == nil || !strings.Contains(err.Error(), "there are 2, and may be 2") {
		t.Errorf("one more than may be: %v", err)
	}
	if past, _, _ := o.Seen(t.Context()); past.Records.Work[0].State != fleet.WorkOpen {
		t.Errorf("what was refused has taken it: %+v", past.Records.Work[0])
	}
}

// An agent whose work ends with its merge closes none by its word; a person does.
func TestMergedWorkIsClosedByNoWord(t *testing.T) {
	o := newOffice(t, builder())
	o.regs = []fleet.Registration{{Name: "b1", Role: "builder", Desired: fleet.DesiredRunning}}
	id := o.work(t, fleet.WorkItem{Title: "a", Agent: "b1"})
	closing := func(by string) error {
		_, err := o.changeWork(t.Context(), Call{By: by, ID: id}, api.WorkChange{Do: "close", Why: "done"})
		return err
	}
	if err := closing("agent/b1"); err == nil || !strings.Contains(err.Error(), "custos merge add --work "+id) {
		t.Errorf("its word closed it: %v", err)
	}
	if err := closing("ann"); err != nil {
		t.Error(err)
	}
}

// What a spawn says itself goes before what its role says; a role that is only a word changes nothing.
func TestSpawnAsRole(t *testing.T) {
	o := newOffice(t, builder())
	q := o.asRole(api.SpawnRequest{Role: "builder", Prompt: "mine", Here: "/cwd", Restart: "never"}, "x", fleet.Records{}, nil)
	if q.Kind != "claude" || !q.Worktree || q.Repo != "/src/shop" || q.Dir != "" || q.Prompt != "mine" || q.Restart != "never" || q.Project != "shop" {
		t.Errorf("%+v", q)
	}
	if q := o.asRole(api.SpawnRequest{Role: "builder", Dir: "/mine", Argv: []string{"codex"}}, "x", fleet.Records{}, nil); q.Worktree || q.Dir != "/mine" || q.Kind != "" || q.Argv[0] != "codex" {
		t.Errorf("%+v", q)
	}
	if q := o.asRole(api.SpawnRequest{Role: "painter", Kind: "claude", Here: "/cwd"}, "x", fleet.Records{}, nil); q.Dir != "/cwd" || q.Prompt != "" || q.Worktree {
		t.Errorf("%+v", q)
	}
}
