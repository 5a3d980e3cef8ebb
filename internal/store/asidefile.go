package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// setAsideFile renames a database with its -wal and -shm; as says what is wrong with it.
func setAsideFile(path, as string, now time.Time) (string, error) {
	name := path + "." + as + "-" + now.UTC().Format("20060102T150405Z")
	aside := name
	for n := 2; slices.ContainsFunc(besides[:], func(end string) bool { return exists(aside + end) }); n++ {
		aside = fmt.Sprintf("%s-%d", name, n)
	}
	for _, end := range []string{"-wal", "-shm", ""} {
		if err := os.Rename(path+end, aside+end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return aside, nil
}

// asideName is what setAsideFile puts behind the name of a database.
var asideName = regexp.MustCompile(`^\.[a-z]+-([0-9]{8}T[0-9]{6}Z(?:-[0-9]+)?)$`)

// AsideFiles lists the databases that were set aside for a database, for whatever was
// wrong with it, oldest first. Their -wal and -shm are not counted.
func AsideFiles(path string) ([]string, error) {
	all, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range all {
		if end, ours := strings.CutPrefix(e.Name(), filepath.Base(path)); ours && asideName.MatchString(end) {
			out = append(out, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	when := func(file string) string {
		return asideName.FindStringSubmatch(strings.TrimPrefix(filepath.Base(file), filepath.Base(path)))[1]
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(when(a), when(b)) })
	return out, nil
}
