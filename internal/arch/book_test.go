package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAddingAProbeByTheBook follows docs/adding-a-probe.md word by word, in a
// copy of the tree: every block goes where its first line says, and every
// command that is to be typed is typed.
func TestAddingAProbeByTheBook(t *testing.T) {
	if testing.Short() {
		t.Skip("copies and builds the whole tree")
	}
	tree, home := copyTree(t), t.TempDir()
	page, err := os.ReadFile("../../docs/adding-a-probe.md")
	if err != nil {
		t.Fatal(err)
	}
	_, recipe, ok := strings.Cut(string(page), "## A Go probe, step by step")
	if !ok {
		t.Fatal("the page has no recipe")
	}
	var typed string
	for _, b := range regexp.MustCompile("(?s)```[a-z]+\n(.*?)```").FindAllStringSubmatch(recipe, -1) {
		first, rest, _ := strings.Cut(b[1], "\n")
		place := strings.TrimSpace(strings.TrimLeft(first, "/# "))
		switch {
		case place == "(type this)":
			typed += run(t, tree, home, rest)
		default:
			put(t, tree, home, place, rest)
		}
	}
	for _, want := range []string{"ok  \tcustos/internal/observe/entropy", "entropy", "bits", "entropy-low"} {
		if !strings.Contains(typed, want) {
			t.Errorf("%q is not among what was printed:\n%s", want, typed)
		}
	}
	run(t, tree, home, "go vet ./internal/observe/entropy ./internal/catalog ./internal/fleet && go test ./internal/arch -short -run TestAtlas")
}

// put writes a block: a new file, the end of one (>>), or the end of a list in one (>> name).
func put(t *testing.T, tree, home, place, text string) {
	t.Helper()
	name, after, adds := strings.Cut(place, ">>")
	name, after = strings.TrimSpace(name), strings.TrimSpace(after)
	file := filepath.Join(tree, name)
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		file = filepath.Join(home, rest)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	old, _ := os.ReadFile(file)
	switch {
	case !adds:
		text = "// " + name + "\n\n" + text
	case after == "imports":
		text = strings.Replace(string(old), "\"custos/internal/observe/agents\"\n", "\"custos/internal/observe/agents\"\n"+text, 1)
	case after == "probeMakers":
		text = strings.Replace(string(old), "\t\t{\"\", newSelf}", text+"\t\t{\"\", newSelf}", 1)
	default:
		text = string(old) + text
	}
	if adds && text == string(old) {
		t.Fatalf("%s has no place for %q", name, after)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, dir, home, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "GOFLAGS=-buildvcs=false -trimpath",
		"GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s\n%v\n%s", script, err, out)
	}
	return string(out)
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// copyTree copies what a build needs.
func copyTree(t *testing.T) string {
	t.Helper()
	to := t.TempDir()
	cmd := exec.Command("cp", "-r", "cmd", "internal", "docs", "formulas", "scripts", "go.mod", "go.sum", to)
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return to
}
