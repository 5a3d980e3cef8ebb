package catalog

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"custos/internal/act/agentrun"
)

func TestBoundariesAreRead(t *testing.T) {
	w, err := world(t, "[boundary.b]\nby = \"bwrap\"\nroles = [\"dev\"]\nread = [\"/srv/docs/\"]\ncaches = [\"go\"]\nports = [443]\nmemory = \"1GiB\"\nprocesses = 500\n[boundary.a]\nby = \"landlock\"\nmissing = \"say\"\nlock_refs = true\n[launch]\nboundary = \"a\"\n")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Boundaries(w.Config)
	want := []agentrun.Bounds{
		{Name: "a", By: "landlock", Missing: "say", Network: "open", LockRefs: true},
		{Name: "b", By: "bwrap", Missing: "refuse", Network: "ports", Roles: []string{"dev"}, Read: []string{"/srv/docs"}, Caches: []string{"go"}, Ports: []int{443}, MemoryMax: 1 << 30, Processes: 500},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestBoundariesThatMeanNothing(t *testing.T) {
	for text, want := range map[string]string{
		"[boundary.b]\n":                                                                                 `by: "" is not known: want landlock, bwrap`,
		"[boundary.b]\nby = \"seatbelt\"\n":                                                              `by: "seatbelt" is not known`,
		"[boundary.b]\nby = \"bwrap\"\nnetwork = \"off\"\n":                                              `network: "off" is not known: want open, closed, ports`,
		"[boundary.b]\nby = \"bwrap\"\nmissing = \"hide\"\n":                                             `missing: "hide"`,
		"[boundary.b]\nby = \"bwrap\"\nnetwork = \"ports\"\n":                                            "ports: want them with network",
		"[boundary.b]\nby = \"bwrap\"\nports = [70000]\n":                                                "70000 is no port",
		"[boundary.b]\nby = \"bwrap\"\ncaches = [\"gp\"]\n":                                              `caches: "gp"`,
		"[boundary.b]\nby = \"bwrap\"\nwrite = [\"/\"]\n":                                                "that is everything",
		"[boundary.b]\nby = \"bwrap\"\nwrite = [\"~\"]\n":                                                "write:",
		"[boundary.b]\nby = \"bwrap\"\nwirte = [\"/a\"]\n":                                               `did you mean "write"`,
		"[boundary.\"b b\"]\nby = \"bwrap\"\n":                                                           "its name may have",
		"[launch]\nboundary = \"none\"\n":                                                                "there is no [boundary.none]",
		"[boundary.a]\nby = \"bwrap\"\nroles = [\"x\"]\n[boundary.b]\nby = \"bwrap\"\nroles = [\"x\"]\n": `"x" is in [boundary.a], too`,
	} {
		w, err := world(t, text)
		if err == nil {
			_, err = Boundaries(w.Config)
		}
		if err == nil {
			_, err = w.launcher()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// Whatever is wrong with a boundary is told at its own line.
func TestEachMistakeOfABoundaryHasItsLine(t *testing.T) {
	w, err := world(t, "[boundary.b]\nby = \"x\"\nnetwork = \"y\"\n")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Boundaries(w.Config)
	for _, want := range []string{":2: [boundary.b] by:", ":3: [boundary.b] network:"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Each piece of configuration on the page is read, and means what is needed.
func TestTheBoundariesOfThePageAreRead(t *testing.T) {
	page, err := os.ReadFile("../../docs/boundary.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```toml\n")[1:]
	for _, block := range blocks {
		text, _, _ := strings.Cut(block, "```")
		w, err := world(t, text)
		if err != nil {
			t.Fatal(err)
		}
		if all, err := Boundaries(w.Config); err != nil || len(all) != 1 {
			t.Errorf("%s: %+v, %v", text, all, err)
		}
	}
	if len(blocks) == 0 {
		t.Error("the page has none")
	}
}
