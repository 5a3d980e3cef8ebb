// Package beadstest is a bd that answers from files, for tests: a script that prints
// what it is told to. The files in testdata were written after the public sources of
// bd, not recorded from one: steveyegge/beads (releases 0.x), cmd/bd/{list,show,close,
// reopen,output}.go, and gastownhall/beads, where it has moved (1.x): there a list may come
// wrapped (cmd/bd/output.go: as "items" at 167acbad0b; as "data" with BD_JSON_ENVELOPE=1
// and by default from 2.0 on, pull request 3393).
package beadstest

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
)

//go:embed bd.sh
var script []byte

// Fake is a folder with a bd in it.
type Fake struct{ Dir string }

// New puts a bd into a folder.
func New(dir string) (Fake, error) {
	return Fake{dir}, os.WriteFile(filepath.Join(dir, "bd"), script, 0o700)
}

// Command is the path of its bd.
func (f Fake) Command() string { return filepath.Join(f.Dir, "bd") }

// Say has it print a text when it is asked for: list, closed or show; after-close
// and after-reopen are what show prints from then on. close-refused and
// reopen-refused, whatever they hold, have it change nothing and end well all the
// same, as bd does.
func (f Fake) Say(what, text string) error {
	return os.WriteFile(filepath.Join(f.Dir, what+".json"), []byte(text), 0o600)
}

// Wrap has it print an object of its schema's version, with what it says in that field:
// items or data.
func (f Fake) Wrap(field string) error { return f.Say("wrap", field) }

// Break has it fail as the shell command says ("exit 1", "exec sleep 1000"); "" mends it.
func (f Fake) Break(how string) error {
	return os.WriteFile(filepath.Join(f.Dir, "fault"), []byte(how), 0o600)
}

// Touched says what a person's "bd close" without an ID would now mean: the last that was
// shown; "" when nothing was.
func (f Fake) Touched() string {
	b, _ := os.ReadFile(filepath.Join(f.Dir, "touched"))
	return strings.TrimSpace(string(b))
}

// Calls lists what it was asked, a line each.
func (f Fake) Calls() []string {
	b, err := os.ReadFile(filepath.Join(f.Dir, "calls"))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}
