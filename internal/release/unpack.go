package release

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
)

// LargestProgram is how many bytes a program may have.
const LargestProgram = 256 << 20

// Unpack reads an archive and hands over each of its three programs, which put must read
// to its end. Everything else in it is passed over. The error says which one is not there, there
// twice, no plain file, or too large; what was put before it is of no use then.
func (a Archive) Unpack(r io.Reader, put func(program string, size int64, r io.Reader) error) error {
	if err := a.unpack(r, put); err != nil {
		return fmt.Errorf("cannot unpack %s: %w", a.Name(), err)
	}
	return nil
}

func (a Archive) unpack(r io.Reader, put func(string, int64, io.Reader) error) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	missing := Programs()
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		name := path.Base(h.Name)
		if !slices.Contains(Programs(), name) || h.Name != a.Folder()+"/"+name {
			continue
		}
		if missing, err = without(missing, name); err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg || h.Size <= 0 || h.Size > LargestProgram {
			return fmt.Errorf("%s is no plain file of 1 to %d bytes", name, LargestProgram)
		}
		if err := put(name, h.Size, t); err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s is not in it: Custos is %v, all of one release", missing[0], Programs())
	}
	// What follows the last file is part of what was compressed: its check sum is looked at.
	_, err = io.Copy(io.Discard, z)
	return err
}

func without(names []string, name string) ([]string, error) {
	i := slices.Index(names, name)
	if i < 0 {
		return nil, fmt.Errorf("%s is in it twice", name)
	}
	return slices.Delete(names, i, i+1), nil
}
