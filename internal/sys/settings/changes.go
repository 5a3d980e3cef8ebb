package settings

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"custos/internal/sys/files"
)

// Change is one file that is written, with what puts it back.
type Change struct {
	Path    string      `json:"path"`
	Existed bool        `json:"existed"`
	Was     []byte      `json:"was,omitempty"`
	Mode    fs.FileMode `json:"mode"`           // that it had, or is given
	Wrote   string      `json:"wrote"`          // a hash: what is written may be a secret
	Made    []string    `json:"made,omitempty"` // folders made for it, the innermost first
	text    []byte
}

// Prepare says what writing a text to a file would change. The file keeps its mode; a new one
// gets the one given.
func Prepare(name string, text []byte, mode fs.FileMode) (Change, error) {
	f, err := Read(name)
	if err != nil {
		return Change{}, err
	}
	c := Change{Path: f.Path, Existed: f.Exists, Was: f.Was, Mode: mode, Wrote: hashed(text), text: text}
	if f.Exists {
		c.Mode = f.mode()
	}
	for dir := filepath.Dir(f.Path); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			return c, fmt.Errorf("cannot write %s: %w", f.Path, err)
		}
		c.Made = append(c.Made, dir)
	}
	return c, nil
}

// Text is what is to be written.
func (c Change) Text() []byte { return c.text }

// Changes says whether the file is not so already.
func (c Change) Changes() bool { return !c.Existed || !bytes.Equal(c.Was, c.text) }

func hashed(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// do writes it, unless the file was changed since it was looked at.
func (c Change) do() error {
	if err := (File{Path: c.Path, Was: c.Was, Exists: c.Existed}).Same(); err != nil {
		return err
	}
	return Lay(c.Path, c.text, c.Mode)
}

// isBack says whether the file is as it was before the change; left why it is not put back.
func (c Change) isBack(now File) (is bool, left string) {
	switch {
	case now.Exists == c.Existed && bytes.Equal(now.Was, c.Was):
		return true, ""
	case !now.Exists:
		return false, "it was removed since"
	case hashed(now.Was) != c.Wrote:
		return false, "it was changed since"
	}
	return false, ""
}

// undo puts the file back as it was. left says why it was not.
func (c Change) undo() (left string, err error) {
	now, err := Read(c.Path)
	if err != nil {
		return "", err
	}
	is, left := c.isBack(now)
	switch {
	case left != "":
		return left, nil
	case is:
	case c.Existed:
		err = files.Replace(c.Path, c.Was, c.Mode)
	default:
		err = os.Remove(c.Path)
	}
	if err != nil {
		return "", fmt.Errorf("cannot put %s back: %w", c.Path, err)
	}
	for _, dir := range c.Made {
		if os.Remove(dir) != nil {
			break // something else is in it
		}
	}
	return "", nil
}

// Book is what was changed by one command over its runs, in order.
type Book struct {
	Changes []Change `json:"changes"`
	// Hooks are the settings to which hooks were added: they are taken out by who put them in,
	// for the CLI may have changed its settings since.
	Hooks []Hook `json:"hooks,omitempty"`
}

// Hook is a file of settings that hooks of a kind of agent were added to.
type Hook struct {
	Kind string `json:"kind"`
	File string `json:"file"`
}

// OpenBook reads the record of changes in a file; none is empty.
func OpenBook(file string) (b Book, err error) {
	text, err := files.Read(file, 16*Largest)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil {
		return b, fmt.Errorf("cannot read what was changed before (%s): %w", file, err)
	}
	return b, nil
}

// save writes the record; one without anything in it goes.
func (b Book) save(file string) error {
	if len(b.Changes)+len(b.Hooks) == 0 {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove %s: %w", file, err)
		}
		return nil
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot write down what is changed: %w", err)
	}
	return Lay(file, append(text, '\n'), 0o600)
}

