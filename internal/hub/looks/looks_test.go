package looks

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/hub/rows"
)

var start = time.Date(2026, 11, 29, 2, 0, 0, 0, time.UTC)

// drawTold draws what a host shows at a moment of its clock.
func drawTold(t *rapid.T, at time.Time) (out Told) {
	word := rapid.SampledFrom([]string{"a", "b/c", "ü", "x y", strings.Repeat("n", 300)})
	out.Look.At, out.Look.Mode, out.Look.Frozen = at, rapid.SampledFrom([]string{"auto", "ask"}).Draw(t, "mode"), rapid.SampledFrom([]string{"", "ann: lunch"}).Draw(t, "frozen")
	for _, name := range rapid.SliceOfNDistinct(word, 0, 4, rapid.ID[string]).Draw(t, "agents") {
		out.Look.Agents = append(out.Look.Agents, api.AgentRow{Name: name, State: rapid.SampledFrom([]string{"idle", "working"}).Draw(t, "state"), Since: "3m0s", Reason: word.Draw(t, "why")})
	}
	for range rapid.IntRange(0, 3).Draw(t, "needs") { // some are alike
		out.Look.NeedsYou = append(out.Look.NeedsYou, api.Need{Rule: "r", Subject: "agent:" + word.Draw(t, "of"), Priority: "P2", Since: at.Add(-time.Hour)})
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "alerts") {
		out.Alerts = append(out.Alerts, api.Alert{ID: fmt.Sprint("id", i), Rule: "r", Subject: "agent:" + word.Draw(t, "about"), Priority: "P1", Since: at.Add(-time.Minute), For: "1m0s", Summary: word.Draw(t, "says")})
	}
	if rapid.Bool().Draw(t, "waits") {
		out.Pending = []api.Pending{{Agent: "a", What: "start", Since: at, For: "0s"}}
	}
	return out
}

// shownNames is what is shown of agents, alerts and needs, without what changes slowly.
func shownNames(look api.FirstLook, alerts []api.Alert, pending []api.Pending) []string {
	out := []string{look.Mode, look.Frozen}
	for _, g := range look.Agents {
		if len(g.Name) <= 256 {
			out = append(out, "agent "+g.Name+" "+g.State)
		}
	}
	for _, n := range look.NeedsYou {
		out = append(out, "need "+n.Subject+" "+n.Since.String())
	}
	for _, a := range alerts {
		out = append(out, "alert "+a.ID+a.Subject)
	}
	for _, p := range pending {
		out = append(out, "pending "+p.Agent)
	}
	slices.Sort(out)
	return out
}

// TestWhatIsToldIsShown: whatever a host shows and however it changes, others show the same; what has
// not changed is not told again.
func TestWhatIsToldIsShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		teller, reader := Teller{}, NewReader(7)
		skew := time.Duration(rapid.IntRange(-3e5, 3e5).Draw(t, "skew")) * time.Millisecond
		at, before, number := start, map[string][]byte{}, int64(0)
		var known api.HostLook
		for range rapid.IntRange(1, 5).Draw(t, "steps") {
			at = at.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "passes")) * time.Second)
			told := drawTold(t, at)
			all, err := teller.Rows(told, at)
			if err != nil {
				t.Fatal(err)
			}
			again, err := teller.Rows(told, at)
			if err != nil || !maps.EqualFunc(all, again, bytes.Equal) {
				t.Fatalf("the same is told otherwise: %v", err)
			}
			h := rows.Host{Name: "b", Run: "r", Said: at.Add(time.Second), Age: 2 * time.Second, Rows: all}
			got := reader.Looks([]string{"b"}, rows.Snapshot{Hosts: []rows.Host{h}, Whole: true}, at.Add(skew), number)
			look := got.Hosts[0]
			if look.Same != maps.EqualFunc(all, before, bytes.Equal) {
				t.Fatalf("same is %v", look.Same)
			}
			if !look.Same {
				known = look
			}
			before, number = all, got.Number
			if look.Status != "ok" || look.Cut != "" {
				t.Fatalf("%+v", look)
			}
			want := shownNames(told.Look, told.Alerts, told.Pending)
			if have := shownNames(known.Look, known.Alerts, known.Pending); !slices.Equal(have, want) {
				t.Fatalf("told %q\nshown %q", want, have)
			}
		}
	})
}

