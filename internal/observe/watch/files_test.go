package watch_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"custos/internal/observe/watch"
)

func files(t *testing.T, paths ...string) chan string {
	t.Helper()
	news := make(chan string, 100)
	f, err := watch.Files(func(p string) { news <- p }, paths...)
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
	if _, err := watch.Files(func(string) {}, "relative"); err == nil {
		t.Error("a relative path is watched")
	}
}
