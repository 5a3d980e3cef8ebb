package vaults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/observe/observetest"
)

// ops is a vault in a folder of a test.
type ops struct {
	*testing.T
	dir string
	now func() time.Time
}

func newOps(t *testing.T, files map[string]string) ops {
	t.Helper()
	o := ops{T: t, dir: t.TempDir()}
	for name, text := range files {
		o.put(name, text)
	}
	return o
}

func (o ops) put(name, text string) string {
	o.Helper()
	path := filepath.Join(o.dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		o.Fatal(err)
	}
	return path
}

func (o ops) probe(sections map[string]Section) *Probe {
	o.Helper()
	p, err := New(Options{Vaults: sections, Expand: func(path string) (string, error) { return path, nil }, Now: o.now})
	if err != nil {
		o.Fatal(err)
	}
	return p
}

func (o ops) one() *Probe { return o.probe(map[string]Section{"ops": {Folder: o.dir}}) }

func see(t *testing.T, p *Probe) ([]fleet.VaultItem, error) {
	t.Helper()
	put, err := p.Look(t.Context())
	if put == nil {
		return nil, err
	}
	var s fleet.Snapshot
	put(&s)
	return s.Vaults.Value, err
}

func called(t *testing.T, list []fleet.VaultItem, name string) fleet.VaultItem {
	t.Helper()
	i := slices.IndexFunc(list, func(v fleet.VaultItem) bool { return v.Name == name })
	if i < 0 {
		t.Fatalf("%s is not among %+v", name, list)
	}
	return list[i]
}

func TestSuite(t *testing.T) {
	o := newOps(t, map[string]string{"pending/a.md": "# A\n", "approved/b.toml": "formula = \"x\"\n"})
	at := time.Now()
	o.now = func() time.Time { return at }
	observetest.Test(t, func() observe.Probe { return o.one() })
}

