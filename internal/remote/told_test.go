package remote

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/api"
)

// hears is the daemon of this machine, as one that hears hosts of a hub.
type hears struct {
	mu    sync.Mutex
	asked []int64 // since which numbers
	told  api.HubLooks
}

func (d *hears) tell(told api.HubLooks) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told = told
}

func (d *hears) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	since, err := strconv.ParseInt(r.URL.Query().Get("since"), 10, 64)
	if err != nil || r.URL.Path != "/v1/hub/looks" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	d.asked = append(d.asked, since)
	_ = json.NewEncoder(w).Encode(d.told)
}

// TestHostsComeAndGo: whoever comes and goes, those that there are are shown, in order, and are there to be asked; the
// number grows with each change.
func TestHostsComeAndGo(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	rapid.Check(t, func(r *rapid.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var there, before []Host
		w := NewWatch(ctx, func() []Host { return there }, nil, func() {})
		last := int64(-1)
		for range rapid.IntRange(1, 8).Draw(r, "steps") {
			there = nil
			for _, name := range names {
				if rapid.Bool().Draw(r, name) {
					there = append(there, Host{Name: name, Hub: filepath.Join(t.TempDir(), rapid.SampledFrom([]string{"1", "2"}).Draw(r, "socket"))})
				}
			}
			looks, number := w.Looks(false)
			if len(looks) != len(there) || !slices.Equal(before, there) && number <= last {
				r.Fatalf("%d are shown of %d, by number %d after %d", len(looks), len(there), number, last)
			}
			for i, h := range there {
				if looks[i].Name != h.Name {
					r.Fatalf("%s is shown in the place of %s", looks[i].Name, h.Name)
				}
			}
			for _, name := range names {
				is := slices.ContainsFunc(there, func(h Host) bool { return h.Name == name })
				if _, ok := w.Client(name); ok != is {
					r.Fatalf("%s is there to be asked: %v", name, ok)
				}
			}
			before, last = there, number
		}
	})
}

// TestHostsOfTheHub: what they tell comes with one question for all; one that tells nothing newer stays as it was, and
// where the daemon does not answer, or does not know a host any more, what it has is unknown.
func TestHostsOfTheHub(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	d := &hears{}
	server := &http.Server{Handler: d}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	look := func(name, status, state string) api.HostLook {
		return api.HostLook{HostSeen: api.HostSeen{Name: name, Status: status}, Got: time.Now(), Look: api.FirstLook{Agents: []api.AgentRow{{Name: "a", State: state}}}}
	}
	d.tell(api.HubLooks{Number: 5, Hosts: []api.HostLook{look("box1", "ok", "idle"), look("box2", "ok", "working")}})
	w := NewWatch(t.Context(), these(Host{Name: "box1", Hub: socket}, Host{Name: "box2", Hub: socket}), nil, func() {})
	w.every = 20 * time.Millisecond
	is := func(i int, status, state string) func() bool {
		return func() bool {
			list, _ := w.Looks(false)
			g := list[i].Agents(time.Now())
			return list[i].Status == status && len(g) == 1 && g[0].State == state
		}
	}
	await(t, "box1", is(0, "ok", "idle"))
	await(t, "box2", is(1, "ok", "working"))
	same := api.HostLook{HostSeen: api.HostSeen{Name: "box1", Status: "ok"}, Got: time.Now(), Same: true}
	d.tell(api.HubLooks{Number: 6, Hosts: []api.HostLook{same, look("box2", "ok", "idle")}})
	await(t, "box2 is idle", is(1, "ok", "idle"))
	await(t, "box1 stays", is(0, "ok", "idle"))
	same.Status, same.Why, same.Silent = "unknown", "it tells nothing any more", time.Now()
	d.tell(api.HubLooks{Number: 6, Hosts: []api.HostLook{same}})
	await(t, "box1 is silent", is(0, "unknown", "unknown"))
	await(t, "box2 is not told of", is(1, "unknown", "unknown"))
	_ = server.Close()
	await(t, "the daemon is gone", func() bool { list, _ := w.Looks(false); return list[0].Why != same.Why })
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asked[0] != 0 || d.asked[len(d.asked)-1] != 6 {
		t.Errorf("asked since %v", d.asked)
	}
}

// TestAHostThatComesLater is told of whole, though the others have told nothing newer.
func TestAHostThatComesLater(t *testing.T) {
	there := []Host{{Name: "box1", Hub: "/s"}}
	var since []int64
	w := NewWatch(t.Context(), func() []Host { return there }, nil, func() {})
	w.Hear(func(_ context.Context, n int64) (api.HubLooks, error) {
		since = append(since, n)
		return api.HubLooks{Number: 6}, nil
	})
	w.askHub()
	w.askHub()
	there = append(there, Host{Name: "box2", Hub: "/s"})
	w.mu.Lock()
	w.renew()
	w.mu.Unlock()
	w.askHub()
	if !slices.Equal(since, []int64{0, 6, 0}) {
		t.Errorf("asked since %v", since)
	}
}

func TestHubPause(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{0: 3 * time.Second, time.Millisecond: 3 * time.Second, time.Second: 4 * time.Second, time.Minute: 30 * time.Second} {
		if got := hubPause(3*time.Second, took); got != want {
			t.Errorf("after %s: %s, want %s", took, got, want)
		}
	}
}