// TestAges: how long something lasts is shown as its host would show it, whatever the clocks say, and though a row is
// not told again.
func TestAges(t *testing.T) {
	var teller Teller
	told := Told{Look: api.FirstLook{Agents: []api.AgentRow{{Name: "a", State: "idle", Since: "1m0s"}}, NeedsYou: []api.Need{{ID: "n", Since: start.Add(-time.Minute), For: "1m0s"}}},
		Alerts: []api.Alert{{ID: "x", For: "1m0s", Since: start.Add(-time.Minute)}}}
	first, err := teller.Rows(told, start)
	if err != nil {
		t.Fatal(err)
	}
	told.Look.Agents[0].Since, told.Alerts[0].For, told.Look.NeedsYou[0].For = "1h1m0s", "1h1m0s", "1h1m0s"
	later, err := teller.Rows(told, start.Add(time.Hour))
	if err != nil || !maps.EqualFunc(first, later, bytes.Equal) {
		t.Fatalf("ages alone are told: %v", err)
	}
	mine := start.Add(-5 * time.Minute) // this machine's clock, as the host's shows start plus an hour and ten seconds
	h := rows.Host{Name: "b", Run: "r", Said: start.Add(time.Hour), Age: 10 * time.Second, Rows: later}
	look := NewReader(1).Looks([]string{"b"}, rows.Snapshot{Hosts: []rows.Host{h}, Whole: true}, mine, 0).Hosts[0]
	now := mine.Add(20 * time.Second)
	if got := look.Agents(now)[0].Since; got != "1h1m30s" {
		t.Errorf("the agent is idle for %s", got)
	}
	if got := look.AlertsOn(now)[0].For; got != "1h1m30s" {
		t.Errorf("the alert is for %s", got)
	}
	if got := look.Needs(now)[0]; got.For != "1h1m30s" || !got.Since.Equal(now.Add(-61*time.Minute-30*time.Second)) {
		t.Errorf("the need is for %s since %s", got.For, got.Since)
	}
}

// TestWhatChangesAllTheTime is told once a minute, and the state of an agent at once.
func TestWhatChangesAllTheTime(t *testing.T) {
	var teller Teller
	tokens := int64(0)
	changes := func(at time.Duration, state string) bool {
		tokens++
		n := tokens
		before := teller.told["agent.a"].value
		all, err := teller.Rows(Told{Look: api.FirstLook{Agents: []api.AgentRow{{Name: "a", State: state, Tokens: &n}}}}, start.Add(at))
		if err != nil {
			t.Fatal(err)
		}
		return !bytes.Equal(before, all["agent.a"])
	}
	for _, c := range []struct {
		at    time.Duration
		state string
		want  bool
	}{{0, "working", true}, {time.Second, "working", false}, {2 * time.Second, "idle", true}, {61 * time.Second, "idle", false}, {63 * time.Second, "idle", true}, {-time.Hour, "idle", true}} {
		if got := changes(c.at, c.state); got != c.want {
			t.Errorf("after %s: told %v", c.at, got)
		}
	}
}

// TestAnAgeThatBecomesKnown is told at once: without it nobody could reckon on from it.
func TestAnAgeThatBecomesKnown(t *testing.T) {
	var teller Teller
	row := func(at time.Duration, since string) []byte {
		all, err := teller.Rows(Told{Look: api.FirstLook{Agents: []api.AgentRow{{Name: "a", State: "starting", Since: since}}}}, start.Add(at))
		if err != nil {
			t.Fatal(err)
		}
		return all["agent.a"]
	}
	unknown, known := row(0, ""), row(time.Second, "1s")
	if bytes.Equal(unknown, known) || !bytes.Equal(known, row(2*time.Second, "2s")) {
		t.Errorf("told are %s and %s", unknown, known)
	}
}

