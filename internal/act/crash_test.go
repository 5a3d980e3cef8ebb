package act_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/store"
)

// The child of a crash test: this very test binary, told by this variable to
// open a store, act for real, and die by SIGKILL.
const childVariable = "CUSTOS_ACT_CRASH_CHILD"

// order is what a child is to do.
type order struct {
	Dir     string
	Die     string // at this point …
	Nth     int    // … the so-manyeth time; 0: never by itself
	Recover bool   // recover first, and act no more
	Turns   int
}

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		if err := child(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const perTurn = 4

// planned is the turn-th turn: two lines to append and two files to remove.
func planned(o order, turn int) (fleet.Turn, error) {
	t := fleet.Turn{At: instant(), Patrol: int64(turn + 1)}
	for i := range perTurn {
		name := fmt.Sprintf("%02d-%d", turn, i)
		a := fleet.Action{ID: name, Do: "append", Subject: fleet.Subject{Kind: fleet.KindLog, Name: name}, Attempt: 1}
		path := filepath.Join(o.Dir, "lines")
		if i%2 == 1 {
			a.Do, path = "remove", filepath.Join(o.Dir, "files", name)
		}
		id, err := identity(path)
		if err != nil {
			return t, err
		}
		a.Target.Log = &fleet.Log{Path: path, Owner: fleet.OwnerConfigured, File: id}
		t.Plan.Actions = append(t.Plan.Actions, a)
	}
	return t, nil
}

func identity(path string) (fleet.FileID, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return fleet.FileID{}, err
	}
	st := info.Sys().(*syscall.Stat_t)
	return fleet.FileID{Device: st.Dev, Inode: st.Ino, MTime: info.ModTime().UnixNano(), Size: info.Size()}, nil
}

func instant() fleet.Instant { return fleet.Instant{Wall: time.Now().UTC()} }

// child acts, and says on its output what it passes: one line a point.
func child(text string) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	s, err := store.Open(context.Background(), store.Options{Path: filepath.Join(o.Dir, "custos.db")})
	if err != nil {
		return err
	}
	d := &deathly{Store: s, order: o}
	a := actor(d, d.pass)
	if o.Recover {
		left, err := s.Unfinished(context.Background())
		if err != nil {
			return err
		}
		a.Recover(context.Background(), left)
		return a.Wait(context.Background())
	}
	for turn := range o.Turns {
		t, err := planned(o, turn)
		if err != nil {
			return err
		}
		if err := a.Start(context.Background(), t); err != nil {
			return err
		}
		d.pass(fmt.Sprint("committed ", turn))
	}
	return a.Wait(context.Background())
}

func actor(l act.Ledger, pass func(string)) *act.Actor {
	return act.New(act.Options{Actions: []act.Action{deed{"append", pass}, deed{"remove", pass}}, Ledger: l, Now: instant, Workers: 3})
}

// deathly is a ledger that dies where it is told to.
type deathly struct {
	*store.Store
	order
	mu   sync.Mutex
	seen int
}

