package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/api"
)

// TestAPersonGrantsOneCall: a rule of the policy that an agent was started with denies, a person's word lets one call
// go on, and it denies again; that is on record. What makes no sense is refused.
func TestAPersonGrantsOneCall(t *testing.T) {
	w := newTown(t, "[agents]\nevery = \"1s\"\npolicy = \"lab\"\n[[policy.lab.rule]]\nid = \"no-touch\"\nverdict = \"deny\"\nprogram = [\"touch\"]\nwhy = \"no\"\n")
	w.spawnArgv("one", "claude", "--fake", "x")
	w.awaitState("one", "idle")
	found, err := filepath.Glob(filepath.Join(w.dir, "*/run/policies/one.json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("policies %q: %v", found, err)
	}
	a := w.agent("one")
	call := func() string {
		t.Helper()
		c := exec.Command(filepath.Join(w.bin, "custos-hook"), "claude", "PreToolUse", "--run", filepath.Dir(filepath.Dir(found[0])))
		c.Env = append(os.Environ(), "CUSTOS_POLICY="+found[0], "CUSTOS_AGENT=one:"+a.Instance)
		c.Stdin = strings.NewReader(`{"tool_name": "Bash", "cwd": "/", "tool_input": {"command": "touch x"}}`)
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	grant := func(o api.GrantOrder) (api.Granted, error) { return w.client().Grant(t.Context(), o) }
	for words, o := range map[string]api.GrantOrder{
		`there is no agent "two"`:                    {Agent: "two", Rule: "no-touch"},
		`no rule "no-toch", did you mean "no-touch"`: {Agent: "one", Rule: "no-toch"},
		"a day at most":                              {Agent: "one", Rule: "no-touch", For: "25h"},
		"cannot read for how long":                   {Agent: "one", Rule: "no-touch", For: "soon"},
	} {
		var e *api.Error
		if _, err := grant(o); !errors.As(err, &e) || !strings.Contains(e.Message, words) {
			t.Errorf("%+v: %v, want %q", o, err, words)
		}
	}
	s := &api.SpawnRequest{Kind: "generic", Argv: []string{"sleep", "1000"}, Dir: filepath.Join(w.dir, "work")}
	if o := w.order(api.OrderRequest{Do: "spawn", Agent: "unasked", Spawn: s}); o.State != "done" {
		t.Fatalf("%+v\n%s", o, w.said)
	}
	var e *api.Error
	if _, err := grant(api.GrantOrder{Agent: "unasked", Rule: "no-touch"}); !errors.As(err, &e) || e.Kind != api.BadInput || !strings.Contains(e.Message, "no hook judges the calls of unasked") {
		t.Errorf("to one that nobody judges: %v", err)
	}
	if said := call(); !strings.Contains(said, "no-touch") {
		t.Fatalf("before: %q", said)
	}
	if g, err := grant(api.GrantOrder{Agent: "one", Rule: "no-touch", Once: true, Why: "a proof"}); err != nil || g.Rule != "no-touch" || !g.Once {
		t.Fatalf("%+v, %v", g, err)
	}
	if first, second := call(), call(); strings.Contains(first, "no-touch") || !strings.Contains(second, "no-touch") {
		t.Errorf("the call that was granted: %q; the next one: %q", first, second)
	}
	story, err := w.client().Story(t.Context(), "agent/one")
	if said := fmt.Sprintf("%+v", story); err != nil || !strings.Contains(said, "for one call rule no-touch of policy lab does not count until ") || !strings.Contains(said, "a proof") {
		t.Errorf("on record: %s, %v", said, err)
	}
}
