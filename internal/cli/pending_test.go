package cli

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"custos/internal/api"
)

// What something waits for is said to its end, however narrow the screen: it goes on
// below.
func TestWhatIsPendingSaysAllOfItsCause(t *testing.T) {
	why := "the database had to be set aside: what was tried before is forgotten until a person confirms it with custos ack 1"
	for _, width := range []int{60, 80, 100} {
		var out bytes.Buffer
		p := &page{out: &out, width: width}
		writePending(p, api.Agents{Pending: []api.Pending{
			{Agent: "builder", What: "nudge", State: "queued", For: "2m", Order: "0a1b2c3d4e5f6071", Why: why},
			{Agent: "other", What: "start", State: "not started", For: "30s", Why: "no instance of it has begun"},
		}})
		if err := p.flush(); err != nil {
			t.Fatal(err)
		}
		for _, row := range strings.Split(out.String(), "\n") {
			if runes(row) > width {
				t.Errorf("at %d: %d columns: %s", width, runes(row), row)
			}
		}
		_, said, _ := strings.Cut(out.String(), "0a1b2c3d4e5f6071")
		said, _, _ = strings.Cut(said, "other")
		if got := strings.Join(strings.Fields(said), " "); got != why {
			t.Errorf("at %d it says %q", width, got)
		}
	}
}

// How long an order is waited for by itself is told as it is: one that is held back is
// waited for only where it starts or stops an agent.
func TestWaitIsToldAsItIs(t *testing.T) {
	a := &app{}
	for verb, held := range map[string]bool{"spawn": true, "stop": true, "recover": true, "nudge": false, "answer": false, "interrupt": false, "checkpoint": false, "adopt": false} {
		c, _, err := a.root().Find([]string{verb})
		if err != nil {
			t.Fatal(err)
		}
		usage := c.Flags().Lookup("wait").Usage
		if strings.Contains(usage, "held back") == held {
			t.Errorf("%s: %s", verb, usage)
		}
	}
}

// Of things that cannot be told for one reason one is named, and the others counted, in one
// line: they leave room for what else cannot be told.
func TestWhatCannotBeToldOfManyIsCounted(t *testing.T) {
	var all []api.Doubt
	for i := range 2000 {
		of := "convoy/c" + strconv.Itoa(i)
		all = append(all, api.Doubt{Rule: "convoy-overdue", Subject: of, Why: "its tracker is not seen"}, api.Doubt{Rule: "convoy-stuck", Subject: of, Why: "another reason"})
	}
	for _, of := range []string{"agent/a", "agent/b", "agent/c"} {
		all = append(all, api.Doubt{Rule: "agent-context-high", Subject: of, Why: "agent.context_percent is not known"})
	}
	all = append(all, api.Doubt{Rule: "oom-kill", Subject: "host/vm", Why: "there was no look before"})
	var out bytes.Buffer
	p := &page{out: &out, width: 100}
	patrolDoubts(p, all)
	if err := p.flush(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"convoy c0 and 1999 more", "agent a and 2 more", "convoy-overdue, convoy-stuck", "its tracker is not seen", "host vm", "there was no look before"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "convoy c1") || strings.Contains(out.String(), "agent b") || strings.Count(out.String(), "\n") > 5 {
		t.Errorf("it names too many:\n%s", out.String())
	}
}