// pass says that a point is passed, or dies at it.
func (d *deathly) pass(point string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if point == d.Die {
		if d.seen++; d.seen == d.Nth {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	fmt.Println(point)
}

func (d *deathly) Commit(ctx context.Context, t fleet.Turn) error {
	d.pass("before commit")
	err := d.Store.Commit(ctx, t)
	d.pass("after commit")
	return err
}

func (d *deathly) Start(ctx context.Context, id string, at fleet.Instant) error {
	d.pass("before start " + doOf(id))
	err := d.Store.Start(ctx, id, at)
	d.pass("after start " + doOf(id))
	return err
}

func (d *deathly) Finish(ctx context.Context, r fleet.Result) error {
	d.pass("before finish " + r.Do)
	err := d.Store.Finish(ctx, r)
	d.pass("after finish " + r.Do)
	return err
}

func doOf(id string) string {
	if strings.HasSuffix(id, "1") || strings.HasSuffix(id, "3") {
		return "remove"
	}
	return "append"
}

// deed appends its ID as a line (which must not be done twice), or removes one
// file by identity (which may).
type deed struct {
	do   string
	pass func(string)
}

func (d deed) Ability() fleet.Ability {
	return fleet.Ability{Do: d.do, Idempotent: d.do == "remove", Deadline: fleet.Duration(time.Minute), Touches: []fleet.PartName{fleet.PartLogs}}
}

func (d deed) Commands(a fleet.Action) []fleet.Command {
	return []fleet.Command{{Argv: []string{d.do, a.Target.Log.Path}}}
}

func (d deed) Prepare(_ context.Context, a fleet.Action) (act.Run, error) {
	id, err := identity(a.Target.Log.Path)
	switch {
	case d.do == "append":
		return run{d, a}, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: it is gone", act.ErrUnneeded)
	case err == nil && id != a.Target.Log.File:
		return nil, fmt.Errorf("%w: it is another file", act.ErrRefused)
	}
	return run{d, a}, err
}

type run struct {
	deed
	a fleet.Action
}

func (r run) Do(context.Context) error {
	r.pass("before do " + r.do)
	defer r.pass("after do " + r.do)
	if r.do == "remove" {
		return os.Remove(r.a.Target.Log.Path)
	}
	f, err := os.OpenFile(r.a.Target.Log.Path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(r.a.ID + "\n")
	return err
}

func (r run) Verify(context.Context) (string, error) { return r.do + " worked", nil }
func (r run) Close()                                 {}

// world makes the folder that a child acts in.
func world(t *testing.T, turns int) order {
	t.Helper()
	o := order{Dir: t.TempDir(), Turns: turns}
	if err := os.MkdirAll(filepath.Join(o.Dir, "files"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(o.Dir, "lines"), "")
	for turn := range turns {
		for i := 1; i < perTurn; i += 2 {
			write(t, filepath.Join(o.Dir, "files", fmt.Sprintf("%02d-%d", turn, i)), "old")
		}
	}
	return o
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// runChild runs a child, kills it when it has said so many lines (0: not), and
// returns what it said and whether it died by SIGKILL.
func runChild(t *testing.T, o order, after int) (said []string, killed bool) {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		said = append(said, lines.Text())
		if len(said) == after {
			_ = cmd.Process.Kill()
		}
	}
	err = cmd.Wait()
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	killed = status.Signaled() && status.Signal() == syscall.SIGKILL
	if err != nil && !killed {
		t.Fatalf("the child failed: %v", err)
	}
	return said, killed
}

func TestKilledAtEveryBoundary(t *testing.T) {
	points := []string{"before commit", "after commit"}
	for _, do := range []string{"append", "remove"} {
		for _, step := range []string{"before start", "after start", "before do", "after do", "before finish", "after finish"} {
			points = append(points, step+" "+do)
		}
	}
	for _, point := range points {
		for _, nth := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s %d", point, nth), func(t *testing.T) {
				t.Parallel()
				o := world(t, 4)
				o.Die, o.Nth = point, nth
				said, killed := runChild(t, o, 0)
				if !killed {
					t.Fatalf("the child passed the point alive: %v", said)
				}
				// The recovery is killed too, at its first boundary of that kind if it has one.
				again := o
				again.Recover, again.Nth = true, 1
				more, _ := runChild(t, again, 0)
				judge(t, o, slices.Concat(said, more))
			})
		}
	}
}

func TestKilledAtRandomMoments(t *testing.T) {
	if testing.Short() {
		t.Skip("fifty children")
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for i := range 50 {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			o := world(t, 5)
			said, _ := runChild(t, o, 1+random.IntN(o.Turns*(3+perTurn*6)))
			if i%2 == 0 { // and while it recovers
				again := o
				again.Recover = true
				more, _ := runChild(t, again, 1+random.IntN(12))
				said = append(said, more...)
			}
			judge(t, o, said)
		})
	}
}

// judge opens what a crash left, replaces half of the files that are gone by
// new ones of the same name, recovers, and checks every promise.
func judge(t *testing.T, o order, said []string) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(o.Dir, "custos.db")})
	if err != nil {
		t.Fatalf("the store does not open: %v", err)
	}
	defer s.Close()
	if aside, err := store.AsideFiles(filepath.Join(o.Dir, "custos.db")); err != nil || len(aside) > 0 {
		t.Fatalf("the store was damaged: %s, %v", aside, err)
	}
	fresh := replaceFiles(t, o)
	begun := map[string]bool{}
	left, err := s.Unfinished(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range left {
		begun[rec.ID] = rec.Stage == fleet.StageStarted
	}
	a := actor(s, func(string) {})
	a.Recover(t.Context(), left)
	if err := a.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.Close()
	checkIntents(t, s, said)
	checkWorld(t, o, s, fresh, begun)
}

