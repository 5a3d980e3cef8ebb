package daemon_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestASeedsPromptHasWhatWasSeen: the seed's formula says that the metrics have been
// collected and stand above its steps. So they do, and what fires with them; so that its
// agent asks for neither.
func TestASeedsPromptHasWhatWasSeen(t *testing.T) {
	w := foundRunsTown(t)
	file, err := os.OpenFile(filepath.Join(w.dir, "custos.toml"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteString("[rule.drill]\npriority = \"P3\"\nover = \"host\"\nexpr = \"host.cpus > 0\"\nsummary = \"'the drill of today fires'\"\n" +
		"[rule.quiet]\npriority = \"P3\"\nover = \"host\"\nexpr = \"host.cpus < 0\"\nsummary = \"'this never fires'\"\n")
	if err != nil || file.Close() != nil {
		t.Fatal(err)
	}
	w.start()
	await(t, w.said.String, func() bool { return len(w.alerts("drill")) == 1 })
	c := runCase{name: "run-supervisor", plays: reports() + "phase done\n", state: "done"}
	w.begin(c)
	run := w.awaits(t, c, c.state)
	text, err := os.ReadFile(filepath.Join(run.Dir, "prompt.md"))
	if err != nil {
		t.Fatal(err)
	}
	above, _, steps := strings.Cut(string(text), "Step preflight: ")
	if !steps {
		t.Fatalf("no steps:\n%s", text)
	}
	for _, want := range []string{`(?m)^RAM: \d.* available of \d`, `(?m)^Disk /.*: [\d.]+ ?% used`, `(?m)^## Findings$`, `(?m)^- \[P3\] the drill of today fires$`} {
		if !regexp.MustCompile(want).MatchString(above) {
			t.Errorf("above its steps the prompt does not say %s:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "this never fires") {
		t.Errorf("it tells of what does not fire:\n%s", text)
	}
}
