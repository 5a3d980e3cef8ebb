package control

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// webBook is the page, and who may see it, in memory.
type webBook struct {
	all    []fleet.WebSession
	events []fleet.Event
	off    error
}

func (b *webBook) Open(context.Context) (string, error) { return "http://127.0.0.1:7777", b.off }
func (b *webBook) Stop(context.Context) error           { return nil }
func (b *webBook) Pages() []string {
	return []string{"/", "/alerts", "/alerts/{number}", "/agents/{name}", "/costs/budgets/{name}"}
}
func (b *webBook) Where() (string, string)                              { return "", "" }
func (b *webBook) Sessions(context.Context) ([]fleet.WebSession, error) { return b.all, nil }
func (b *webBook) Edit(_ context.Context, edit func([]fleet.WebSession) ([]fleet.WebSession, fleet.Event, error)) error {
	all, event, err := edit(b.all)
	if err == nil {
		b.all, b.events = all, append(b.events, event)
	}
	return err
}

func webAt(after time.Duration) fleet.Instant {
	return fleet.Instant{Wall: time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}.Add(after)
}

// An address has its token, and nothing else has: not the ledger, and not what is written
// down of it. Whoever it lets in is in the list, until it is over or ended.
func TestAnAddressOfThePage(t *testing.T) {
	b := &webBook{}
	c := &Control{Web: b, Now: func() fleet.Instant { return webAt(0) }}
	in, err := c.webAdded(t.Context(), Call{By: "ann"}, api.WebRequest{})
	if err != nil || !in.Once || !in.Until.Equal(webAt(ledger.WebInvitationFor).Wall) {
		t.Fatalf("%+v, %v", in, err)
	}
	link, err := c.webAdded(t.Context(), Call{By: "ann"}, api.WebRequest{Agent: "builder", For: "2h0m0s"})
	if err != nil || link.Once || !link.Until.Equal(webAt(2*time.Hour).Wall) || link.ID == in.ID {
		t.Fatalf("%+v, %v", link, err)
	}
	for _, made := range []api.WebAddress{in, link} {
		token, ok := strings.CutPrefix(made.URL, "http://127.0.0.1:7777/enter?token=")
		if !ok || len(token) < 50 {
			t.Errorf("the address: %s", made.URL)
		}
		for i, s := range b.all {
			if strings.Contains(s.Hash+s.ID+b.events[i].Text, token) {
				t.Errorf("the token is written down: %+v %+v", s, b.events[i])
			}
		}
		if !strings.Contains(b.events[0].Text+b.events[1].Text, made.ID) {
			t.Errorf("%s is not written down: %+v", made.ID, b.events)
		}
	}
	shown, err := c.webShown(t.Context(), Call{})
	if err != nil || len(shown.Sessions) != 2 || shown.Sessions[0].Kind != "invitation" || shown.Sessions[1].Shows != "agent builder" {
		t.Errorf("%+v, %v", shown, err)
	}
	if _, err := c.webSwitched(t.Context(), Call{By: "ann", ID: "nobody", Do: "revoke"}); api.ErrorOf(err).Kind != api.NotFound {
		t.Errorf("who is not there: %v", err)
	}
	if ended, err := c.webSwitched(t.Context(), Call{By: "ann", ID: link.ID, Do: "revoke"}); err != nil || ended.Ended != 1 || len(b.all) != 1 {
		t.Errorf("revoked %+v, %v: %+v", ended, err, b.all)
	}
	if _, err := c.webSwitched(t.Context(), Call{Do: "explode"}); api.ErrorOf(err).Kind != api.BadInput {
		t.Errorf("explode: %v", err)
	}
	b.off = errors.New("no daemon runs")
	if _, err := c.webAdded(t.Context(), Call{By: "ann"}, api.WebRequest{}); err == nil || len(b.all) != 1 {
		t.Errorf("an address of a page that is off: %v, %+v", err, b.all)
	}
}

// What is no part of the page, or shows all of it for ever, gets no link; nor does one lead
// to another machine.
func TestNoLinkOfWhatIsNoPart(t *testing.T) {
	b := &webBook{}
	c := &Control{Web: b, Now: func() fleet.Instant { return webAt(0) }}
	for _, r := range []api.WebRequest{
		{For: "2h"}, {Page: "/hosts/box/agents/x", For: "2h"}, {Page: "/agents/x/terminal", For: "2h"},
		{For: "2h"}, {Terminal: true}, {Agent: "a", Page: "/alerts", For: "2h"}, {Agent: "a"}, {Agent: "a", For: "soon"}, {Agent: "a", For: "-1h"}, {Agent: "a", For: "9000h"},
		{Page: "alerts", For: "2h"}, {Page: "//evil.test", For: "2h"}, {Page: "/\\evil.test", For: "2h"}, {Page: "/alerts?all=1", For: "2h"}, {Page: "/a/../b", For: "2h"}, {Page: "/a\nb", For: "2h"}, {Page: "https://evil.test", For: "2h"},
	} {
		if _, err := c.webAdded(t.Context(), Call{By: "ann"}, r); api.ErrorOf(err).Kind != api.BadInput {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if len(b.all) > 0 {
		t.Errorf("made: %+v", b.all)
	}
}

// A link of a page that there is not leads nowhere: it is refused, with the name of one that is
// near.
func TestALinkLeadsToAPage(t *testing.T) {
	b := &webBook{}
	c := &Control{Web: b, Now: func() fleet.Instant { return webAt(0) }}
	for page, want := range map[string]string{"/nosuch": "there is no such page", "/alert": `did you mean "/alerts"?`, "/alerts/3/more": "there is no such page", "/costs/budgets": "there is no such page", "/{$}": "there is no such page"} {
		_, err := c.webAdded(t.Context(), Call{By: "ann"}, api.WebRequest{Page: page, For: "2h0m0s"})
		if err == nil {
			t.Errorf("%s leads nowhere", page)
			continue
		}
		if e := api.ErrorOf(err); e.Kind != api.BadInput || !strings.Contains(e.Message, want) || len(b.all) != 0 {
			t.Errorf("%s: %v, %v", page, err, b.all)
		}
	}
	for _, page := range []string{"/", "/alerts", "/alerts/3", "/costs/budgets/day%2Fann"} {
		if _, err := c.webAdded(t.Context(), Call{By: "ann"}, api.WebRequest{Page: page, For: "2h0m0s"}); err != nil {
			t.Errorf("%s: %v", page, err)
		}
	}
}