func replaceFiles(t *testing.T, o order) map[string]bool {
	t.Helper()
	fresh := map[string]bool{}
	for turn := range o.Turns {
		name := fmt.Sprintf("%02d-1", turn)
		path := filepath.Join(o.Dir, "files", name)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			write(t, path, "new: somebody else's")
			fresh[name] = true
		}
	}
	return fresh
}

// checkIntents: what was committed is there, and has exactly one end.
func checkIntents(t *testing.T, s *store.Store, said []string) {
	t.Helper()
	if left, err := s.Unfinished(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("%d intents have no result (%v)", len(left), err)
	}
	for _, line := range said {
		var turn int
		if n, _ := fmt.Sscanf(line, "committed %d", &turn); n == 1 {
			for i := range perTurn {
				id := fmt.Sprintf("%02d-%d", turn, i)
				if recs, err := s.Actions(t.Context(), store.ActionFilter{ID: id}); err != nil || len(recs) != 1 {
					t.Errorf("intent %s was committed and is lost (%v)", id, err)
				}
			}
		}
	}
	recs, err := s.Actions(t.Context(), store.ActionFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs {
		events, err := s.Events(t.Context(), 0, 0, store.EventFilter{Action: rec.ID})
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		for _, e := range events {
			count[e.Kind]++
		}
		if count["action.planned"] != 1 || count["action.started"] > 1 || count["action.ended"] != 1 {
			t.Errorf("%s has the events %v", rec.ID, count)
		}
	}
}

// checkWorld: what is written down is what happened.
func checkWorld(t *testing.T, o order, s *store.Store, fresh, begun map[string]bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(o.Dir, "lines"))
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]int{}
	for _, l := range strings.Fields(string(text)) {
		lines[l]++
	}
	recs, err := s.Actions(t.Context(), store.ActionFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs {
		if rec.Result == nil {
			continue
		}
		if rec.Do == "append" {
			checkAppend(t, rec, lines[rec.ID])
			delete(lines, rec.ID)
			continue
		}
		checkRemove(t, o, rec, fresh[rec.ID], begun[rec.ID])
	}
	if len(lines) > 0 {
		t.Errorf("done, and never written down: %v", lines)
	}
}

func checkAppend(t *testing.T, rec fleet.ActionRecord, lines int) {
	t.Helper()
	switch status := rec.Result.Status; {
	case lines > 1:
		t.Errorf("%s was done %d times", rec.ID, lines)
	case status == fleet.ResultDone && lines != 1, status == fleet.ResultRefused && lines != 0:
		t.Errorf("%s is %s, and was done %d times", rec.ID, status, lines)
	case status != fleet.ResultDone && status != fleet.ResultRefused && status != fleet.ResultInDoubt:
		t.Errorf("%s is %s: %s", rec.ID, status, rec.Result.Why)
	}
}

func checkRemove(t *testing.T, o order, rec fleet.ActionRecord, fresh, begun bool) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(o.Dir, "files", rec.ID))
	status := rec.Result.Status
	switch {
	case fresh:
		if string(content) != "new: somebody else's" {
			t.Errorf("%s: somebody else's new file was touched: %q, %v", rec.ID, content, err)
		}
		if begun && status != fleet.ResultInDoubt {
			t.Errorf("%s is %s: another file has its name, so it cannot be known", rec.ID, status)
		}
	case status == fleet.ResultDone && err == nil, status == fleet.ResultRefused && err != nil:
		t.Errorf("%s is %s, and the file: %q, %v", rec.ID, status, content, err)
	case status != fleet.ResultDone && status != fleet.ResultRefused && status != fleet.ResultUnneeded:
		t.Errorf("%s is %s: %s", rec.ID, status, rec.Result.Why)
	}
}
