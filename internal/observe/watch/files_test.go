package watch_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"custos/internal/observe/watch"
)

func files(t *testing.T, paths ...string) chan string {
	t.Helper()
	news := make(chan string, 100)
	f, err := watch.Files(func(p string) { news <- p }, func(error) {}, paths...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return news
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(time.Now().String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, news chan string, want string) {
	t.Helper()
	select {
	case p := <-news:
		if p != want {
			t.Errorf("told of %s, want %s", p, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("not told of %s", want)
	}
}

func TestFiles(t *testing.T) {
	leakless(t)
	dir := t.TempDir()
	folder, file, pattern, later := dir+"/folder", dir+"/file", dir+"/phases/dev-*.phase", dir+"/not/yet/there"
	mkdir(t, folder)
	mkdir(t, filepath.Dir(pattern))
	news := files(t, folder, file, pattern, later)
	write(t, folder+"/1.json")
	expect(t, news, folder)
	write(t, file)
	expect(t, news, file)
	write(t, dir+"/phases/other")
	write(t, dir+"/phases/dev-7.phase")
	expect(t, news, pattern)
	mkdir(t, later)
	expect(t, news, later)
	write(t, later+"/x")
	expect(t, news, later)
	if err := os.Rename(folder, dir+"/away"); err != nil {
		t.Fatal(err)
	}
	expect(t, news, folder)
	mkdir(t, folder)
	expect(t, news, folder)
	write(t, folder+"/again.json")
	expect(t, news, folder)
}

// A thousand changes are told at most once a second, and the last one is.
func TestFilesCoalesce(t *testing.T) {
	dir := t.TempDir()
	news := files(t, dir)
	began := time.Now()
	for range 1000 {
		write(t, dir+"/x")
	}
	expect(t, news, dir)
	expect(t, news, dir)
	if took, most := time.Since(began), 1+int(time.Since(began)/time.Second); len(news) > most {
		t.Errorf("told %d times more in %s", len(news), took)
	}
}

func TestFilesRefusesBadPaths(t *testing.T) {
	leakless(t)
	if _, err := watch.Files(func(string) {}, func(error) {}, "relative"); err == nil {
		t.Error("a relative path is watched")
	}
}

// What cannot be followed by event any more is told, and keeps nothing else from being
// followed; that it is again is told, too.
func TestFilesThatCannotBeWatched(t *testing.T) {
	leakless(t)
	dir := t.TempDir()
	folder, later := dir+"/folder", dir+"/later"
	mkdir(t, folder)
	news, lost := make(chan string, 100), make(chan error, 100)
	f, err := watch.Files(func(p string) { news <- p }, func(err error) { lost <- err }, folder, later)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if err := errors.Join(os.Remove(folder), os.Symlink("folder", folder)); err != nil { // it leads to itself
		t.Fatal(err)
	}
	awaitLoss(t, lost, func(err error) bool { return err != nil && strings.Contains(err.Error(), "cannot watch "+folder) })
	mkdir(t, later)
	for told := ""; told != later; {
		told = <-news
	}
	write(t, later+"/1.json")
	for told := ""; told != later; {
		told = <-news
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	awaitLoss(t, lost, func(err error) bool { return err == nil })
}

// Events that come faster than they are read are lost: that is told, and every path is.
func TestFilesWhoseEventsAreLost(t *testing.T) {
	leakless(t)
	b, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	most, bad := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || bad != nil || most > 1<<17 {
		t.Skipf("the kernel keeps too many events: %s, %v", b, err)
	}
	dir := t.TempDir()
	write(t, dir+"/0")
	write(t, dir+"/1")
	lost, told, busy := make(chan error, 1), make(chan struct{}), make(chan struct{})
	var once sync.Once
	f, err := watch.Files(func(string) { once.Do(func() { close(told) }); <-busy }, func(err error) { lost <- err }, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	write(t, dir+"/0")
	<-told
	for n := range 2 * most { // of two files in turn: the kernel puts equal ones together
		if err := os.Chmod(fmt.Sprintf("%s/%d", dir, n%2), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	close(busy)
	awaitLoss(t, lost, func(err error) bool { return errors.Is(err, watch.ErrLost) })
}

func awaitLoss(t *testing.T, lost chan error, is func(error) bool) {
	t.Helper()
	for late := time.After(time.Minute); ; {
		select {
		case err := <-lost:
			if is(err) {
				return
			}
		case <-late:
			t.Fatal("nothing of the kind was told")
		}
	}
}