// Do writes all changes, or none: what is to be changed is written down first, in a file, and
// what was done is put back where one fails.
func Do(file string, all []Change) error {
	before, err := OpenBook(file)
	if err != nil {
		return err
	}
	after := Book{Changes: append(slices.Clone(before.Changes), all...), Hooks: before.Hooks}
	if err := after.save(file); err != nil {
		return err
	}
	for i, c := range all {
		if err := c.do(); err != nil {
			return errors.Join(err, back(all[:i]), before.save(file))
		}
	}
	return nil
}

func back(done []Change) (err error) {
	for _, c := range slices.Backward(done) {
		left, one := c.undo()
		if left != "" {
			one = fmt.Errorf("%s was not put back: %s", c.Path, left)
		}
		err = errors.Join(err, one)
	}
	return err
}

// Hooked writes down that hooks are added.
func Hooked(file string, h Hook) error {
	b, err := OpenBook(file)
	if err != nil || slices.Contains(b.Hooks, h) {
		return err
	}
	b.Hooks = append(b.Hooks, h)
	return b.save(file)
}

// Undone is one file that was put back, or left, and why.
type Undone struct {
	Path string `json:"path"`
	Did  string `json:"did"` // "put back", "removed"; empty where it was left
	Left string `json:"left,omitempty"`
}

// kept are the files of the record that are left as they are, because they were changed since.
func (b Book) kept() (out []File) {
	seen := map[string]bool{}
	for _, c := range slices.Backward(b.Changes) {
		now, err := Read(c.Path)
		if _, left := c.isBack(now); !seen[c.Path] && err == nil && left != "" && now.Exists {
			out = append(out, now)
		}
		seen[c.Path] = true
	}
	return out
}

// Now is what the files of the record hold, by their paths; one that cannot be read is left out.
func (b Book) Now() map[string]string {
	out := map[string]string{}
	for _, c := range b.Changes {
		if now, err := Read(c.Path); err == nil {
			out[c.Path] = string(now.Was)
		}
	}
	return out
}

// named is the first of some files that names another one, by its folder and its name, whatever
// its home is called by; "" where none does.
func named(path string, by []File) string {
	tail := filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path))
	for _, f := range by {
		if f.Path != path && bytes.Contains(f.Was, []byte(tail)) {
			return f.Path
		}
	}
	return ""
}

// Undo puts back what a record says, the last change first. What was left, or could not be put
// back, stays in the record, and so does what a file names that is left.
func Undo(file string) (list []Undone, err error) {
	b, err := OpenBook(file)
	if err != nil {
		return nil, err
	}
	list, rest := b.undo(Change.undo)
	return list, Book{Changes: rest, Hooks: b.Hooks}.save(file)
}

// WouldUndo says what Undo of a record would do now.
func (b Book) WouldUndo() []Undone {
	after := map[string]File{} // files as they would be by then
	list, _ := b.undo(func(c Change) (string, error) {
		now, ok := after[c.Path]
		if !ok {
			var err error
			if now, err = Read(c.Path); err != nil {
				return "", err
			}
		}
		_, left := c.isBack(now)
		if left == "" {
			now.Exists, now.Was = c.Existed, c.Was
		}
		after[c.Path] = now
		return left, nil
	})
	return list
}

// undo takes back one change after the other, and says what came of each, and which stay.
func (b Book) undo(one func(Change) (left string, err error)) (list []Undone, rest []Change) {
	kept := b.kept()
	for _, c := range slices.Backward(b.Changes) {
		var left string
		var failed error
		if by := named(c.Path, kept); by != "" {
			left = by + " names it, and was changed since"
		} else {
			left, failed = one(c)
		}
		u := Undone{Path: c.Path, Did: "removed", Left: left}
		if c.Existed {
			u.Did = "put back"
		}
		if failed != nil {
			u.Left = failed.Error()
		}
		if u.Left != "" {
			u.Did, rest = "", append(rest, c)
		}
		list = append(list, u)
	}
	slices.Reverse(rest)
	return list, rest
}

// Unhooked writes down that hooks are taken out.
func Unhooked(file string, h Hook) error {
	b, err := OpenBook(file)
	if err != nil {
		return err
	}
	b.Hooks = slices.DeleteFunc(b.Hooks, func(o Hook) bool { return o == h })
	return b.save(file)
}
