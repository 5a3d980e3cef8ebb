package daemon_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A real Prometheus and a real Alertmanager see an alert fire and resolve: from a
// finding over Alertmanager to its webhook, and on the page that Prometheus scrapes.
func TestPrometheusAndAlertmanager(t *testing.T) {
	prometheus, alertmanager := program(t, "prometheus"), program(t, "prometheus-alertmanager", "alertmanager")
	if prometheus == "" || alertmanager == "" {
		t.Skip("Prometheus or Alertmanager is not installed: apt-get install prometheus prometheus-alertmanager")
	}
	hook := &webhook{}
	people := httptest.NewServer(hook)
	defer people.Close()
	page, am, prom := freePort(t), freePort(t), freePort(t)
	kettle := filepath.Join(t.TempDir(), "kettle")
	boil := func(degrees int) {
		text := fmt.Sprintf(`{"facts": [{"name": "kettle", "numbers": {"degrees": %d}}]}`, degrees)
		if err := os.WriteFile(kettle+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(kettle+".new", kettle); err != nil { // whole, whenever it is read
			t.Fatal(err)
		}
	}
	boil(20)
	w := newTown(t, fmt.Sprintf(`
[probe.kettle]
run = ["/bin/cat", %q]
every = "1s"
[rule.kettle-boils]
priority = "P2"
over = "extra"
expr = 'extra.name == "kettle" && extra.numbers["degrees"] > 99.0'
summary = '"the kettle boils, token=hunter2hunter2"'
[metrics]
listen = %q
[notifier.am]
type = "alertmanager"
server = "http://%s"
every = "2s"
`, kettle, page, am))
	w.beside(alertmanager, "alertmanager.yml", fmt.Sprintf(`
route: {receiver: people, group_by: [alertname], group_wait: 0s, group_interval: 1s, repeat_interval: 1h}
receivers: [{name: people, webhook_configs: [{url: "%s", send_resolved: true}]}]
`, people.URL), "--config.file=alertmanager.yml", "--storage.path=am", "--web.listen-address="+am, "--cluster.listen-address=")
	w.beside(prometheus, "prometheus.yml", fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs: [{job_name: custos, static_configs: [{targets: ["%s"]}]}]
`, page), "--config.file=prometheus.yml", "--storage.tsdb.path=prom", "--web.listen-address="+prom, "--log.level=error")
	ask := func(query string) string { return asked(prom, query) }
	await(t, func() string { return "up is " + ask("up") + "\n" + w.said.String() }, func() bool { return ask("up") == "1" })
	if got := ask("custos_ledger_readable"); got != "1" {
		t.Errorf("custos_ledger_readable is %q", got)
	}

	boil(100)
	const firing = `custos_alert{rule="kettle-boils",kind="extra",subject="kettle",priority="P2",state="firing"}`
	await(t, func() string {
		return "Prometheus says " + ask(`{__name__=~"custos_alert.*"}`) + "\n" + w.said.String()
	}, func() bool { return ask(firing) == "1" })
	await(t, hook.String, func() bool { return hook.heard("firing") })

	boil(20)
	await(t, func() string { return "Prometheus says " + ask(firing) + "\n" + w.said.String() }, func() bool { return ask(firing) == "" && ask("up") == "1" })
	await(t, hook.String, func() bool { return hook.heard("resolved") })
	if s := hook.String(); strings.Contains(s, "hunter2") || !strings.Contains(s, `"severity":"warning"`) {
		t.Errorf("people were told %s", s)
	}
}

// program finds a program by one of its names; "" when it is not installed.
func program(t *testing.T, names ...string) string {
	t.Helper()
	for _, n := range names {
		if path, err := exec.LookPath(n); err == nil {
			return path
		}
	}
	return ""
}

// freePort is a loopback address that nobody listens at: below the ports that the
// kernel gives to whoever asks for any, so that nobody gets it meanwhile.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(10000))
		if l, err := net.Listen("tcp", address); err == nil {
			l.Close()
			return address
		}
	}
	t.Fatal("there is no free port")
	return ""
}

// beside runs a program in the town's folder, with a configuration, until the town
// burns down.
func (w *town) beside(program, file, config string, args ...string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, file), []byte(config), 0o600); err != nil {
		w.Fatal(err)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = w.dir, append(os.Environ(), "HOME="+w.dir)
	cmd.Stdout, cmd.Stderr = w.said, w.said
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

// asked asks Prometheus for the value of a series: "" when there is none, or no answer.
func asked(prom, query string) string {
	c := &http.Client{Timeout: 5 * time.Second}
	defer c.CloseIdleConnections()
	resp, err := c.Get("http://" + prom + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var out struct {
		Data struct {
			Result []struct {
				Value [2]any `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	if json.NewDecoder(resp.Body).Decode(&out) != nil || len(out.Data.Result) == 0 {
		return ""
	}
	return fmt.Sprint(out.Data.Result[0].Value[1])
}

// webhook is whom Alertmanager tells.
type webhook struct {
	mu   sync.Mutex
	told []string
}

func (h *webhook) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = append(h.told, string(b))
}

func (h *webhook) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return "the webhook was told:\n" + strings.Join(h.told, "\n")
}

// heard says whether people were told that the kettle is in a status.
func (h *webhook) heard(status string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, text := range h.told {
		var m struct {
			Alerts []struct {
				Status string            `json:"status"`
				Labels map[string]string `json:"labels"`
			} `json:"alerts"`
		}
		if json.Unmarshal([]byte(text), &m) != nil {
			continue
		}
		for _, a := range m.Alerts {
			if a.Status == status && a.Labels["alertname"] == "kettle-boils" && a.Labels["subject"] == "kettle" {
				return true
			}
		}
	}
	return false
}
