package triage

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

func hashed(t interface{ Fatal(...any) }, e evidence) string {
	h, err := e.hash()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// What passes by itself does not change the hash; what happens does.
func TestHashIsOfWhatHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[A-Za-z][a-z]{2,9}`), 1, 6).Draw(t, "words")
		spin := func(n int, sign string) []string {
			return append(slices.Clone(words), fmt.Sprintf("%s Thinking… (%dm%ds · esc to interrupt)", sign, n, n%60), fmt.Sprintf("%02d:%02d", n%24, n%60))
		}
		n, m := rapid.IntRange(0, 5000).Draw(t, "n"), rapid.IntRange(0, 5000).Draw(t, "m")
		signs := rapid.SampledFrom([]string{"✻", "✶", "⠋", "⠙", "·"})
		a := evidence{Screen: spin(n, signs.Draw(t, "sign")), Agent: agentSeen{State: "stuck", Signals: []signalSeen{{Source: "cpu", Says: fmt.Sprint(n), Hint: "stuck"}}}}
		b := a
		b.Screen, b.Now, b.Why, b.Times = spin(m, signs.Draw(t, "other sign")), "now", fmt.Sprint(m), map[string]string{"quiet": fmt.Sprint(m)}
		b.Agent.Reason, b.Agent.Signals = "for a while", []signalSeen{{Source: "cpu", Says: fmt.Sprint(m), Hint: "stuck"}, {Source: "title", Says: "x"}}
		b.Verdicts, b.Unseen = []earlier{{Word: "retry"}}, []string{"its work"}
		if hashed(t, a) != hashed(t, b) {
			t.Fatalf("%v and %v differ", a, b)
		}
		for what, change := range map[string]func(*evidence){
			"screen":   func(e *evidence) { e.Screen = append(e.Screen, "another") },
			"output":   func(e *evidence) { e.Output = []string{"more"} },
			"state":    func(e *evidence) { e.Agent.State = "looping" },
			"instance": func(e *evidence) { e.Agent.Instance = "a2" },
			"alert":    func(e *evidence) { e.Alert.Rule = "other" },
			"tried":    func(e *evidence) { e.Tried = []tried{{Do: "nudge", Times: 1}} },
			"work":     func(e *evidence) { e.Work = &workSeen{Changed: 1} },
		} {
			c := b
			c.Screen = slices.Clone(b.Screen)
			if change(&c); hashed(t, c) == hashed(t, b) {
				t.Fatalf("another %s has the same hash", what)
			}
		}
	})
}

// However long what it shows, the evidence fits, and ends with the newest.
func TestEvidenceIsBounded(t *testing.T) {
	var text strings.Builder
	for i := range 500 {
		fmt.Fprintf(&text, "%d %s\n", i, strings.Repeat("\"", 1000))
	}
	e := evidence{Screen: tail(lined(text.String()), 60), Output: tail(lined(text.String()), 400)}
	data, err := e.bounded()
	if err != nil || len(data) > mostBytes || !strings.Contains(data, "499 ") || strings.Contains(data, `"3 `) {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	for _, l := range e.Output {
		if len([]rune(l)) > widest {
			t.Errorf("a line of %d characters", len([]rune(l)))
		}
	}
	if _, err := (&evidence{Task: strings.Repeat("x", mostBytes)}).bounded(); err == nil {
		t.Error("too much was taken")
	}
}

func TestSecretsAreHidden(t *testing.T) {
	part := strings.Repeat("QUFBQkJCQ0NDRERERUVF", 4)
	wide := strings.Repeat("w", 40) + " "
	for text, want := range map[string]string{
		"nothing here\nis secret":                                                "nothing here|is secret",
		wide + "ends in words\nand goes on":                                      wide + "ends in words|and goes on",
		wide + "SOME_TOKEN=abcdefgh\nijklmnop done":                              wide + "SOME_TOKEN=***|*** done",
		"SOME_TOKEN=abcdefgh\n" + wide:                                           "SOME_TOKEN=***|" + strings.TrimSpace(wide),
		wide + "key: sk-abcdef01\n  ijklmnop ok":                                 wide + "key: ***|*** ok",
		"-H 'Bearer abcdefghijkl\n" + strings.Repeat("opqrst", 4) + "\nijklmnop": "-H 'Bearer ***|***|***",
		"-----BEGIN OPENSSH PRIVATE KEY-----\n" + part + "\nshort\n-----END OPENSSH PRIVATE KEY-----\nafter": "",
		"cut at the edge: ghp_abcdef":      "cut at the edge: ***",
		part + "\n" + part + "\nend of it": "",
	} {
		got := strings.Join(tail(fleet.RedactWrapped(lined(text), hide), 60), "|")
		for _, secret := range []string{part, "abcdef", "ijklmnop", "opqrst"} {
			if strings.Contains(got, secret) {
				t.Errorf("%q became %q", text, got)
			}
		}
		if want != "" && got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// Whatever is printed, gathering it does not fail, and what it keeps is lines.
func FuzzTail(f *testing.F) {
	for _, s := range []string{"", "\n\n", "a\nb", "\x1b[31mred", "token=\nx", strings.Repeat("k", 80) + "\n" + strings.Repeat("é", 80)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, l := range tail(fleet.RedactWrapped(lined(s), hide), 60) {
			if strings.ContainsAny(l, "\n\x1b") || len([]rune(l)) > widest {
				t.Errorf("%q", l)
			}
		}
	})
}
