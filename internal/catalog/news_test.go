package catalog

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

// The receivers that routes do not name, and windows of maintenance.
func TestMirrorsAndWindows(t *testing.T) {
	p, err := people(t, `
[notifier.am]
type = "alertmanager"
server = "http://127.0.0.1:9093"
every = "30s"
[notifier.secret]
type = "alertmanager"
server = "http://127.0.0.1:9093"
token_env = "AM"
[notifier.desk]
type = "desktop"
[maintenance.sunday]
cron = "0 2 * * 0"
for = "2h"
zone = "Europe/Berlin"
rule = ["disk-*"]
[maintenance.move]
at = "2026-11-24 22:30"
for = "90m"
zone = "UTC"
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Mirrors) != 2 || p.Mirrors[0].Every() != 30*time.Second || p.Mirrors[1].Every() != time.Minute || p.Notifiers[1].Name() != "desk" {
		t.Errorf("made %+v", p)
	}
	if len(p.Windows) != 2 || p.Windows[0].Name != "move" {
		t.Fatalf("windows are %+v", p.Windows)
	}
	for _, c := range []struct {
		window int
		at     string
		began  string // "" for never
	}{
		{0, "2026-11-24T22:29:59Z", ""},
		{0, "2026-11-24T22:30:00Z", "2026-11-24T22:30:00Z"},
		{0, "2026-12-24T22:30:00Z", "2026-11-24T22:30:00Z"},
		{1, "2026-11-22T00:59:59Z", "2026-11-15T01:00:00Z"}, // 2 o'clock in Berlin, in winter
		{1, "2026-11-22T01:00:00Z", "2026-11-22T01:00:00Z"},
		{1, "2026-11-22T02:59:30Z", "2026-11-22T01:00:00Z"},
		{1, "2026-07-05T00:10:00Z", "2026-07-05T00:00:00Z"}, // and in summer
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if began, ok := p.Windows[c.window].Began(at); ok {
			got = began.UTC().Format(time.RFC3339)
		}
		if got != c.began {
			t.Errorf("window %d at %s began %q, want %q", c.window, c.at, got, c.began)
		}
	}
}

func TestBadNewsSections(t *testing.T) {
	repo := t.TempDir()
	for text, want := range map[string]string{
		"[notifier.am]\ntype = \"alertmanager\"\n":                                                                "server: want a URL",
		"[notifier.am]\ntype = \"alertmanager\"\nserver = \"http://x\"\nevery = \"1ms\"\n":                        "every: want a second to an hour",
		"[notifier.am]\ntype = \"alertmanager\"\nserver = \"http://x\"\ntoken_env = \"A\"\ntoken_file = \"/x\"\n": "exactly one",
		"[notifier.am]\ntype = \"alertmanager\"\nserver = \"http://x\"\n[route.r]\nto = [\"am\"]\n":               "none of terminal",
		"[maintenance.x]\nfor = \"2h\"\n":                                                                         "exactly one of cron",
		"[maintenance.x]\nfor = \"2h\"\ncron = \"0 2 * * *\"\nat = \"2026-11-22 02:00\"\n":                        "exactly one of cron",
		"[maintenance.x]\nfor = \"8d\"\ncron = \"0 2 * * *\"\n":                                                   "the most is 7d",
		"[maintenance.x]\ncron = \"0 2 * * *\"\n":                                                                 "for:",
		"[maintenance.x]\nfor = \"2h\"\ncron = \"0 0 31 2 *\"\n":                                                  "never due",
		"[maintenance.x]\nfor = \"2h\"\nat = \"tomorrow\"\n":                                                      "no moment like",
		"[maintenance.x]\nfor = \"2h\"\nat = \"2026-11-22 02:00\"\nzone = \"Mars\"\n":                             "no zone",
		"[maintenance.x]\nfor = \"2h\"\ncron = \"0 2 * * *\"\nrule = [\"[\"]\n":                                   "no pattern",
		"[maintenance.x]\nfor = \"2h\"\ncrom = \"0 2 * * *\"\n":                                                   `did you mean "cron"`,
		"[metrics]\nlisten = \"9911\"\n":                                                                          "no address like",
		"[metrics]\nlisten = \"0.0.0.0:9911\"\n":                                                                  "reached by other machines",
		"[metrics]\nlisten = \":9911\"\n":                                                                         "reached by other machines",
		"[metrics]\ntoken_env = \"X\"\n":                                                                          "listen: want an address",
		"[metrics]\nlisten = \"127.0.0.1:1\"\ntoken_env = \"X\"\ntoken_file = \"/x\"\n":                           "exactly one",
		"[journal]\npush = true\n":                                                                                "ops_repo: want",
		"[journal]\nops_repo = \"/no/such/place\"\n":                                                              "no such file",
		"[journal]\nops_repo = \"" + repo + "\"\nfolder = \"../x\"\n":                                             "no folder within",
		"[journal]\nops_repo = \"" + repo + "\"\nbranch = \"--force\"\n":                                          "no name of a branch",
		"[journal]\nops_repo = \"" + repo + "\"\nremote = \"ext::sh -c x\"\n":                                     "is no name",
		"[journal]\nops_repo = \"" + repo + "\"\nname = \"x <y>\"\n":                                              "without < and >",
		"[journal]\nops_repo = \"" + repo + "\"\ndeadline = \"soon\"\n":                                           "deadline:",
	} {
		_, err := people(t, text, nil)
		if err == nil {
			var w *World
			if w, err = world(t, text); err == nil {
				if _, _, err = Metrics(w, func(a string) bool { return strings.HasPrefix(a, "127.") }); err == nil {
					_, err = Ops(w)
				}
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "custos.toml") {
			t.Errorf("%q: %v, want %q and the file", text, err, want)
		}
	}
}

// What is configured is made: an ops repository that commits, and an address with
// its token.
func TestOpsAndMetricsAreMade(t *testing.T) {
	repo := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", repo).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w, err := world(t, "[journal]\nops_repo = \""+repo+"\"\nfolder = \"log\"\nname = \"N\"\nemail = \"e@x\"\n[metrics]\nlisten = \"0.0.0.0:9911\"\ntoken_file = \"~/token\"\n")
	if err != nil {
		t.Fatal(err)
	}
	ops, err := Ops(w)
	if err != nil {
		t.Fatal(err)
	}
	if err := ops.Append(fleet.Instant{Wall: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)}, "## x\n"); err != nil {
		t.Fatal(err)
	}
	if err := ops.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("git", "-C", repo, "log", "--format=%an %ae", "--name-only", "custos/journal").CombinedOutput()
	if err != nil || strings.Join(strings.Fields(string(out)), " ") != "N e@x log/2026-11-22.md" {
		t.Errorf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(w.Config.Home, "token"), []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	listen, token, err := Metrics(w, func(string) bool { return false })
	if err != nil || listen != "0.0.0.0:9911" {
		t.Fatalf("%q, %v", listen, err)
	}
	if got, err := token(t.Context()); got != "s3cret" || err != nil {
		t.Errorf("the token is %q, %v", got, err)
	}
	if none, err := world(t, ""); err != nil {
		t.Fatal(err)
	} else if ops, err := Ops(none); ops != nil || err != nil {
		t.Errorf("without a section there is %v, %v", ops, err)
	}
}
