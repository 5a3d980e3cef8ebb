package daemon_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/daemon"
)

// The morning page tells what a patrol did and refused, without a daemon and with
// one; the patrol's entry is committed to the ops repository; and the daemon shows
// its metrics.
func TestMorningPage(t *testing.T) {
	dir, _ := scratch(t)
	ops, listen := filepath.Join(dir, "ops"), freePort(t)
	if out, err := exec.Command("git", "init", "-q", ops).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file := filepath.Join(dir, "custos.toml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	more := "\n[journal]\nops_repo = \"" + ops + "\"\nfolder = \"journal\"\n[metrics]\nlisten = \"" + listen + "\"\n"
	if err := os.WriteFile(file, append(text, more...), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := load(t, dir)
	done := patrol(t, cfg).Done
	var r api.Report
	custos(t, cfg, func(ctx context.Context, c *api.Client) {
		if r, err = c.Report(ctx, "1h"); err != nil {
			t.Fatal(err)
		}
	})
	if len(done) == 0 || len(r.Did) != len(done) || r.Patrols != 1 || r.Watched || len(r.Waits) == 0 {
		t.Errorf("after a patrol that did %d things the page has %d; %d patrols, %d wait", len(done), len(r.Did), r.Patrols, len(r.Waits))
	}
	out, err := exec.Command("git", "-C", ops, "log", "--format=%s", "--name-only", "custos/journal").CombinedOutput()
	if err != nil || strings.Count(string(out), "Journal of ") != 1 || strings.Count(string(out), "journal/2") != 1 {
		t.Errorf("the ops repository has %s, %v", out, err)
	}
	_, said := up(t, dir, cfg)
	await(t, said.String, func() bool { s, err := status(t.Context(), cfg); return err == nil && s.Patrols > 1 })
	c, err := api.Dial(t.Context(), daemon.Socket(cfg))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	with, err := c.Report(t.Context(), "1h")
	if err != nil || !with.Watched || len(with.Did) < len(r.Did) || with.Patrols < 2 {
		t.Errorf("with a daemon the page is %+v, %v", with, err)
	}
	socket := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", daemon.Socket(cfg))
	}}
	defer socket.CloseIdleConnections()
	for where, tr := range map[string]*http.Transport{"http://custos/metrics": socket, "http://" + listen + "/metrics": {DisableKeepAlives: true}} {
		await(t, func() string { return where + "\n" + said.String() }, func() bool {
			page := got(t, tr, where)
			return strings.Contains(page, "\ncustos_alert{") && strings.Contains(page, "\ncustos_last_pass_age_seconds ") && strings.Contains(page, "\ncustos_pass_duration_seconds_count ")
		})
	}
}

// got is what is at an address; "" while nothing is.
func got(t *testing.T, tr *http.Transport, where string) string {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, where, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return string(b)
}

// A repository that the journal cannot be committed to is a note in the status, and
// holds up nothing.
func TestOpsRepositoryThatIsNone(t *testing.T) {
	dir, _ := scratch(t)
	file := filepath.Join(dir, "custos.toml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, "\n[journal]\nops_repo = \""+t.TempDir()+"\"\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := load(t, dir)
	_, said := up(t, dir, cfg)
	var s api.Status
	await(t, func() string { return strings.Join(s.Notes, "\n") + said.String() }, func() bool {
		s, err = status(t.Context(), cfg)
		return err == nil && s.Patrols > 0 && strings.Contains(strings.Join(s.Notes, "\n"), "the journal cannot be committed to its ops repository") &&
			strings.Contains(said.String(), "Cannot commit the journal")
	})
}
