package control

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"custos/internal/api"
)

// TestWhoMayDoWhat: what begins something by itself, or says what may be run, takes a
// person; what is written down is written in one's own name; to look is for anyone.
func TestWhoMayDoWhat(t *testing.T) {
	want := map[Access]string{
		Anyone:  "agents handoff, agents list, agents log, agents screen, agents show, alerts list, alerts offer, budgets list, code list, convoys list, convoys show, costs get, cv get, doctor get, failures get, feed get, formulas list, formulas read, gates list, gates show, health get, hub get, hub looks, journal get, look get, merges list, merges show, orders list, orders show, plan get, plugins list, plugins read, plugins runs, plugins show, preflight get, prices get, readings get, receivers list, reply ack, reply freeze, reply help, reply ignore, reply status, reply stuck, report get, reviews list, reviews show, role-findings list, roles list, roles offer, roles show, runs list, runs show, schedules list, settings get, status get, story get, teams list, teams show, then get, work list, work show",
		Author:  "agents beat, agents hand-over, budgets left, caller get, convoys add, convoys change, gates add, gates close, mail add, mail change, mail list, merges add, merges change, orders add, people tell, reviews change, runs change, slings add, teams add, teams change, triggers add, work add, work change",
		Person:  "alerts ack, alerts approve, alerts deny, brake thaw, budgets add, code trust, doctor fix, formulas switch, grants add, orders approve, orders cancel, orders offer, plugins run, projects pause, receivers try, reply approve, reply deny, reply stop, reply thaw, runs add, silences add, web add, web list, web switch",
		NoAgent: "brake freeze",
	}
	got := map[Access][]string{}
	for _, n := range Nouns() {
		for _, v := range n.Verbs {
			got[v.Access] = append(got[v.Access], n.Name+" "+v.Name)
		}
	}
	for _, v := range Replies() {
		got[v.Access] = append(got[v.Access], "reply "+string(v.Verb))
	}
	for who, list := range want {
		slices.Sort(got[who])
		if is := strings.Join(got[who], ", "); is != list {
			t.Errorf("access %d:\n%s\nwant\n%s", who, is, list)
		}
	}
}

// An agent reports steps in its own name; whoever cannot be told, and an agent that wants
// more, is refused with the carrier's words.
func TestReporter(t *testing.T) {
	barred := fmt.Errorf("it takes a person")
	for _, c := range []struct {
		by, do string
		barred error
		may    bool
	}{
		{"ann", "cancel", nil, true}, {"ann", "done", nil, true},
		{"agent/n", "done", barred, true}, {"agent/n", "fail", barred, true}, {"agent/n", "cancel", barred, false}, {"agent/n", "resume", barred, false},
		{"agent/" + Unnamed, "done", barred, false}, {"agent/" + Unnamed, "resume", barred, false},
	} {
		if err := reporter(Call{By: c.by, Barred: c.barred}, c.do); (err == nil) != c.may {
			t.Errorf("%s %s: %v", c.by, c.do, err)
		}
	}
}

// An agent orders a checkpoint of itself and a child of its own, and nothing else; who is told
// by its marker alone, and who cannot be told, order nothing.
func TestOrderer(t *testing.T) {
	barred := fmt.Errorf("it takes a person")
	child := func() *api.OrderRequest { return &api.OrderRequest{Do: "spawn", Spawn: &api.SpawnRequest{}} }
	for _, c := range []struct {
		call Call
		r    *api.OrderRequest
		may  bool
	}{
		{Call{By: "ann"}, &api.OrderRequest{Do: "stop", Agent: "n"}, true},
		{Call{By: "agent/n", Barred: barred}, &api.OrderRequest{Do: "backup", Agent: "n"}, true},
		{Call{By: "agent/n", Barred: barred}, &api.OrderRequest{Do: "backup", Agent: "m"}, false},
		{Call{By: "agent/n", Barred: barred}, child(), true},
		{Call{By: "agent/n", Barred: barred, Marked: true}, child(), false},
		{Call{By: "agent/n", Barred: barred, Marked: true}, &api.OrderRequest{Do: "backup", Agent: "n"}, false},
		{Call{By: "agent/" + Unnamed, Barred: barred}, child(), false},
		{Call{By: "agent/n", Barred: barred}, &api.OrderRequest{Do: "stop", Agent: "n"}, false},
	} {
		if by, err := orderer(c.call, c.r); (err == nil) != c.may || c.may && by != c.call.By {
			t.Errorf("%+v %+v: %q, %v", c.call, c.r, by, err)
		}
	}
}
