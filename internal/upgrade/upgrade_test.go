package upgrade

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/release"
)

// world is a machine: a folder of programs, each of which holds its version, a ledger of a
// schema, and a daemon that is what it was started as. It can be cut off before any change.
type world struct {
	dir, folder string
	schema      int    // of the ledger; programs of version new bring it to 2, those of old know 1
	saved       bool   // a backup of schema 1 is there
	daemon      string // version of the one that runs; "" for none
	sick        bool   // the new one is never well
	dies        bool   // the new one ends at once
	left        int    // changes until it is cut off; below 0: it is not
	full        bool   // it is not cut off then: so many changes fail
	fails       int
	which       string // only changes whose names begin so
	swapped     bool   // a program was exchanged
	begun       int    // how often a daemon began
}

const (
	old = "0.1.0"
	new = "0.2.0"
)

// cut is what is thrown where a process is killed.
type cut struct{}

func found(t interface{ Fatal(...any) }, dir string, runs bool) *world {
	w := &world{dir: filepath.Join(dir, "bin"), folder: filepath.Join(dir, "state"), schema: 1, left: -1}
	if err := errors.Join(os.MkdirAll(w.dir, 0o755), os.MkdirAll(w.folder, 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, name := range release.Programs() {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(old), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if runs {
		w.daemon = old
	}
	return w
}

func (w *world) at(point string) error {
	switch {
	case w.left == 0 && !w.full:
		panic(cut{})
	case w.left == 0 && w.fails > 0 && strings.HasPrefix(point, w.which):
		w.fails--
		return fmt.Errorf("cannot %s: %w", point, syscall.ENOSPC)
	case w.left > 0:
		w.left--
	}
	w.swapped = w.swapped || strings.HasPrefix(point, "swap ")
	return nil
}

// lies are the versions of the programs.
func (w *world) lies() (out []string) {
	for _, name := range release.Programs() {
		text, err := os.ReadFile(filepath.Join(w.dir, name))
		if err != nil {
			text = []byte(err.Error())
		}
		out = append(out, string(text))
	}
	return out
}

func (w *world) upgrade(version string) *Upgrade {
	return &Upgrade{
		Folder: w.folder, Dir: w.dir, From: version, Within: time.Second, At: w.at,
		Ledger: Ledger{
			Schema:  map[string]int{old: 1, new: 2}[version],
			Backup:  func(context.Context) (string, error) { w.saved = true; return "backup", nil },
			Restore: func(_ context.Context, known int) (string, error) { return "", w.restore(known) },
		},
		Daemon: Daemon{
			Runs:   func() bool { return w.daemon != "" },
			Alive:  func() bool { return w.daemon != "" },
			Become: func(ctx context.Context) error { return w.begin() },
			Renew:  func(ctx context.Context) error { return w.begin() },
			Well: func(context.Context) (string, error) {
				if w.daemon == "" || w.daemon == new && w.sick {
					return "", errors.New("it is not well")
				}
				return w.daemon, nil
			},
			Wait: func(context.Context, time.Duration) error { return context.DeadlineExceeded },
		},
	}
}

func (w *world) restore(known int) error {
	if w.schema <= known {
		return nil
	}
	if !w.saved {
		return errors.New("there is no backup")
	}
	w.schema = 1
	return nil
}

// begin is `custos up` as the program that lies there, which may become another.
func (w *world) begin() error {
	w.begun++
	for range 3 {
		is := w.lies()[0]
		_, again, err := w.upgrade(is).Mend(context.Background())
		if err != nil {
			w.daemon = ""
			return err
		}
		if again {
			continue
		}
		if !slices.Equal(w.lies(), []string{is, is, is}) || is == old && w.schema > 1 {
			w.daemon = ""
			return fmt.Errorf("%s cannot begin beside %v, with schema %d", is, w.lies(), w.schema)
		}
		if is == new {
			w.schema = 2
		}
		if w.daemon = is; is == new && w.dies {
			w.daemon = ""
		}
		return nil
	}
	return errors.New("it becomes itself")
}

func unpacked(_ context.Context, dir string) error {
	for _, name := range release.Programs() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(new), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// cutOff does something, which may be cut off.
func (w *world) cutOff(do func()) (was bool) {
	defer func() {
		if f := recover(); f != nil {
			if _, ours := f.(cut); !ours {
				panic(f)
			}
			was = true
		}
	}()
	do()
	return false
}

func TestAnUpgrade(t *testing.T) {
	for name, c := range map[string]struct {
		runs, sick, dies bool
		want             string
		phase            Phase
	}{
		"well":         {true, false, false, new, Done},
		"no daemon":    {false, false, false, new, Done},
		"never well":   {true, true, false, old, RolledBack},
		"ends at once": {true, false, true, old, RolledBack},
	} {
		w := found(t, t.TempDir(), c.runs)
		w.sick, w.dies = c.sick, c.dies
		s, err := w.upgrade(old).Run(t.Context(), new, unpacked)
		if (err != nil) != (c.want == old) || s.Phase != c.phase {
			t.Errorf("%s: it is %s, %v", name, s.Phase, err)
		}
		if !slices.Equal(w.lies(), []string{c.want, c.want, c.want}) || c.runs && w.daemon != c.want || c.want == old && w.schema != 1 {
			t.Errorf("%s: programs %v, daemon %q, schema %d", name, w.lies(), w.daemon, w.schema)
		}
		if kept, err := ReadState(w.folder); err != nil || kept.Phase != c.phase || kept.Open() {
			t.Errorf("%s: what is written down is %+v, %v", name, kept, err)
		}
		if _, err := os.Stat(filepath.Join(w.dir, besides)); err == nil {
			t.Errorf("%s: something is left beside the programs", name)
		}
	}
}

// What cannot be prepared changes nothing.
func TestNothingIsChangedBefore(t *testing.T) {
	for name, spoil := range map[string]func(*world, *Upgrade) Unpack{
		"no room": func(*world, *Upgrade) Unpack {
			return func(context.Context, string) error { return errors.New("no space left on device") }
		},
		"it does not run": func(_ *world, u *Upgrade) Unpack {
			u.Prove = func(context.Context, string, string) error { return errors.New("exec format error") }
			return unpacked
		},
		"no room for a word": func(w *world, _ *Upgrade) Unpack {
			return func(ctx context.Context, dir string) error {
				w.full, w.left, w.fails, w.which = true, 0, 99, "write"
				return errors.Join(unpacked(ctx, dir), syscall.ENOSPC)
			}
		},
		"no backup": func(_ *world, u *Upgrade) Unpack {
			u.Ledger.Backup = func(context.Context) (string, error) { return "", errors.New("the disk is full") }
			return unpacked
		},
	} {
		w := found(t, t.TempDir(), true)
		u := w.upgrade(old)
		s, err := u.Run(t.Context(), new, spoil(w, u))
		if err == nil || s.Phase != CutOff || !slices.Equal(w.lies(), []string{old, old, old}) || w.daemon != old || w.schema != 1 {
			t.Errorf("%s: %s, %v: programs %v, daemon %s", name, s.Phase, err, w.lies(), w.daemon)
		}
		if u.programs().beside() {
			t.Errorf("%s: what was unpacked takes room still", name)
		}
	}
}

// Wherever an upgrade is cut off, as by kill -9, and whatever dies with it: a daemon that
// begins then, or the next upgrade, finds programs of one version that read the ledger.
func TestCutOffAnywhere(t *testing.T) {
	root, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		w := found(t, filepath.Join(root, fmt.Sprint(n)), rapid.Bool().Draw(t, "a daemon runs"))
		w.sick, w.dies = rapid.Bool().Draw(t, "never well"), rapid.Bool().Draw(t, "dies")
		runs := w.daemon != ""
		w.left = rapid.IntRange(0, 40).Draw(t, "changes")
		w.full, w.fails = rapid.Bool().Draw(t, "the disk is full"), rapid.IntRange(1, 30).Draw(t, "so many changes fail")
		w.cutOff(func() { _, _ = w.upgrade(old).Run(context.Background(), new, unpacked) })
		for range rapid.IntRange(0, 2).Draw(t, "cut off again") {
			w.left, w.full = rapid.IntRange(0, 12).Draw(t, "changes again"), false
			if w.cutOff(func() { _, _ = w.upgrade(w.lies()[0]).Settle(context.Background()) }) && rapid.Bool().Draw(t, "with the daemon") {
				w.daemon = ""
			}
		}
		w.left, w.full = -1, false
		if rapid.Bool().Draw(t, "the daemon dies") {
			w.daemon = ""
		}
		if rapid.Bool().Draw(t, "a daemon begins") && w.daemon == "" {
			if err := w.begin(); err != nil {
				t.Fatalf("custos up: %v", err)
			}
		}
		s, err := w.upgrade(w.lies()[0]).Settle(context.Background())
		if err != nil || s.Open() {
			t.Fatalf("custos upgrade: %s, %v", s.Phase, err)
		}
		lies := w.lies()
		if lies[0] != old && lies[0] != new || !slices.Equal(lies, []string{lies[0], lies[0], lies[0]}) {
			t.Fatalf("the programs are %v, after %s", lies, s.Phase)
		}
		if lies[0] == old && w.schema > 1 || w.daemon != "" && w.daemon != lies[0] && runs {
			t.Fatalf("programs of %s, a daemon of %q and schema %d, after %s", lies[0], w.daemon, w.schema, s.Phase)
		}
		if s.Phase == RolledBack && lies[0] != old || s.Phase == Done && lies[0] != new {
			t.Fatalf("it is said to be %s, and the programs are of %s", s.Phase, lies[0])
		}
	})
}

// Whichever one change fails, for want of room or else, the programs are of one version, which
// watches; the daemon is left alone where none was exchanged; and what lies beside is gone,
// so that there is room again.
func TestAChangeThatFails(t *testing.T) {
	failed := 0
	for n := range 40 {
		for _, runs := range []bool{true, false} {
			w := found(t, t.TempDir(), runs)
			w.left, w.full, w.fails = n, true, 1
			s, err := w.upgrade(old).Run(t.Context(), new, unpacked)
			lies := w.lies()
			if !slices.Equal(lies, []string{lies[0], lies[0], lies[0]}) || runs && w.daemon != lies[0] || s.Open() || (s.Phase == Done) != (lies[0] == new) {
				t.Errorf("change %d: programs %v, daemon %q, %s, %v", n, lies, w.daemon, s.Phase, err)
			}
			if !w.swapped && w.begun > 0 {
				t.Errorf("change %d: a daemon began anew, and no program was exchanged: %s, %v", n, s.Phase, err)
			}
			kept, _ := ReadState(w.folder) // what is open is put right by who comes next
			if w.upgrade(lies[0]).programs().beside() && !kept.Open() && (err == nil || !strings.Contains(err.Error(), "forget")) {
				t.Errorf("change %d: something is left beside the programs, %s: %v", n, s.Phase, err)
			}
			if w.fails == 0 {
				failed++
			}
		}
	}
	if failed < 20 {
		t.Errorf("only %d changes failed", failed)
	}
}

// The same programs may serve two state folders: one upgrade at a time exchanges them, and
// none takes away what another one, that was cut off, has kept.
func TestProgramsOfTwoStateFolders(t *testing.T) {
	w := found(t, t.TempDir(), true)
	beside := w.upgrade(old)
	beside.Folder = filepath.Join(t.TempDir(), "state") // is yet to be made
	_, err := w.upgrade(old).Run(t.Context(), new, func(ctx context.Context, dir string) error {
		if _, err := beside.Run(ctx, new, unpacked); !errors.Is(err, errRuns) {
			t.Errorf("beside another: %v", err)
		}
		return unpacked(ctx, dir)
	})
	if err != nil {
		t.Fatal(err)
	}
	w = found(t, t.TempDir(), true)
	w.left = 15
	if !w.cutOff(func() { _, _ = w.upgrade(old).Run(t.Context(), new, unpacked) }) {
		t.Fatal("it was not cut off")
	}
	w.left = -1
	beside.Dir = w.dir
	if _, err := beside.Run(t.Context(), new, unpacked); err == nil || !strings.Contains(err.Error(), "custos upgrade --settle") {
		t.Errorf("beside one that was cut off: %v", err)
	}
	if s, err := w.upgrade(new).Settle(t.Context()); err != nil || s.Open() {
		t.Errorf("the one that was cut off: %+v, %v", s, err)
	}
	if _, err := beside.Run(t.Context(), new, unpacked); err != nil {
		t.Errorf("then: %v", err)
	}
}

// What cannot be read of the last upgrade keeps no daemon from beginning.
func TestAnUpgradeThatCannotBeRead(t *testing.T) {
	w := found(t, t.TempDir(), false)
	if err := os.WriteFile(stateFile(w.folder), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if said, again, err := w.upgrade(old).Mend(t.Context()); err != nil || again || !strings.Contains(said, stateFile(w.folder)) {
		t.Errorf("it says %q, %v", said, err)
	}
	if _, err := w.upgrade(old).Run(t.Context(), new, unpacked); err == nil || !strings.Contains(err.Error(), stateFile(w.folder)) {
		t.Errorf("an upgrade: %v", err)
	}
}

// A daemon begins on a full disk, too: to go back takes no room, and it is gone on with by each that begins.
func TestADaemonBeginsOnAFullDisk(t *testing.T) {
	w := found(t, t.TempDir(), false)
	for n := 0; !w.swapped; n++ {
		w.left = n
		w.cutOff(func() { _, _ = w.upgrade(old).Run(t.Context(), new, unpacked) })
	}
	for range 2 {
		w.full, w.left, w.fails, w.which = true, 0, 99, "write"
		if err := w.begin(); err != nil || w.daemon != old || !slices.Equal(w.lies(), []string{old, old, old}) {
			t.Errorf("a daemon of %q, programs %v: %v", w.daemon, w.lies(), err)
		}
	}
	w.full, w.left = false, -1
	if err := w.begin(); err != nil {
		t.Error(err)
	}
	if s, err := ReadState(w.folder); err != nil || s.Phase != RolledBack {
		t.Errorf("with room it is %s, %v", s.Phase, err)
	}
}