// The layouts of Disinto: a file that people move from folder to folder, and an action
// beside which its result is put.
func TestWhatLiesThere(t *testing.T) {
	o := newOps(t, map[string]string{
		"pending/account.md": "intro\n# Procurement Request: a mail account \n## What\nText.\n## Proposed RESOURCES.md Entry\n- env: `SMTP_USER`, SMTP_PASS\n",
		"pending/post.json":  `{"id":"post","type":"blog-post","source":"planner","status":"escalated","payload":{"body":"secret=hunter2hunter2"},"secrets":["BLOG_TOKEN","no name",7]}`,
		"pending/odd.toml":   "formula = \n",
		"pending/.gitkeep":   "", "pending/README": "# no item", "pending/x.md~": "# no item", "pending/deep/y.md": "# no item",
		"approved/ship.toml":           "id = \"ship\"\nformula = \"publish\"\ncontext = \"0.3.0 is ready\"\nsecrets = [\"NPM_TOKEN\", \"NPM_TOKEN\"]\n",
		"fired/old.md":                 "# over",
		"rejected/no.json":             "{}",
		"actions/done.toml":            "formula = \"a\"\n",
		"actions/done.result.json":     `{"exit_code":0}`,
		"actions/open.toml":            "formula = \"b\"\n",
		"actions/stranger.result.json": "{}",
		".locks/account.lock":          "1",
		"outreach/drafts/z.md":         "# no item",
	})
	list, err := see(t, o.one())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range list {
		got = append(got, fmt.Sprintf("%s %s %s %q %v movable %v", v.Name, v.ID, v.State, v.Title, v.Secrets, v.Movable.Or(false)))
		if age, known := v.Age.Get(); !known || time.Duration(age) > time.Minute || v.Owner != fleet.OwnerConfigured || v.File.Inode == 0 || (v.Digest != "") != (v.State == fleet.VaultPending) {
			t.Errorf("%+v", v)
		}
	}
	want := []string{
		`ops/pending/account.md account pending "Procurement Request: a mail account" [SMTP_USER SMTP_PASS] movable true`,
		`ops/pending/odd.toml odd pending "" [] movable true`,
		`ops/pending/post.json post pending "blog-post from planner" [BLOG_TOKEN] movable true`,
		`ops/approved/ship.toml ship approved "publish: 0.3.0 is ready" [NPM_TOKEN] movable false`,
		`ops/actions/done.toml done dispatched "" [] movable false`,
		`ops/actions/open.toml open approved "b" [] movable false`,
		`ops/fired/old.md old dispatched "" [] movable false`,
		`ops/rejected/no.json no rejected "" [] movable false`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Without a folder approved, and where it is only to be watched, nothing can be moved.
func TestWhereNothingIsMoved(t *testing.T) {
	o := newOps(t, map[string]string{"pending/a.md": "# A"})
	list, err := see(t, o.one())
	if movable, known := called(t, list, "ops/pending/a.md").Movable.Get(); err != nil || movable || !known {
		t.Errorf("%+v, %v", list, err)
	}
	o.put("approved/.gitkeep", "")
	list, err = see(t, o.probe(map[string]Section{"ops": {Folder: o.dir, WatchOnly: true}}))
	if a := called(t, list, "ops/pending/a.md"); err != nil || a.Movable.Or(true) || a.Owner != fleet.OwnerForeign {
		t.Errorf("%+v, %v", a, err)
	}
	o.put("pending/large.md", "# large\n"+strings.Repeat("x", mostBytes))
	list, err = see(t, o.one())
	if a := called(t, list, "ops/pending/a.md"); err != nil || !a.Movable.Or(false) {
		t.Errorf("%+v, %v", a, err)
	}
	if a := called(t, list, "ops/pending/large.md"); a.Movable.IsKnown() || a.Movable.Why() != tooLarge || a.Title != "large" || a.Digest != "" {
		t.Errorf("a large one: %+v", a)
	}
}

// What an item and its name hold is shown safe, and no value of a secret is kept.
func TestHostileItems(t *testing.T) {
	names := []string{"a\nb\x1b[31m.md", "\xff\xfe.md", "$(rm -rf ~);.md", strings.Repeat("n", 250) + ".md", "\u202egnp.md", "-rf.md"}
	files := map[string]string{"approved/.gitkeep": ""}
	for i, name := range names {
		files["pending/"+name] = fmt.Sprintf("# %d \x1b]0;x\x07\u202e token=hunter2hunter2 %s\n- env: SMTP_PASS=hunter2hunter2, ghp_0123456789abcdefghijABCDEFGHIJ012345, A_NAME\n", i, strings.Repeat("y", 900))
	}
	files["pending/deep.json"] = strings.Repeat("[", 60000)
	files["pending/deep.toml"] = "a = " + strings.Repeat("[", 60000)
	o := newOps(t, files)
	list, err := see(t, o.one())
	if err != nil || len(list) != len(names)+2 {
		t.Fatalf("%d items, %v", len(list), err)
	}
	for _, v := range list {
		all := fmt.Sprintf("%+v", v)
		if strings.Contains(all, "hunter2") || strings.Contains(all, "ghp_") || strings.ContainsAny(all, "\x1b\n\x07\u202e\xff") || len([]rune(v.Title)) > longest {
			t.Errorf("unsafe: %q", all)
		}
		if _, err := os.Lstat(fleet.RawPath(v.Path)); err != nil {
			t.Errorf("%s leads nowhere: %v", v.Path, err)
		}
		if strings.Contains(v.Title, "token") && !slices.Equal(v.Secrets, []string{"A_NAME"}) {
			t.Errorf("secrets %q", v.Secrets)
		}
	}
}

// A list of secrets gives their names, and nothing that stands behind one.
func TestSecretsThatAreMissing(t *testing.T) {
	o := newOps(t, map[string]string{"secrets.txt": "# to be given\nNPM_TOKEN\nexport DEPLOY_KEY=hunter2hunter2 # soon\nSMTP_PASS: x\n\n-----BEGIN KEY-----\nNPM_TOKEN\n"})
	list := map[string]Section{"ops": {Secrets: filepath.Join(o.dir, "secrets.txt")}}
	p := o.probe(list)
	seen, err := see(t, p)
	if err != nil || len(seen) != 1 {
		t.Fatalf("%+v, %v", seen, err)
	}
	if v := seen[0]; v.Name != "ops/secrets.txt" || v.State != fleet.VaultMissing || !slices.Equal(v.Secrets, []string{"NPM_TOKEN", "DEPLOY_KEY", "SMTP_PASS"}) || v.Movable.Or(true) {
		t.Errorf("%+v", v)
	}
	o.put("secrets.txt", "# nothing\n")
	if seen, err := see(t, p); err != nil || len(seen) != 0 {
		t.Errorf("an empty one: %+v, %v", seen, err)
	}
	if err := os.Remove(filepath.Join(o.dir, "secrets.txt")); err != nil {
		t.Fatal(err)
	}
	if seen, err := see(t, p); err != nil || len(seen) != 0 {
		t.Errorf("none: %+v, %v", seen, err)
	}
	if err := os.Mkdir(filepath.Join(o.dir, "secrets.txt"), 0o755); err != nil {
		t.Fatal(err)
	}
	if seen, err := see(t, p); err == nil || seen != nil {
		t.Errorf("a folder: %+v, %v", seen, err)
	}
}

// What cannot be seen is not nothing: no folder, a link, a pipe in its place. The rest of it,
// and other vaults, are seen.
func TestBlind(t *testing.T) {
	o, outside := newOps(t, map[string]string{"approved/a.md": "# A"}), newOps(t, map[string]string{"b.md": "# out"})
	for _, name := range []string{"l.md", "p.md"} {
		o.put("fired/"+name, "")
		if err := os.Remove(filepath.Join(o.dir, "fired", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink(outside.dir, filepath.Join(o.dir, "pending")), os.Symlink(outside.dir+"/b.md", o.dir+"/fired/l.md"), unix.Mkfifo(o.dir+"/fired/p.md", 0o600)); err != nil {
		t.Fatal(err)
	}
	list, err := see(t, o.one())
	if len(list) != 1 || list[0].ID != "a" || err == nil || !strings.Contains(err.Error(), "pending of vault ops") || !strings.Contains(err.Error(), "not a folder") {
		t.Errorf("a link for a folder: %+v, %v", list, err)
	}
	gone := filepath.Join(o.dir, "gone")
	list, err = see(t, o.probe(map[string]Section{"a": {Folder: gone}, "b": {Folder: outside.dir}, "ops": {Folder: o.dir}}))
	if len(list) != 1 || err == nil || !strings.Contains(err.Error(), "gone of vault a") {
		t.Errorf("one of three is gone: %+v, %v", list, err)
	}
	if list, err := see(t, o.probe(map[string]Section{"a": {Folder: gone}})); list != nil || err == nil || errors.Is(err, observe.ErrAbsent) {
		t.Errorf("the only one is gone: %+v, %v", list, err)
	}
	if _, err := see(t, o.probe(nil)); !errors.Is(err, observe.ErrAbsent) {
		t.Errorf("none is configured: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if put, err := o.one().Look(ctx); put != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A folder with too much is cut, and says so.
func TestBounded(t *testing.T) {
	o := newOps(t, nil)
	for i := range mostItems + 3 {
		o.put(fmt.Sprintf("pending/%03d.md", i), "# A")
	}
	var cut observe.Cut
	list, err := see(t, o.one())
	if len(list) != mostItems || !errors.As(err, &cut) || string(cut) != "of ops/pending 503 wait, and 500 are looked at" {
		t.Errorf("%d items, %v", len(list), err)
	}
	for i := range mostFiles + 1 {
		o.put(fmt.Sprintf("fired/%04d.md", i), "")
	}
	list, err = see(t, o.one())
	if len(list) != mostItems+mostFiles || !errors.As(err, &cut) || !strings.Contains(string(cut), "of ops/fired 5000 files are looked at, and there are more") {
		t.Errorf("%d items, %v", len(list), err)
	}
}

// An item is read anew when it changed, whatever time it says that it is of; and its age is
// that of its place, not of its text.
func TestChangesAreSeen(t *testing.T) {
	o := newOps(t, map[string]string{"pending/a.md": "# first", "approved/.gitkeep": ""})
	path, at := filepath.Join(o.dir, "pending/a.md"), time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	p := o.one()
	list, _ := see(t, p)
	first := called(t, list, "ops/pending/a.md")
	o.put("pending/a.md", "# other")
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	list, _ = see(t, p)
	other := called(t, list, "ops/pending/a.md")
	if other.File != first.File || other.Title != "other" || other.Digest == first.Digest {
		t.Errorf("first %+v, then %+v", first, other)
	}
	if age, known := other.Age.Get(); !known || time.Duration(age) > time.Minute {
		t.Errorf("it is %v old", other.Age)
	}
	o.now = func() time.Time { return time.Now().Add(lately + time.Hour) }
	o.put("fired/old.md", "")
	if list, err := see(t, o.one()); err != nil || len(list) != 1 {
		t.Errorf("a week later: %+v, %v", list, err)
	}
	o.now = func() time.Time { return time.Now().Add(-time.Hour) } // the clock was set back
	if list, _ := see(t, o.one()); called(t, list, "ops/pending/a.md").Age.IsKnown() {
		t.Errorf("%+v", list)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		vault string
		Section
		want string
	}{
		"nothing":   {"ops", Section{}, "it needs a folder"},
		"a name":    {"o ps", Section{Folder: "/x"}, "that is no name"},
		"how often": {"ops", Section{Folder: "/x", Every: "often"}, "every"},
		"a path":    {"ops", Section{Folder: "x"}, "no path"},
	} {
		_, err := New(Options{Vaults: map[string]Section{c.vault: c.Section}, Expand: func(path string) (string, error) {
			if !filepath.IsAbs(path) {
				return "", errors.New("no path")
			}
			return path, nil
		}})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "vault "+c.vault) {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := newOps(t, nil)
	if got := o.probe(map[string]Section{"a": {Folder: "/x", Every: "2m"}, "b": {Folder: "/y"}}).Spec().Every; got != often {
		t.Errorf("every %v", got)
	}
	if got := o.probe(nil).Spec().Every; got != often {
		t.Errorf("where there is none: every %v", got)
	}
}

// Nothing that an item holds is shown unsafe, and none makes a look fail.
func FuzzItem(f *testing.F) {
	f.Add(".md", []byte("# a\n- env: A"))
	f.Add(".toml", []byte("formula = \"a\"\nsecrets = [\"A\"]"))
	f.Add(".json", []byte(`{"type":"a","source":1}`))
	f.Fuzz(func(t *testing.T, ending string, text []byte) {
		title, secrets := gistOf(ending)(text)
		if title = titled(title); fleet.Line(title, longest) != title || fleet.Redact(title) != title {
			t.Errorf("unsafe title %q", title)
		}
		_, list := ofList(text)
		for _, s := range append(named(secrets), named(list)...) {
			if !secretName.MatchString(s) {
				t.Errorf("no name: %q", s)
			}
		}
	})
}
