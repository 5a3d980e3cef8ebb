package agents

import (
	"context"
	"fmt"
	"testing"
	"time"

	"custos/internal/fleet"
)

// TestADialogIsOfferedWhenItIsDrawn: what is read while a CLI still draws is another dialog a
// moment later, and an answer to it would be refused.
func TestADialogIsOfferedWhenItIsDrawn(t *testing.T) {
	w := newWorld()
	w.proc(10, 1, "claude")
	pane := w.pane("one", 10)
	pane.Title = "✳ x"
	var reads []string
	asks := func(command string) string {
		return fmt.Sprintf("────────────\n Bash command\n   %s\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n Esc to cancel", command)
	}
	p := w.probe(t, func(o *Options) {
		o.Screens = func(_ context.Context, ids []fleet.PaneID, _ int) (map[fleet.PaneID]string, error) {
			w.asked++
			text := reads[0]
			reads = reads[1:]
			return map[fleet.PaneID]string{ids[0]: text}, nil
		}
	})
	want := func(what string, args string, again bool, left int) {
		t.Helper()
		a := see(t, p)["one"]
		got := ""
		if a.Dialog != nil {
			got = a.Dialog.Args
		}
		if a.State != fleet.StateWaiting || got != args || p.Again() > 0 != again || len(reads) != left {
			t.Errorf("%s: %s at %q, again in %v, %d reads left; want %q, %v, %d", what, a.State, got, p.Again(), len(reads), args, again, left)
		}
	}
	reads = []string{asks("touch"), asks("touch a")}
	want("it is still drawn", "", true, 0)
	reads = []string{asks("touch a b"), asks("touch a b")}
	w.pass(100 * time.Millisecond)
	want("it may be drawn", "", true, 0)
	reads = []string{asks("touch a b"), asks("touch a b")}
	w.pass(400 * time.Millisecond)
	want("it is drawn, it seems", "", true, 0)
	reads = []string{asks("touch a b")}
	w.pass(100 * time.Millisecond)
	want("it is drawn", "touch a b", false, 0)
	reads = []string{asks("touch a b")}
	w.pass(time.Minute)
	pane.Activity = fleet.Known(fleet.Duration(time.Second))
	want("it is known", "touch a b", false, 0)
	reads = []string{asks("touch c"), asks("touch c")}
	w.pass(time.Minute)
	want("another one", "", true, 0)
	reads = []string{asks("touch c")}
	w.pass(time.Second)
	want("another one, drawn", "touch c", false, 0)
	w.pass(time.Minute)
	for i := range 20 { // no drawing takes so long: it is looked at as others are
		reads = []string{asks(fmt.Sprint(2 * i)), asks(fmt.Sprint(2*i + 1))}
		w.pass(time.Second)
		want("it moves without an end", "", i < 5, 0)
	}
}

// TestAScreenWithoutADialogIsReadOnce: only a new dialog is waited for.
func TestAScreenWithoutADialogIsReadOnce(t *testing.T) {
	w := newWorld()
	w.proc(10, 1, "claude")
	pane := w.pane("one", 10)
	pane.Title = "✳ x"
	w.screens[pane.ID] = "────────────\n❯ \n────────────\n  ? for shortcuts"
	p := w.probe(t, nil)
	see(t, p)
	if w.asked != 1 || p.Again() != 0 {
		t.Errorf("read %d times, again in %v", w.asked, p.Again())
	}
}
