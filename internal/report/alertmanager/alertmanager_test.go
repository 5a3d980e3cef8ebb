package alertmanager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"custos/internal/fleet"
)

// manager is an Alertmanager as far as it is asked: prometheus/alertmanager,
// api/v2/api.go, postAlertsHandler (014ea47). It takes what of a request is valid, and
// answers 400 for the rest, once that is stored.
type manager struct {
	*httptest.Server
	ahead  time.Duration // its clock
	status int
	answer string
	refuse string // a rule whose alerts are not valid

	mu     sync.Mutex
	posts  [][]postable
	tokens []string
}

func newManager(t *testing.T) *manager {
	m := &manager{status: http.StatusOK}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func (m *manager) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var list []postable
	if r.Method != http.MethodPost || r.URL.Path != "/api/v2/alerts" || json.NewDecoder(r.Body).Decode(&list) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.posts, m.tokens = append(m.posts, list), append(m.tokens, r.Header.Get("Authorization"))
	w.Header().Set("Date", time.Now().Add(m.ahead).UTC().Format(http.TimeFormat))
	if slices.ContainsFunc(list, m.invalid) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `"start time must be before end time"`)
		return
	}
	w.WriteHeader(m.status)
	fmt.Fprint(w, m.answer)
}

// invalid is Validate of prometheus/common, model/alert.go (v0.72.0).
func (m *manager) invalid(p postable) bool {
	return m.refuse != "" && p.Labels["alertname"] == m.refuse || p.StartsAt.IsZero() || p.EndsAt.Before(p.StartsAt) || len(p.Labels) == 0
}

func at(d time.Duration) fleet.Instant { return fleet.Instant{Wall: time.Now().Add(d)} }

func alert(rule string) fleet.Alert {
	return fleet.Alert{AlertKey: fleet.AlertKey{Rule: rule, Subject: fleet.Subject{Kind: fleet.KindLock, Name: "/tmp/a lock"}}, Number: 3,
		Status: fleet.AlertFiring, Priority: fleet.P2, Summary: "held by a\nprocess, token=hunter2hunter2", FiredAt: at(-time.Hour)}
}

func mirror(t *testing.T, m *manager, change func(*Options)) *Mirror {
	t.Helper()
	o := Options{Name: "am", Server: m.URL + "/", Host: "box"}
	if change != nil {
		change(&o)
	}
	out, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What fires holds for four intervals, what ended ended when it did.
func TestShow(t *testing.T) {
	m := newManager(t)
	over := alert("over")
	over.Status, over.EndedAt, over.Priority = fleet.AlertResolved, at(-time.Minute), fleet.P0
	now := at(0)
	if err := mirror(t, m, nil).Show(t.Context(), now, []fleet.Alert{alert("on"), over}); err != nil {
		t.Fatal(err)
	}
	if len(m.posts) != 1 || len(m.posts[0]) != 2 || m.tokens[0] != "" {
		t.Fatalf("it was shown %+v", m.posts)
	}
	on, off := m.posts[0][0], m.posts[0][1]
	want := map[string]string{"alertname": "on", "kind": "lock", "subject": "/tmp/a lock", "priority": "P2", "severity": "warning", "source": "custos", "host": "box"}
	for k, v := range want {
		if on.Labels[k] != v {
			t.Errorf("label %s is %q, want %q", k, on.Labels[k], v)
		}
	}
	if len(on.Labels) != len(want) {
		t.Errorf("labels are %v", on.Labels)
	}
	if s := on.Annotations["summary"]; strings.Contains(s, "hunter2") || strings.Contains(s, "\n") || !strings.HasPrefix(s, "held by a") {
		t.Errorf("the summary is %q", s)
	}
	if on.Annotations["command"] != "custos why 3" {
		t.Errorf("annotations are %v", on.Annotations)
	}
	if !on.EndsAt.Equal(now.Wall.Add(4*time.Minute)) || !on.StartsAt.Equal(alert("on").FiredAt.Wall.UTC()) && on.StartsAt.After(now.Wall) {
		t.Errorf("it holds from %s to %s", on.StartsAt, on.EndsAt)
	}
	if off.Labels["severity"] != "critical" || !off.EndsAt.Equal(over.EndedAt.Wall) {
		t.Errorf("what ended is shown as %+v", off)
	}
}

// A clock that is ten minutes ahead would take every alert for ended: it is told
// in its own time, at once and from then on.
func TestSkew(t *testing.T) {
	for _, ahead := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		m := newManager(t)
		m.ahead = ahead
		n := mirror(t, m, nil)
		for range 2 {
			if err := n.Show(t.Context(), at(0), []fleet.Alert{alert("on")}); err != nil {
				t.Fatal(err)
			}
		}
		if len(m.posts) != 3 {
			t.Fatalf("%d posts: once wrong, once again, and once the next time", len(m.posts))
		}
		for _, p := range m.posts[1:] {
			if left := p[0].EndsAt.Sub(time.Now().Add(ahead)); left < 3*time.Minute || left > 5*time.Minute {
				t.Errorf("by its own clock it holds for %s", left)
			}
		}
		m.ahead = 0 // somebody has set it right
		for range 2 {
			if err := n.Show(t.Context(), at(0), []fleet.Alert{alert("on")}); err != nil {
				t.Fatal(err)
			}
		}
		if last := m.posts[len(m.posts)-1][0].EndsAt; time.Until(last) > 5*time.Minute || time.Until(last) < 3*time.Minute {
			t.Errorf("with the clocks alike it holds until %s from now", time.Until(last))
		}
	}
}

