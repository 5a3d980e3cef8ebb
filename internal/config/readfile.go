package config

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// LargestFile is how many bytes custos.toml may have: far more than any has.
const LargestFile = 4 << 20

// ReadFile reads a regular file of at most limit bytes. A pipe or a device is
// refused and never waited for: one may give nothing, or give without end. A
// file that is missing is an fs.ErrNotExist.
func ReadFile(file string, limit int64) ([]byte, error) {
	f, err := openRegular(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(f, file, limit)
}

// openRegular opens a regular file to read it, and waits for none that is not.
func openRegular(file string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", file)
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

// ReadAll reads at most limit bytes to their end; more is an error, which calls
// them by name.
func ReadAll(r io.Reader, name string, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		return nil, fmt.Errorf("%s is larger than %d MiB", name, limit>>20)
	}
	return b, err
}
