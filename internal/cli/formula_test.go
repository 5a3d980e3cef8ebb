package cli

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/api"
	"custos/internal/formula"
)

// The command line may not know the package that reads formulas; the limit it tells
// must be that one's.
func TestLargestFormula(t *testing.T) {
	if largestFormula != formula.MaxBytes {
		t.Errorf("%d bytes are sent, and %d are read", largestFormula, formula.MaxBytes)
	}
}

func TestExact(t *testing.T) {
	for in, want := range map[string]string{
		"every 20m0s": "every 20m", "every 1h0m0s, up to 10m0s later": "every 1h, up to 10m later", "every 1h30m0s": "every 1h30m",
		"every 90h0m0s": "every 90h", "every 1m30s": "every 1m30s", "every 10h10m10s": "every 10h10m10s", "every 45s": "every 45s", "cron 0 3 * * *": "cron 0 3 * * *",
	} {
		if got := exact(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestDrawing(t *testing.T) {
	p := &page{width: 24}
	p.drawing("1\n├─ one  first  [run]\n└─ two  second  [agent]  ← one  (leaf)\n")
	const want = "1\n├─ one  first  [run]\n└─ two  second  [agent]\n     ← one  (leaf)\n"
	if got := p.buf.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// However narrow: no word is lost, and no line is too long that could be broken.
func TestWrapKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOf(rapid.StringMatching(`[a-zä←]{1,12} {0,2}`)).Draw(t, "words"), " ")
		first := rapid.IntRange(1, 40).Draw(t, "first")
		rest := rapid.IntRange(1, first).Draw(t, "rest")
		parts := wrapKept(s, first, rest)
		if got, want := strings.Fields(strings.Join(parts, " ")), strings.Fields(s); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Fatalf("%q became %q", s, parts)
		}
		for i, part := range parts {
			limit := rest
			if i == 0 {
				limit = first
			}
			if words := strings.Fields(part); len(words) > 1 && runes(strings.TrimSpace(part)) > limit && runes(words[0]) <= limit {
				t.Fatalf("%q is longer than %d", part, limit)
			}
		}
	})
}

// A formula without a name is called by its file, and what to type next is said.
func TestRefusal(t *testing.T) {
	v := api.Formula{FormulaRow: api.FormulaRow{Source: "/x.toml"}, Problems: []api.FormulaProblem{{File: "/x.toml", Line: 1, Column: 2, Severity: "error", Text: "no"}}}
	if got := refusal(v); got != "cannot use formula /x.toml:\n/x.toml:1:2: error: no" {
		t.Errorf("got %q", got)
	}
	for command, want := range map[string]string{"lint": "", "render": "custos formula show 'a b'", "graph": "custos formula lint 'a b'"} {
		if got := seeAlso(command, "a b"); got != want {
			t.Errorf("after %s: %q, want %q", command, got, want)
		}
	}
}

func TestWriteRun(t *testing.T) {
	p := &page{width: 80, home: "/home/me"}
	writeRun(p, api.Run{ID: "n-1", Formula: "n", State: "failed", For: "3s", Why: "step build failed", Dir: "/home/me/runs/n-1",
		Steps: []api.RunStep{{ID: "build", Do: "run", State: "failed", Attempt: 1, Why: "exit status 3", Output: "/home/me/runs/n-1/steps/build.1/stdout.log"},
			{ID: "tell", Do: "run", State: "skipped", Why: "step build failed"}},
		Next: []api.Hint{{Command: "less " + strings.Repeat("/long", 20), What: "what build complained of"}, {Command: "custos x", What: "short"}}})
	got := p.buf.String()
	for _, want := range []string{"build  run  failed   exit status 3\n", "tell   run  skipped\n", "What its commands wrote: ~/runs/n-1/steps\n",
		"  less " + strings.Repeat("/long", 20) + "\n      what build complained of\n", "  custos x  short\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestWriteSchedules(t *testing.T) {
	p := &page{width: 80}
	long := "/f/three.toml:6:2: error: variable \"must\" is required: give it a value " + strings.Repeat("so ", 20) + "END"
	writeSchedules(p, api.Schedules{At: time.Unix(0, 0), Schedules: []api.ScheduleRow{{Name: "three", Formula: "three", When: "every 20m0s", WhyNot: long},
		{Name: "tidy", Formula: "tidy", When: "every 1h0m0s", WhyNot: "disabled: by me"}}})
	got := p.buf.String()
	for _, want := range []string{"three  three    every 20m  see below\n", "tidy   tidy     every 1h   disabled: by me\n", "  three: /f/three.toml:6:2: error:", "END\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

// The story of a run names the step of each line; other stories name no piece of a path.
func TestStepOf(t *testing.T) {
	for _, x := range []struct{ of, subject, want string }{
		{"run/n-1", "run/n-1/build", "build"}, {"run/n-1", "run/n-1", ""}, {"run/n-1", "run/n-10", ""}, {"worktree//a", "worktree//a/b", ""},
	} {
		if got := stepOf(api.Event{Subject: x.subject}, x.of); got != x.want {
			t.Errorf("%+v: %q", x, got)
		}
	}
}