// TestWhatIsNotKnown: what was told is never shown as what is, where the host is not heard, or cannot say.
func TestWhatIsNotKnown(t *testing.T) {
	var teller Teller
	all, err := teller.Rows(Told{Look: api.FirstLook{Agents: []api.AgentRow{{Name: "a", State: "idle"}}}}, start)
	if err != nil {
		t.Fatal(err)
	}
	blind, err := (&Teller{}).Blind("tmux hangs", nil, start)
	if err != nil {
		t.Fatal(err)
	}
	live := rows.Host{Name: "b", Run: "r", Said: start, Age: time.Second, Rows: all}
	silent, doubled, mute, sees, late := live, live, live, live, live
	late.Age = 96 * time.Second
	silent.Silent, silent.Age, doubled.Doubled, mute.Rows, sees.Rows = true, time.Minute, true, nil, blind
	for name, c := range map[string]struct {
		s            rows.Snapshot
		status, says string
		state        string
	}{
		"heard":          {rows.Snapshot{Hosts: []rows.Host{live}, Whole: true}, "ok", "", "idle"},
		"silent":         {rows.Snapshot{Hosts: []rows.Host{silent}, Whole: true}, "unknown", "host b is silent for 1m0s, its agents are unknown: it tells nothing any more", "unknown"},
		"late":           {rows.Snapshot{Hosts: []rows.Host{late}, Whole: true}, "unknown", "host b is silent for 1m36s, its agents are unknown: it tells nothing any more", "unknown"},
		"doubled":        {rows.Snapshot{Hosts: []rows.Host{doubled}, Whole: true}, "unknown", "two daemons tell under its name", "unknown"},
		"never heard":    {rows.Snapshot{Whole: true}, "unknown", "was never heard", ""},
		"told nothing":   {rows.Snapshot{Hosts: []rows.Host{mute}, Whole: true}, "unknown", "it has told nothing of itself yet", ""},
		"blind itself":   {rows.Snapshot{Hosts: []rows.Host{sees}, Whole: true}, "unknown", "it cannot look at itself: tmux hangs", ""},
		"the hub is cut": {rows.Snapshot{Hosts: []rows.Host{live}, Whole: true, Blind: "no connection"}, "unknown", "the hub tells nothing: no connection", "unknown"},
		"nobody looked":  {rows.Snapshot{Blind: rows.Unwatched}, "pending", "is being asked", ""},
		"never whole":    {rows.Snapshot{Blind: "no bucket"}, "unknown", "the hub tells nothing: no bucket", ""},
		"not whole":      {rows.Snapshot{Hosts: []rows.Host{live}}, "pending", "is being asked", "unknown"},
	} {
		look := NewReader(1).Looks([]string{"b"}, c.s, start, 0).Hosts[0]
		agents := look.Agents(start)
		if look.Status != c.status || !strings.Contains(look.Says(start), c.says) || c.says == "" && look.Says(start) != "" {
			t.Errorf("%s: %s: %q", name, look.Status, look.Says(start))
		}
		if got := cmp.Or(len(agents), 0); got > 0 && agents[0].State != c.state || got == 0 && c.state != "" {
			t.Errorf("%s: %+v", name, agents)
		}
	}
}

// TestRowsOfAStranger: what is no row, or not the one that its key says, is counted and not shown.
func TestRowsOfAStranger(t *testing.T) {
	all := map[string][]byte{"look.host": value(start, []byte(`{"mode":"auto"}`)), "agent.a": value(start, []byte(`{"name":"b"}`)), "agent.c": value(start, []byte(`{"name":"c"}`)), "agent.d": []byte("no"),
		"agent.e": []byte(`yesterday {"name":"e"}`), "later.x": value(start, []byte("1")), "alert.y": value(start, []byte("[]"))}
	h := rows.Host{Name: "b", Run: "r", Said: start, Rows: all, Cut: []byte(`{"more":3,"of":9}`), Odd: 1}
	look := NewReader(1).Looks([]string{"b"}, rows.Snapshot{Hosts: []rows.Host{h}, Whole: true}, start, 0).Hosts[0]
	if len(look.Look.Agents) != 1 || look.Look.Agents[0].Name != "c" || len(look.Alerts) != 0 {
		t.Errorf("%+v", look)
	}
	if want := "host b: not all is shown: 9 of its rows"; !strings.HasPrefix(look.Says(start), want) {
		t.Errorf("%q, want %q", look.Says(start), want)
	}
}

// TestWordsOfAStranger: what is to be a word, and is none, is not shown as it stands.
func TestWordsOfAStranger(t *testing.T) {
	all, err := (&Teller{}).Rows(Told{Look: api.FirstLook{Agents: []api.AgentRow{{Name: "a", State: "working\x1b[31m\u202eevil", Kind: strings.Repeat("k", 99), Owner: "custos", Source: "a b"}},
		NeedsYou: []api.Need{{ID: "1", Priority: "P0\x1b", Command: "rm -rf /"}}}, Alerts: []api.Alert{{ID: "2", Priority: "urgent", Status: "firing x"}}}, start)
	if err != nil {
		t.Fatal(err)
	}
	look := NewReader(1).Looks([]string{"b"}, rows.Snapshot{Hosts: []rows.Host{{Name: "b", Run: "r", Said: start, Rows: all}}, Whole: true}, start, 0).Hosts[0]
	if g := look.Agents(start)[0]; g.State != "unknown" || g.Kind != "unknown" || g.Owner != "custos" || g.Source != "none" {
		t.Errorf("%+v", g)
	}
	if n, a := look.Needs(start)[0], look.AlertsOn(start)[0]; n.Priority != "P?" || n.Command != "custos --host b status" || a.Priority != "P?" || a.Status != "unknown" {
		t.Errorf("%+v, %+v", n, a)
	}
}

