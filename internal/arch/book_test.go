package arch

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The pages that say how something is added are followed word by word, each in a copy of
// the tree: every block goes where its first line says, and every command that is to be
// typed is typed. For these commands the copy stands where the tree is, so that what was
// built of the tree is not built again.

func TestAddingAProbeByTheBook(t *testing.T) {
	follow(t, "adding-a-probe.md", "## A Go probe, step by step", "ok  \tcustos/internal/observe/entropy", "entropy", "bits", "entropy-low")
}

func TestAddingANotifierByTheBook(t *testing.T) {
	follow(t, "adding-a-notifier.md", "## A Go notifier, step by step", "ok  \tcustos/internal/report/gotify", "ok  \tcustos/internal/catalog", "custos.toml is good")
}

func TestAddingACIByTheBook(t *testing.T) {
	follow(t, "adding-a-ci.md", "## Step by step", "ok  \tcustos/internal/sys/ci/drone", "ok  \tcustos/internal/catalog", "| `drone` | nothing |", "custos.toml is good")
}

func TestAddingAForgeByTheBook(t *testing.T) {
	follow(t, "adding-a-forge.md", "## Step by step", "ok  \tcustos/internal/sys/forge/plain", "ok  \tcustos/internal/catalog", "GitLab and Plain: their issues", `or `+"`\"plain\"`", "custos.toml is good")
}

func TestAddingARecordNounByTheBook(t *testing.T) {
	follow(t, "adding-a-record-noun.md", "## Step by step", "ok  \tcustos/internal/control", "ok  \tcustos/internal/store", "ok  \tcustos/internal/cli", "ok  \tcustos/internal/server", "ok  \tcustos/internal/arch")
}

// What CONTRIBUTING.md shows as a first change is one: red, then green.
func TestAFirstChangeByTheBook(t *testing.T) {
	follow(t, "../CONTRIBUTING.md", "## A first change", "red, as it should be", "ok  \tcustos/internal/assess", "ok  \tcustos/internal/rules")
}

// follow does what a page says from a heading on, and looks for words in what was printed.
// What was added is good for the vet, and for the atlas.
func follow(t *testing.T, page, from string, wants ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("copies and builds the whole tree")
	}
	tree, home := copyTree(t), t.TempDir()
	text, err := os.ReadFile("../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	_, recipe, ok := strings.Cut(string(text), from)
	if !ok {
		t.Fatalf("%s has no %q", page, from)
	}
	var typed string
	changed := map[string]bool{}
	for _, b := range regexp.MustCompile("(?s)```[a-z]+\n(.*?)```").FindAllStringSubmatch(recipe, -1) {
		first, rest, _ := strings.Cut(b[1], "\n")
		place := strings.TrimSpace(strings.TrimLeft(first, "/#- "))
		switch {
		case place == "(type this)":
			typed += run(t, tree, home, rest)
		default:
			name := put(t, tree, home, place, rest)
			if strings.HasSuffix(name, ".go") {
				changed["./"+filepath.Dir(name)] = true
			}
		}
	}
	for _, want := range wants {
		if !strings.Contains(typed, want) {
			t.Errorf("%q is not among what was printed:\n%s", want, typed)
		}
	}
	if len(changed) == 0 {
		return
	}
	run(t, tree, home, "go vet "+strings.Join(slices.Sorted(maps.Keys(changed)), " ")+" && go test ./internal/arch -short -run 'Atlas|Catalog|Verb|Noun'")
}

// put writes a block: a new file, the end of one (>>), or a place in one (>> and what insert
// takes). It returns the name of the file.
func put(t *testing.T, tree, home, place, text string) string {
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
	read, _ := os.ReadFile(file)
	old := string(read)
	switch {
	case !adds && strings.HasSuffix(name, ".go"):
		text = "// " + name + "\n\n" + text
	case !adds:
	case after == "":
		text = old + text
	default:
		text = insert(old, after, text)
	}
	if adds && text == old {
		t.Fatalf("%s has no place for %q", name, after)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(name, ".go") {
		run(t, tree, home, "gofmt -w "+name) // as editors do: imports are sorted
	}
	return name
}

// insert puts lines at the end of a list: the imports, a block of var, the fields of a type, a
// map, the table of a section [NAME] of docs/config.md, or what a function lists; with "X, above
// TEXT" above the first line of X that has the text. A file without such a place stays as it is.
func insert(old, after, lines string) string {
	list, end, _ := strings.Cut(after, ", above ")
	begin := `(?m)^func (\([^)]*\) )?` + regexp.QuoteMeta(list) + `\(`
	switch {
	case list == "imports":
		begin, end = `(?m)^import \($`, "\n)"
	case list == "var":
		begin, end = `(?m)^var \($`, "\n)"
	case strings.HasPrefix(list, "type "):
		begin, end = `(?m)^`+list+` struct \{$`, "\n}"
	case strings.HasPrefix(list, "map "):
		begin, end = `(?m)^var `+list[4:]+` = map`, "\n}"
	case strings.HasPrefix(list, "["):
		begin, end = "(?m)^### `"+regexp.QuoteMeta(list)+"`$", "|\n\n"
	case end == "":
		end = "\n\t}"
	}
	from := regexp.MustCompile(begin).FindStringIndex(old)
	if from == nil {
		return old
	}
	at := strings.Index(old[from[1]:], end)
	if at < 0 {
		return old
	}
	at += from[1]
	if line, _, more := strings.Cut(end, "\n"); more {
		at += len(line) + 1
	} else {
		at = strings.LastIndexByte(old[:at], '\n') + 1
	}
	return old[:at] + lines + old[at:]
}

// inPlace runs a script in a mount namespace of its own, in which a copy covers the tree.
const inPlace = `mount --bind "$1" "$2" && cd "$2" && exec sh -ec "$3"`

func run(t *testing.T, copied, home, script string) string {
	t.Helper()
	tree, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--mount", "sh", "-c", inPlace, "sh", copied, tree, script}
	if os.Getuid() != 0 {
		args = append([]string{"--user", "--map-root-user"}, args...)
	}
	cmd := exec.Command("unshare", args...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "GOFLAGS=-buildvcs=false",
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
