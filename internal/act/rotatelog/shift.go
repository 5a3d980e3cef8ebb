package rotatelog

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/files"
)

// olderName is the name of the nth archive of a log; 0 is the newest.
func olderName(path string, n int) string {
	if n == 0 {
		return archiveName(path)
	}
	return fmt.Sprintf("%s.custos.%d.gz", path, n)
}

// packingName is where an archive is made until it is whole.
func packingName(path string) string {
	return filepath.Join(filepath.Dir(path), ".custos-packing-"+filepath.Base(path))
}

// shift frees the newest archive's name: every archive up to the first free
// number moves up by one, the oldest first. Nothing is replaced. A crash in
// between leaves one number free, which the next run fills: no archive moves
// twice for one rotation.
func shift(path string) error {
	n, err := firstFree(path, 0)
	if err != nil {
		return err
	}
	for ; n > 0; n-- {
		if err := os.Rename(olderName(path, n-1), olderName(path, n)); err != nil {
			return err
		}
	}
	return nil
}

// firstFree returns the first number from n on that no archive has.
func firstFree(path string, n int) (int, error) {
	for ; ; n++ {
		_, err := os.Lstat(olderName(path, n))
		if errors.Is(err, fs.ErrNotExist) {
			return n, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// trim removes the archives beyond those to be kept, the oldest first, and
// returns what to say of each. It is the last step of a rotation: after a crash
// before it they are still there, and the next rotation removes them and says so.
func trim(path string, most int) (said string) {
	n, err := firstFree(path, most+1)
	if err != nil {
		return fmt.Sprintf("; cannot look for old archives: %v", err)
	}
	for n--; n > most; n-- {
		said += drop(olderName(path, n))
	}
	return said
}

// drop removes one archive, if it is one that this action made.
func drop(name string) string {
	info, err := files.Lstat(name)
	if err == nil {
		err = ours(name)
	}
	if err == nil {
		err = os.Remove(name)
	}
	if err != nil {
		return fmt.Sprintf("; the oldest archive, %s, was not dropped: %s", fleet.Path(name), fleet.Line(err.Error(), 300))
	}
	return fmt.Sprintf("; the oldest archive, of %s, was dropped", info.Modified().UTC().Format(time.DateOnly))
}

// ours says why a file is no archive of this action.
func ours(name string) error {
	f, _, err := files.OpenRegular(name, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil || !strings.HasPrefix(z.Comment, "custos rotate-log ") {
		return errors.New("custos did not make it")
	}
	return nil
}