func TestManyAlertsAreManyRequests(t *testing.T) {
	m := newManager(t)
	var list []fleet.Alert
	for i := range 130 {
		list = append(list, alert(fmt.Sprint("r", i)))
	}
	token := func(context.Context) (string, error) { return "s3cret", nil }
	if err := mirror(t, m, func(o *Options) { o.Token = token }).Show(t.Context(), at(0), list); err != nil {
		t.Fatal(err)
	}
	if len(m.posts) != 3 || len(m.posts[0]) != 64 || len(m.posts[2]) != 2 || m.tokens[0] != "Bearer s3cret" {
		t.Errorf("%d posts with %v", len(m.posts), m.tokens)
	}
}

// Whatever goes wrong is an error without the token, the URL or control characters.
func TestTroubles(t *testing.T) {
	token := func(context.Context) (string, error) { return "s3cret", nil }
	for name, c := range map[string]struct {
		status int
		answer string
		want   string
	}{
		"refused":  {400, "\x1b[31mbad label\n", "it answered 400: bad label"},
		"limited":  {429, "", "it answered 429"},
		"redirect": {302, "", "it answered 302"},
		"endless":  {500, strings.Repeat("x", 1<<20), "it answered 500: xxx"},
	} {
		m := newManager(t)
		m.status, m.answer = c.status, c.answer
		err := mirror(t, m, func(o *Options) { o.Token = token }).Show(t.Context(), at(0), []fleet.Alert{alert("on")})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\x1b\n") || strings.Contains(err.Error(), "s3cret") || len(err.Error()) > 400 {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := newManager(t)
	n := mirror(t, m, nil)
	m.Close()
	if err := n.Show(t.Context(), at(0), []fleet.Alert{alert("on")}); err == nil || strings.Contains(err.Error(), "api/v2") {
		t.Errorf("down: %v", err)
	}
	lost := func(context.Context) (string, error) { return "", errors.New("no such file") }
	if err := mirror(t, newManager(t), func(o *Options) { o.Token = lost }).Show(t.Context(), at(0), []fleet.Alert{alert("on")}); err == nil {
		t.Error("no token, no error")
	}
	for _, bad := range []Options{{Server: "am:9093"}, {Server: "http://u:p@am"}, {Server: "http://am", Every: time.Millisecond}} {
		if _, err := New(bad); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// An alert that is refused is told of, and holds back no other: those beside it were
// taken, and those after it are posted.
func TestOneThatIsRefusedHoldsBackNoOther(t *testing.T) {
	m := newManager(t)
	m.refuse = "r3"
	var list []fleet.Alert
	for i := range 130 {
		list = append(list, alert(fmt.Sprint("r", i)))
	}
	err := mirror(t, m, nil).Show(t.Context(), at(0), list)
	if err == nil || !strings.Contains(err.Error(), "it answered 400") {
		t.Errorf("got %v", err)
	}
	shown := 0
	for _, p := range m.posts {
		shown += len(p)
	}
	if shown != 130 {
		t.Errorf("%d of 130 alerts were posted", shown)
	}
	m.Close()
	if err := mirror(t, m, nil).Show(t.Context(), at(0), list); err == nil || strings.Count(err.Error(), "\n") > 0 {
		t.Errorf("of a server that is down it says %q", err)
	}
}

// Nothing is posted when there is nothing to show.
func TestNothing(t *testing.T) {
	m := newManager(t)
	if err := mirror(t, m, nil).Show(t.Context(), at(0), nil); err != nil || len(m.posts) != 0 {
		t.Errorf("%v, %v", err, m.posts)
	}
}
