package phases

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe/forge"
	sysforge "custos/internal/sys/forge"
	"custos/internal/sys/forgetest"
	"custos/internal/sys/httpcache"
)

// watch is the probe of a forge that has a project called shop.
func watch(t *testing.T, s *forgetest.Server) *forge.Probe {
	t.Helper()
	host, err := httpcache.NewHost(httpcache.HostOptions{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	token := s.Account("bot")
	to := httpcache.NewTransport(host, forgetest.Kind(s.Kind).Scheme, func(context.Context) (string, error) { return token, nil })
	r, err := sysforge.New(sysforge.Options{Kind: forgetest.Kind(s.Kind), URL: s.URL, Repo: "acme/shop", HTTP: to.Client()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := forge.New(forge.Options{Projects: []forge.Project{{Name: "shop", URL: s.URL, Repo: "acme/shop", Reader: r, Clock: host}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The table of seed 000, from files on disk and a forge to facts; what becomes of
// them is in internal/assess/testdata/phase-escalate-closed.txtar.
func TestWhatTheForgeTells(t *testing.T) {
	for _, kind := range forgetest.Kinds() {
		t.Run(kind, func(t *testing.T) {
			s := forgetest.New(t, kind)
			shop := s.Repo("acme/shop")
			for n := 1; n <= 4; n++ {
				shop.Open(n, 900*time.Hour, forgetest.Issue{})
			}
			shop.Close(2, 23*time.Hour)
			shop.Close(3, 25*time.Hour)
			shop.Close(4, 25*time.Hour)
			shop.Reopen(4)
			shop.Propose(5, 900*time.Hour, forgetest.Pull{Base: "main", Head: strings.Repeat("1", 40)})
			shop.Close(5, 25*time.Hour)
			dir := t.TempDir()
			for _, name := range []string{"dev-session-shop-1", "dev-session-shop-2", "dev-session-shop-3", "dev-session-shop-4", "dev-session-shop-5", "dev-session-shop-99", "dev-session-my.shop-3", "supervisor-session-shop", "odd"} {
				put(t, filepath.Join(dir, name+".phase"), "PHASE:escalate why not")
			}
			five := [2]any{"true", 25 * time.Hour}
			if kind == "gitlab" { // merge request 5 is no issue 5
				five = [2]any{"the forge knows of no such issue", time.Duration(0)}
			}
			o := Options{Globs: []string{dir + "/*.phase"}, Forge: watch(t, s)}
			for name, want := range map[string]struct {
				tracked bool
				closed  string // known so, or why not
				since   time.Duration
			}{
				"dev-session-shop-1":      {true, "false", 0},
				"dev-session-shop-2":      {true, "true", 23 * time.Hour},
				"dev-session-shop-3":      {true, "true", 25 * time.Hour},
				"dev-session-shop-4":      {true, "false", 0},
				"dev-session-shop-5":      {true, five[0].(string), five[1].(time.Duration)},
				"dev-session-shop-99":     {true, "the forge knows of no such issue", 0},
				"dev-session-my.shop-3":   {false, "no forge configured for project my.shop", 0},
				"supervisor-session-shop": {false, "the name holds no issue number", 0},
				"odd":                     {false, "the name does not fit the pattern", 0},
			} {
				ph := find(t, o, dir+"/"+name+".phase")
				got := ph.Closed.Why()
				if v, ok := ph.Closed.Get(); ok {
					got = map[bool]string{true: "true", false: "false"}[v]
				}
				if ph.Tracked != want.tracked || got != want.closed || time.Duration(ph.ClosedFor.Or(0)).Round(time.Hour) != want.since || ph.ClosedFor.IsKnown() != ph.Closed.IsKnown() {
					t.Errorf("%s: tracked %v, closed %s, since %v; want %+v", name, ph.Tracked, got, ph.ClosedFor, want)
				}
			}
		})
	}
}

func find(t *testing.T, o Options, path string) fleet.Phase {
	t.Helper()
	list, err := look(t, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, ph := range list {
		if ph.Path == path {
			return ph
		}
	}
	t.Fatalf("%s is not seen", path)
	return fleet.Phase{}
}

// Whatever the API answers in place of an issue, that is unknown, and the rest of
// what is seen of the file stands.
func TestWhateverTheForgeFails(t *testing.T) {
	for name, fault := range map[string]forgetest.Fault{
		"down": {Status: 503}, "refused": {Status: 401}, "limited": forgetest.Limited(time.Hour), "500": {Status: 500, Body: "token=hunter2hunter2"},
		"half": {Half: true}, "no JSON": {Status: 200, Body: "<html>"}, "empty": {Status: 200, Body: "{}"}, "null": {Status: 200, Body: "null"},
	} {
		s := forgetest.New(t, "forgejo")
		shop := s.Repo("acme/shop")
		shop.Open(1, 900*time.Hour, forgetest.Issue{})
		shop.Close(1, 800*time.Hour)
		mend := s.Break(fault)
		path := put(t, filepath.Join(t.TempDir(), "dev-session-shop-1.phase"), "PHASE:escalate why")
		ph := find(t, Options{Globs: []string{path}, Forge: watch(t, s)}, path)
		if ph.Closed.IsKnown() || ph.ClosedFor.IsKnown() || ph.Closed.Why() == "" || strings.Contains(ph.Closed.Why(), "hunter2") || ph.Phase.Or("") != "escalate" {
			t.Errorf("%s: closed %v (%s)", name, ph.Closed, ph.Closed.Why())
		}
		mend()
		if ph := find(t, Options{Globs: []string{path}, Forge: watch(t, s)}, path); !ph.Closed.Or(false) {
			t.Errorf("%s: mended, but %s", name, ph.Closed.Why())
		}
	}
}

// A forge that does not answer keeps no look.
func TestASlowForge(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a-session-shop-1", "a-session-shop-2"} {
		if err := os.WriteFile(filepath.Join(dir, name+".phase"), []byte("PHASE:done"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p, err := New(Options{Globs: []string{dir + "/*"}, Forge: stuck{cancel}})
	if err != nil {
		t.Fatal(err)
	}
	put, err := p.Look(ctx)
	if put == nil || err != nil {
		t.Errorf("the files were seen: %v", err)
	}
}

// stuck answers when its context ends, which it ends itself.
type stuck struct{ cancel context.CancelFunc }

func (stuck) Tracked(string) bool { return true }

func (s stuck) Closed(ctx context.Context, _ string, _ int) (fleet.Leaf[bool], fleet.Leaf[fleet.Duration]) {
	s.cancel()
	<-ctx.Done()
	return neither("no answer")
}
