package cli

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/client"
)

func asClient(args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	e := Env{Args: args, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Width: 100, Getenv: func(name string) string {
		return map[string]string{"HOME": "/nowhere"}[name]
	}}
	e.Daemon = clientDaemon(e)
	code = Run(context.Background(), e)
	return code, stdout.String(), stderr.String()
}

// One custos.toml serves a machine that is watched, and a client.
func TestAClientKnowsTheSectionsThereAre(t *testing.T) {
	if got, want := client.Sections(), sections(); !slices.Equal(got, want) {
		t.Errorf("a client knows %q, and there are %q", got, want)
	}
}

// TestAClientRefusesWhatIsOfItsMachine: every command there is, but those that need no machine or
// show that this one is unknown. With another machine named, none of those that may speak of it is refused.
func TestAClientRefusesWhatIsOfItsMachine(t *testing.T) {
	may := strings.Fields("custos ps alerts top runbook schema version config init")
	a := &app{Env: Env{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }, Daemon: Daemon{Client: true}}}
	for _, c := range leaves(a.root()) {
		if refused, want := a.canLook(c) != nil, !slices.Contains(may, topOf(c).Name()); refused != want {
			t.Errorf("that %s is refused is %t", c.CommandPath(), refused)
		}
	}
	for _, line := range []string{"up", "stop --all", "uninstall --yes", "upgrade --from x.tar.gz", "freeze", "patrol --apply", "service install", "spawn x --kind claude", "bridge", "approve 3"} {
		code, out, errs := asClient(strings.Fields(line)...)
		if code != exitLook || out != "" || errs != "custos: cannot look at this machine: Custos watches Linux only; name another one with --host, or in [host.NAME]\ntry: custos help hosts.md\n" {
			t.Errorf("%s ended with %d: %s%s", line, code, out, errs)
		}
	}
}

// What is of this machine is unknown: neither absent nor healthy.
func TestAClientDoesNotKnowItsMachine(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"ps", "cannot tell: agents unknown, Custos watches Linux only"},
		{"ps --pending", "cannot tell: agents unknown"},
		{"ps --json", `"status": "unknown"`},
		{"alerts", "the alerts of this machine are not known: Custos watches Linux only"},
		{"alerts --json", `"unseen": "Custos watches Linux only`},
		{"", "cannot look at this machine"},
		{"--json", `"kind": "cannot_look"`},
		{"top", "cannot look at this machine"},
	} {
		code, out, errs := asClient(strings.Fields(c.line)...)
		if code != exitLook || !strings.Contains(out+errs, c.want) || strings.Contains(out+errs, "No al") {
			t.Errorf("custos %s ended with %d: %s%s", c.line, code, out, errs)
		}
	}
	for _, line := range []string{"help", "help all", "schema plan", "runbook locks", "version", "--version", "config check", "completion bash", "init --print"} {
		if code, out, errs := asClient(strings.Fields(line)...); code != exitWell || out == "" || errs != "" {
			t.Errorf("custos %s ended with %d: %s%s", line, code, out, errs)
		}
	}
	if _, out, _ := asClient("help"); strings.Contains(out, "custos setup") || strings.Contains(out, "  up  ") || !strings.Contains(out, "A client: this machine is not watched") {
		t.Errorf("the help offers what a client has not: %s", out)
	}
}

// Beside the agents of other machines it is said that those of this one were not seen.
func TestAgentsThatWereNotSeenAreTold(t *testing.T) {
	var out bytes.Buffer
	p := &page{out: &out, width: 100}
	writeAgents(p, api.Agents{Seen: api.PartSeen{Part: "agents", Status: "unknown", Why: "no look yet"}, Agents: []api.AgentRow{{Name: "box1/ann", Host: "box1"}}})
	if err := p.flush(); err != nil || !strings.Contains(out.String(), "this machine is not in it: agents unknown, no look yet") {
		t.Errorf("%v: %s", err, out.String())
	}
}
