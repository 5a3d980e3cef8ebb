package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/cli"
	"custos/internal/config"
)

// TestAStopOfAllReachesWhatIsToRun: an agent that has crashed and is to be recovered, and
// one whose start waits for room, are stopped as those that run are, and before these: the
// room that one leaves would start another. What has ended for good, what is stopped, and
// what is not ours stays untouched.
func TestAStopOfAllReachesWhatIsToRun(t *testing.T) {
	const rows = `{"name":"top","owner":"custos","pid":7,"desired":"running"},{"name":"deep","owner":"custos","pid":8,"depth":1,"desired":"running"},
		{"name":"crashed","owner":"custos","state":"crashed","desired":"running"},{"name":"taken-in","owner":"adopted","state":"crashed","desired":"running"},
		{"name":"through","owner":"custos","state":"finished","desired":"running"},{"name":"anew","owner":"custos","state":"finished","desired":"running"},
		{"name":"ready","owner":"custos","state":"finished","desired":"running"},{"name":"held","owner":"custos","state":"crashed","desired":"paused"},
		{"name":"was","owner":"custos","state":"stopped","desired":"stopped"},
		{"name":"stray","owner":"foreign","pid":9},{"name":"told","owner":"configured","state":"crashed","desired":"running"}`
	const pending = `{"agent":"queued","what":"spawn","state":"queued"},{"agent":"queued","what":"nudge","state":"queued"},{"agent":"was","what":"nudge","state":"queued"},
		{"agent":"unseen","what":"start","state":"not started"},{"agent":"anew","what":"recover","state":"planned"},{"agent":"crashed","what":"recover","state":"held back"},
		{"agent":"account work","what":"resume","state":"queued"}`
	for name, c := range map[string]struct {
		agents, pending string
		want            []string
	}{
		"all there is":  {rows, pending, []string{"anew", "crashed", "held", "queued", "ready", "taken-in", "unseen", "deep", "top"}},
		"one crashed":   {`{"name":"z2","owner":"custos","state":"crashed","desired":"running"}`, "", []string{"z2"}},
		"one is queued": {"", `{"agent":"q2","what":"spawn","state":"queued"}`, []string{"q2"}},
		"nothing":       {`{"name":"through","owner":"custos","state":"finished","desired":"running"}`, "", nil},
	} {
		var ordered []string
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				fmt.Fprintf(w, `{"notes":[],"next":[],"seen":{"status":"ok"},"agents":[%s],"pending":[%s],"kept":["ready","top"]}`, c.agents, c.pending)
				return
			}
			var o api.OrderRequest
			if err := json.NewDecoder(r.Body).Decode(&o); err != nil || o.Do != "stop" {
				t.Errorf("%s: ordered %+v, %v", name, o, err)
			}
			ordered = append(ordered, o.Agent)
			fmt.Fprintf(w, `{"id":%q,"do":"stop","agent":%q,"state":"done","over":true,"next":[]}`, o.ID, o.Agent)
		})
		daemon := func(getenv func(string) string) cli.Daemon {
			d := fake(getenv)
			d.Local = func(context.Context, config.Config) (http.Handler, func() error, error) {
				return h, func() error { return nil }, nil
			}
			return d
		}
		var out bytes.Buffer
		code := runWith(t.Context(), t, strings.NewReader(""), &out, daemon, nil, "stop", "--all")
		if code != 0 || !slices.Equal(ordered, c.want) {
			t.Errorf("%s: ended with %d, and stopped %v, want %v: %s", name, code, ordered, c.want, out.String())
		}
		for _, agent := range c.want {
			if !strings.Contains(out.String(), "Stopped "+agent) {
				t.Errorf("%s: %s is not named: %s", name, agent, out.String())
			}
		}
		if none := strings.Contains(out.String(), "No agent of ours runs, and none is to run."); none != (c.want == nil) {
			t.Errorf("%s: %s", name, out.String())
		}
	}
}
