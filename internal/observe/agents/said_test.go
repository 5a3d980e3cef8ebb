package agents

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"custos/internal/fleet"
)

// What an agent printed last is quoted once it has ended, read once, and without
// secrets; one that runs is not quoted.
func TestLastWords(t *testing.T) {
	w, b := newWorld(), newLedger()
	w.proc(10, 1, "claude")
	b.reg("alive", 10)
	b.reg("crashed", 20)
	b.exits["i-crashed"] = exited(1)
	b.reg("quiet", 21)
	b.exits["i-quiet"] = exited(1)
	asked := map[string]int{}
	p := w.probe(t, func(o *Options) {
		b.options(o)
		o.Said = func(instance string) string {
			asked[instance]++
			if instance == "i-quiet" {
				return " \n"
			}
			return "1\n2\n3\n\n4\x1b[31m\n5\ntoken=abcdefghijkl\n"
		}
	})
	for range 2 {
		found := see(t, p)
		for name, want := range map[string]string{"alive": "", "quiet": "", "crashed": "2 / 3 / 4 / 5 / token=***"} {
			got := ""
			for _, s := range found[name].Signals {
				if s.Source == fleet.SourceOutput {
					got += s.Says
				}
			}
			if got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
	if fmt.Sprint(asked) != "map[i-crashed:1 i-quiet:1]" {
		t.Errorf("asked %v", asked)
	}
	b.regs[1].Instance = "i-next"
	see(t, p)
	if _, kept := p.said["i-crashed"]; kept {
		t.Error("what an older instance said is kept for good")
	}
	if got := lastWords(strings.Repeat("ä", 5000)); utf8.RuneCountInString(got) != longestQuote || !strings.HasPrefix(got, "…") {
		t.Errorf("%d runes", utf8.RuneCountInString(got))
	}
}
