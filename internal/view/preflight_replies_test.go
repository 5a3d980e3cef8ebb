package view

import (
	"slices"
	"testing"

	"custos/internal/fleet"
)

// TestReplySection: who may answer where, by count and not by name, and what lies
// unread, safe to show; what cannot be read is not nothing.
func TestReplySection(t *testing.T) {
	if s := replySection(nil); s.Status != "not-configured" || len(s.Lines) != 0 || s.Why == "" {
		t.Errorf("without a place: %+v", s)
	}
	spool := func(unread fleet.Leaf[[]string]) Listening {
		return Listening{Place: fleet.Place{Name: "spool/supervisor", Room: "/var/spool/c", People: []string{"spool/supervisor"}}, Unread: unread, Spool: true}
	}
	got := replySection([]Listening{
		{Place: fleet.Place{Name: "ops", Room: "!r:hs", People: []string{"@ann:hs", "@bob:hs"}, Asks: true}, Unread: fleet.Unknown[[]string]("its server knows")},
		{Place: fleet.Place{Name: "phone", Room: "-100", People: []string{"77"}}},
		spool(fleet.Known([]string{"ack 3", "the key is token=hunter2hunter2hunter2\x1b[31m"})),
		spool(fleet.Known([]string{})),
		spool(fleet.Unknown[[]string]("cannot use the spool")),
	})
	want := []string{
		"ops: 2 people may reply in !r:hs, and may approve and deny",
		"phone: 1 person may reply in -100",
		"spool/supervisor: who may write into /var/spool/c may reply; unread: 2",
		"  ack 3",
		"  " + fleet.Line(fleet.Redact("the key is token=hunter2hunter2hunter2"), 200),
		"spool/supervisor: who may write into /var/spool/c may reply; unread: 0",
		"spool/supervisor: who may write into /var/spool/c may reply; unread: unknown (cannot use the spool)",
	}
	if got.Status != "ok" || !slices.Equal(got.Lines, want) {
		t.Errorf("%+v", got)
	}
}
