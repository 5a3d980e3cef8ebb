package movevaultitem_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/act/movevaultitem"
	"custos/internal/fleet"
	"custos/internal/sys/files"
)

const text = "# A mail account\n"

func put(t *testing.T, path, content string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func moved(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// pending is an item that waits, with a name that a shell would not like, and a person who
// answered.
func pending(do string) func(*testing.T) fleet.Action {
	return func(t *testing.T) fleet.Action {
		t.Helper()
		dir := t.TempDir()
		path := filepath.Join(dir, "pending", "an account;\n.md")
		put(t, path, text)
		for _, name := range []string{"approved", "rejected"} {
			put(t, filepath.Join(dir, name, ".gitkeep"), "")
		}
		info, err := files.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		v := fleet.VaultItem{Name: fleet.Path("ops/pending/an account;\n.md"), Vault: "ops", Path: fleet.Path(path), Owner: fleet.OwnerConfigured, File: fleet.FileID(info.Identity),
			Digest: fmt.Sprintf("%x", sha256.Sum256([]byte(text))), State: fleet.VaultPending, Movable: fleet.Known(true)}
		return fleet.Action{ID: "1", Do: do, Subject: fleet.Subject{Kind: fleet.KindVault, Name: v.Name}, Target: fleet.Target{Vault: &v}, Approved: "ann"}
	}
}

func raw(a fleet.Action) string { return fleet.RawPath(a.Target.Vault.Path) }

// in is where the item of an action would lie in a folder.
func in(a fleet.Action, folder string) string {
	return filepath.Join(filepath.Dir(filepath.Dir(raw(a))), folder, filepath.Base(raw(a)))
}

func TestConformance(t *testing.T) {
	for do, folder := range map[string]string{movevaultitem.Approve: "approved", movevaultitem.Reject: "rejected"} {
		t.Run(do, func(t *testing.T) {
			acttest.Test(t, acttest.Case{
				Action: movevaultitem.New(do), Setup: pending(do),
				Fingerprint: func(t *testing.T, a fleet.Action) string { return acttest.Tree(t, filepath.Dir(filepath.Dir(raw(a)))) },
				Gone:        func(t *testing.T, a fleet.Action) { moved(t, raw(a), in(a, folder)) },
				Changed: map[string]func(*testing.T, fleet.Action){
					"written to":       func(t *testing.T, a fleet.Action) { put(t, raw(a), "# Two mail accounts\n") },
					"the same anew":    func(t *testing.T, a fleet.Action) { put(t, raw(a)+"~", text); moved(t, raw(a)+"~", raw(a)) },
					"the other way":    func(t *testing.T, a fleet.Action) { put(t, in(a, "other"), ""); moved(t, raw(a), in(a, "other")) },
					"another is there": func(t *testing.T, a fleet.Action) { put(t, in(a, folder), "# Older\n"); os.Remove(raw(a)) },
					"gone":             func(t *testing.T, a fleet.Action) { os.Remove(raw(a)) },
					"a link":           func(t *testing.T, a fleet.Action) { os.Remove(raw(a)); os.Symlink("/etc/passwd", raw(a)) },
					"no folder for it": func(t *testing.T, a fleet.Action) { os.RemoveAll(filepath.Dir(in(a, folder))) },
					"a link for it": func(t *testing.T, a fleet.Action) {
						to := filepath.Dir(in(a, folder))
						os.RemoveAll(to)
						os.Symlink(t.TempDir(), to)
					},
					"nobody said so":     func(_ *testing.T, a fleet.Action) { a.Target.Vault.Owner = fleet.OwnerForeign },
					"no digest":          func(_ *testing.T, a fleet.Action) { a.Target.Vault.Digest = "" },
					"approved already":   func(_ *testing.T, a fleet.Action) { a.Target.Vault.State = fleet.VaultApproved },
					"not in pending":     func(_ *testing.T, a fleet.Action) { a.Target.Vault.Path = filepath.Join(t.TempDir(), "x", "y.md") },
					"not what was shown": func(t *testing.T, a fleet.Action) { a.Target.Vault.Digest = strings.Repeat("0", 64) },
				},
			})
		})
	}
}

// Without a person's word nothing is moved, whoever planned it.
func TestTakesAPerson(t *testing.T) {
	a := pending(movevaultitem.Approve)(t)
	a.Approved = ""
	if _, err := movevaultitem.New(movevaultitem.Approve).Prepare(t.Context(), a); !errors.Is(err, act.ErrRefused) {
		t.Errorf("%v", err)
	}
	if able := movevaultitem.New(movevaultitem.Approve).Ability(); !able.Singly || able.Denied != movevaultitem.Reject {
		t.Errorf("%+v", able)
	}
}

// lie are the files of a vault, with what they say.
func lie(t *testing.T, a fleet.Action) (all string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Dir(filepath.Dir(raw(a))) + "/*/*")
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := filepath.Glob(filepath.Dir(filepath.Dir(raw(a))) + "/*/.custos*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(found, hidden...) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all += fmt.Sprintf("%s/%s: %q\n", filepath.Base(filepath.Dir(path)), filepath.Base(path), b)
	}
	return all
}

// What was exchanged between the look and the act is not moved, and what lies in the other
// folder already is not replaced.
func TestExchangedInBetween(t *testing.T) {
	for name, change := range map[string]func(*testing.T, fleet.Action){
		"another":  func(t *testing.T, a fleet.Action) { put(t, raw(a)+"~", "# evil"); moved(t, raw(a)+"~", raw(a)) },
		"written":  func(t *testing.T, a fleet.Action) { put(t, raw(a), "# evil") },
		"its twin": func(t *testing.T, a fleet.Action) { put(t, in(a, "approved"), "# older") },
	} {
		t.Run(name, func(t *testing.T) {
			a := pending(movevaultitem.Approve)(t)
			run, err := movevaultitem.New(movevaultitem.Approve).Prepare(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			defer run.Close()
			change(t, a)
			before := lie(t, a)
			if err := run.Do(t.Context()); err == nil {
				t.Error("it was moved")
			}
			if after := lie(t, a); after != before {
				t.Errorf("before\n%s\nafter\n%s", before, after)
			}
		})
	}
}

// Who holds the item open cannot change what was approved.
func TestApprovedIsNobodysElse(t *testing.T) {
	a := pending(movevaultitem.Approve)(t)
	held, err := os.OpenFile(raw(a), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := os.Chmod(raw(a), 0o666); err != nil {
		t.Fatal(err)
	}
	acttest.Do(t, movevaultitem.New(movevaultitem.Approve), a)
	if _, err := held.WriteAt([]byte("# Evil"), 0); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(in(a, "approved"))
	if got := lie(t, a); err != nil || info.Mode().Perm() != 0o644 || !strings.Contains(got, "A mail account") || strings.Contains(got, "vil") {
		t.Errorf("%v, %v\n%s", info, err, got)
	}
}

// A Custos that ended between the two halves is gone on with: once there, and nowhere else.
func TestHalfDone(t *testing.T) {
	a := pending(movevaultitem.Approve)(t)
	put(t, in(a, "approved"), text)
	acttest.Do(t, movevaultitem.New(movevaultitem.Approve), a)
	if got := lie(t, a); strings.Count(got, "mail account") != 1 || !strings.Contains(got, "approved/an account;") || strings.Contains(got, ".custos") {
		t.Errorf("%q", got)
	}
}

// A dispatcher that is quick is no failure.
func TestTakenOnAtOnce(t *testing.T) {
	a := pending(movevaultitem.Approve)(t)
	run, err := movevaultitem.New(movevaultitem.Approve).Prepare(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := run.Do(context.Background()); err != nil {
		t.Fatal(err)
	}
	put(t, in(a, "fired"), "")
	moved(t, in(a, "approved"), in(a, "fired"))
	if effect, err := run.Verify(t.Context()); err != nil || !strings.Contains(effect, "taken on") {
		t.Errorf("%q, %v", effect, err)
	}
}
