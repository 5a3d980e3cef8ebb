package policy

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Whatever a command or an input of a tool is, reading it ends, and every verdict is one of ours.
func FuzzDecide(f *testing.F) {
	for _, s := range []string{"rm -rf ~", "bash -c 'x $(y) `z`'", "f() { g \"$@\"; }; f {a,b}", "git -C x -c alias.y='!z' y", "cat <<A | sh\nb\nA", "find . -exec rm {} +", "a=(b c); ${a[@]}", "x\x00\xff", "echo ~|xargs -I% rm %", "rm {1..3}/{a..c..2}{x,{09..11}}", "rm {1..99999999999}{z..a}$(x {1..2})"} {
		f.Add(s)
	}
	p := Policy{Rules: []Rule{{ID: "a", Verdict: Deny, When: When{Access: []Access{Delete}, Paths: []string{"home", "/x/**"}}}, {ID: "b", Verdict: Ask, When: When{Opaque: []string{"any"}}, Except: []When{{Programs: []string{"x*"}, Args: []string{"a|b"}}}}}}
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range []Call{call(s), Reading("apply_patch", "/w", json.RawMessage(s), Places{}), Reading("Bash", "", json.RawMessage(s), Places{Home: "/"}), {Tool: "Write", Write: []string{s}, URL: s, Cwd: "/w", Places: Places{Home: "/", Worktree: "/w"}}} {
			if d := p.Decide(c); d.Verdict.rank() < 0 {
				t.Errorf("%q is %q", s, d.Verdict)
			}
		}
		if _, err := Decode([]byte(s)); err == nil {
			t.Errorf("%q was read", s)
		}
	})
}

// guards are what others look for, as an obvious way to judge a command.
var guards = []string{`(^|[;&|]\s*)rm\s+(-[a-zA-Z]+\s+)*-[a-zA-Z]*r`, `\bsudo\b`, `git\s+push\s+.*(--force|-f\b)`, `git\s+reset\s+--hard`, `git\s+clean\s+-[a-z]*f`, `git\s+checkout\s+--\s+\.`, `git\s+branch\s+-D`, `git\s+stash\s+(drop|clear)`, `git\s+worktree\s+remove\s+--force`, `\bmkfs`, `\bdd\b.*of=/dev/`, `\bchmod\s+-R`, `>\s*/dev/sd`, `curl.*\|\s*(ba)?sh`, `wget.*\|\s*(ba)?sh`, `\.ssh/`, `\.aws/`, `\.git/hooks`, `\.git/config`, `\beval\b`, `\bbash\s+-c`, `\bsh\s+-c`, `\btee\b`, `\bmv\s`, `\bcp\s`, `\btruncate\b`, `\bshred\b`, `\brsync\b`, `\bln\s+-s`, `\bpip\s+install`}

// script4K is a command of 4 KiB as agents write them.
func script4K() string {
	const part = "cd src && go build ./... 2>&1 | tee build.log && for f in a b c; do grep -n \"$f\" \"x/$f.go\" | head -5; done; git -c user.name=x commit -m \"a message with words\" || echo 'it failed' >> log\n"
	return strings.Repeat(part, 4096/len(part)+1)[:4096/len(part)*len(part)]
}

func BenchmarkRead4KiB(b *testing.B) {
	var list []*regexp.Regexp
	for _, g := range guards {
		list = append(list, regexp.MustCompile(g))
	}
	text := script4K()
	c := call(text)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		c.Deeds()
	}
	ours := b.Elapsed() / time.Duration(b.N)
	rounds, from := 20, time.Now()
	for range rounds {
		for _, r := range list {
			r.MatchString(text)
		}
	}
	b.ReportMetric(float64(ours)/float64(time.Since(from)/time.Duration(rounds)), "of-30-patterns")
}