// TestOurOwnWordsAreShown: each word that a Custos tells is shown at another one as it is.
func TestOurOwnWordsAreShown(t *testing.T) {
	shown := func(g api.AgentRow, a api.Alert) (api.AgentRow, api.Alert) {
		g.Name, a.ID = "a", "1"
		look := api.HostLook{HostSeen: api.HostSeen{Name: "b", Status: "ok"}, Got: start, Look: api.FirstLook{Agents: []api.AgentRow{g}}, Alerts: []api.Alert{a}}
		return look.Agents(start)[0], look.AlertsOn(start)[0]
	}
	for _, word := range fleet.Words(reflect.TypeFor[fleet.AgentState]()) {
		if g, _ := shown(api.AgentRow{State: word}, api.Alert{}); g.State != word {
			t.Errorf("an agent that is %s is shown as %s", word, g.State)
		}
	}
	for _, word := range fleet.Words(reflect.TypeFor[fleet.Owner]()) {
		if g, _ := shown(api.AgentRow{Owner: word}, api.Alert{}); g.Owner != word {
			t.Errorf("an agent of %s is shown as of %s", word, g.Owner)
		}
	}
	for _, word := range fleet.Words(reflect.TypeFor[fleet.AlertStatus]()) {
		if _, a := shown(api.AgentRow{}, api.Alert{Status: word}); a.Status != word {
			t.Errorf("an alert that is %s is shown as %s", word, a.Status)
		}
	}
	for _, word := range fleet.Words(reflect.TypeFor[fleet.Priority]()) {
		if _, a := shown(api.AgentRow{}, api.Alert{Priority: word}); a.Priority != word {
			t.Errorf("an alert of %s is shown as of %s", word, a.Priority)
		}
	}
}

func FuzzReadRow(f *testing.F) {
	f.Add("agent.a", []byte(`2026-11-29T02:00:00Z {"name":"a","since":"1m"}`))
	f.Add("look.host", []byte(`2026-11-29T02:00:00Z {"mode":"auto"}`))
	f.Add("kept.=YSBi", []byte(`2026-11-29T02:00:00Z "a b"`))
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		h := rows.Host{Name: "b", Run: "r", Said: start, Rows: map[string][]byte{key: value}}
		look := NewReader(1).Looks([]string{"b"}, rows.Snapshot{Hosts: []rows.Host{h}, Whole: true}, start, 0).Hosts[0]
		for _, g := range look.Agents(start) {
			if !strings.HasPrefix(g.Name, "b/") {
				t.Errorf("%q", g.Name)
			}
		}
	})
}

// fleetOf is a board of hosts with 100 agents each.
func fleetOf(b *testing.B, hosts int) (s rows.Snapshot, names []string) {
	b.Helper()
	s.Whole = true
	for n := range hosts {
		var told Told
		for i := range 100 {
			told.Look.Agents = append(told.Look.Agents, api.AgentRow{Name: fmt.Sprint("agent", i), Kind: "claude", State: "working", Since: "3m0s", Reason: "prints", CWD: "/home/ann/work/shop", Role: "polecat", Task: fmt.Sprint("shop#", i)})
		}
		all, err := (&Teller{}).Rows(told, start)
		if err != nil {
			b.Fatal(err)
		}
		name := fmt.Sprintf("host%04d", n)
		names = append(names, name)
		s.Hosts = append(s.Hosts, rows.Host{Name: name, Run: "r", Said: start, Rows: all})
	}
	return s, names
}

// BenchmarkLooks is what who looks at many hosts costs: cold, and with 1 % of the agents changed since.
func BenchmarkLooks(b *testing.B) {
	for _, hosts := range []int{1, 10, 100, 1000} {
		s, names := fleetOf(b, hosts)
		b.Run(fmt.Sprint("cold/", hosts), func(b *testing.B) {
			for b.Loop() {
				NewReader(1).Looks(names, s, start, 0)
			}
		})
		b.Run(fmt.Sprint("changed/", hosts), func(b *testing.B) {
			r := NewReader(1)
			since := r.Looks(names, s, start, 0).Number
			n := 0
			for b.Loop() {
				n++
				for range max(1, hosts) { // one agent of each host: 1 %
					h := &s.Hosts[n%hosts]
					h.Rows = maps.Clone(h.Rows)
					h.Rows["agent.agent1"] = value(start, fmt.Appendf(nil, `{"name":"agent1","state":"idle","reason":"%d"}`, n))
					n++
				}
				since = r.Looks(names, s, start, since).Number
			}
		})
	}
}
