package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/pelletier/go-toml/v2"

	"custos/internal/brokentoml"
)

// kindFolder, beside custos.toml, holds a file for each kind of agent CLI that is told
// otherwise than the built-in kinds do, or besides them.
const kindFolder = "kinds"

// largestKind is how many bytes a kind file may have, and mostKinds how many files are read:
// the largest built-in one has 20 KiB, and there are 17.
const (
	largestKind = 1 << 20
	mostKinds   = 200
)

// KindFile is a file of that folder: the keys of one kind, or some of them.
type KindFile struct {
	Path string // of the folder, where that cannot be used
	Text []byte
	Err  error // why it is set aside; nil when it may be used
}

var kindFileName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*\.toml$`)

// KindFiles reads the files beside a custos.toml, by name. What is there and cannot be used is
// among them, with the reason: who may write there says what is run and which keys are typed.
func KindFiles(custosTOML string) []KindFile {
	dir := filepath.Join(filepath.Dir(custosTOML), kindFolder)
	names, err := kindNames(dir)
	if err != nil {
		return []KindFile{{Path: dir, Err: fmt.Errorf("cannot read the folder of kinds: %w", err)}}
	}
	var out []KindFile
	for _, name := range names {
		f := KindFile{Path: filepath.Join(dir, name)}
		if f.Text, f.Err = readKindFile(f.Path); f.Err != nil {
			f.Err = fmt.Errorf("cannot read %s: %w", f.Path, f.Err)
		}
		out = append(out, f)
	}
	return out
}

// kindNames lists the files of the folder; none where there is no folder. What editors leave
// there begins with a dot or has another ending.
func kindNames(dir string) ([]string, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := onlyOurs(f); err != nil {
		return nil, err
	}
	entries, err := f.ReadDir(10 * mostKinds)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".toml") && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	if len(names) > mostKinds {
		return nil, fmt.Errorf("%s holds more than %d files: take away those that are not used", dir, mostKinds)
	}
	slices.Sort(names)
	return names, nil
}

// readKindFile reads a file that nobody else may write. A link is followed: what it leads to
// counts.
func readKindFile(path string) ([]byte, error) {
	if !kindFileName.MatchString(filepath.Base(path)) {
		return nil, errors.New("its name is no name of a kind: call it NAME.toml, with NAME of small letters, digits, - and _")
	}
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := onlyOurs(f); err != nil {
		return nil, err
	}
	return ReadAll(f, path, largestKind)
}

// onlyOurs refuses what anybody but this user and root may write.
func onlyOurs(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	of, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !known || of.Uid != 0 && int(of.Uid) != os.Getuid():
		return fmt.Errorf("%s belongs to another user, who could have Custos run anything: chown it, or take it away", f.Name())
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("others than you may write to %s, and could have Custos run anything: chmod go-w %s", f.Name(), f.Name())
	}
	return nil
}

// Check compares the file with the type it is read into. Every mistake is in the error, each
// with its line.
func (f KindFile) Check(t reflect.Type) error {
	if f.Err != nil {
		return f.Err
	}
	p := &problems{file: f.Path}
	var all map[string]any
	if err := toml.Unmarshal(f.Text, &all); err != nil {
		p.add(lineOf(err), "%s", brokentoml.Plain(err))
		return p.err()
	}
	k := checker{Config: Config{File: f.Path, all: all, lines: linesOf(f.Text)}, p: p, bare: true}
	k.value(nil, all, t, "")
	return p.err()
}
