package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"custos/internal/release"
)

// options say what to make.
type options struct {
	version  string // without a v
	out      string // folder; absolute, as key and password
	arches   []string
	key      string // "" signs nothing
	password string // file; "" for a key without one
}

func ofTag(tag string) (string, error) {
	version, err := release.OfTag(tag)
	if err != nil {
		return "", usage(fmt.Sprintf("%v; give VERSION=v0.1.0, or tag the commit", err))
	}
	return version, nil
}

func (o *options) absolute() error {
	for _, p := range []*string{&o.out, &o.key, &o.password} {
		if *p == "" {
			continue
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return err
		}
		*p = abs
	}
	for _, arch := range o.arches {
		if !slices.Contains(machines(), arch) {
			return usage(fmt.Sprintf("cannot build for %q: want %s", arch, strings.Join(machines(), ", ")))
		}
	}
	return nil
}

// machines are those that there is a release for: Go's names of them, on Linux where none is
// named. On any other system Custos is a client of machines that are watched.
func machines() []string { return []string{"amd64", "arm64", "darwin/arm64"} }

// archiveFor is the archive for one of the machines.
func archiveFor(version, machine string) release.Archive {
	if system, arch, named := strings.Cut(machine, "/"); named {
		return release.Archive{Version: version, OS: system, Arch: arch}
	}
	return release.Archive{Version: version, OS: "linux", Arch: machine}
}

// source is the commit that a release is made of, in a folder of its own.
type source struct {
	dir string
	at  time.Time // of the commit: the time of every file of the release
}

// make makes all files and returns their paths. What lies in the folder already under the
// names of a release of this version is written over; another release there is refused.
func (o options) make(ctx context.Context) ([]string, error) {
	sign, err := o.signer()
	if err != nil {
		return nil, err
	}
	if err := o.mayWrite(); err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "custos-release-")
	if err != nil {
		return nil, fmt.Errorf("cannot make a release: %w", err)
	}
	defer os.RemoveAll(scratch)
	src, err := checkout(ctx, filepath.Join(scratch, "src"), "v"+o.version)
	if err != nil {
		return nil, err
	}
	var made []string
	for _, arch := range o.arches {
		for _, of := range []product{custosItself(), hubProduct()} {
			s := stage{of: of, archive: archiveFor(o.version, arch), dir: filepath.Join(scratch, of.name, arch), at: src.at}
			files, err := s.makeAll(ctx, src, o.out)
			if err != nil {
				return nil, err
			}
			made = append(made, files...)
		}
	}
	notes, err := o.writeNotes(src)
	if err != nil {
		return nil, err
	}
	return o.seal(append(made, notes), sign)
}

// makeAll makes what there is of a product for a machine; nothing where there is no program of it.
func (s stage) makeAll(ctx context.Context, src source, out string) ([]string, error) {
	if len(s.programs()) == 0 {
		return nil, nil
	}
	if err := s.fill(ctx, src); err != nil {
		return nil, err
	}
	return s.pack(ctx, out)
}

// mayWrite refuses a folder in which another release lies: SHA256SUMS would be of one only.
func (o options) mayWrite() error {
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return fmt.Errorf("cannot make a release: %w", err)
	}
	there, err := os.ReadDir(o.out)
	if err != nil {
		return fmt.Errorf("cannot make a release: %w", err)
	}
	for _, e := range there {
		if a, err := release.ParseName(e.Name()); err == nil && a.Version != o.version {
			return usage(fmt.Sprintf("cannot write version %s to %s: version %s lies there", o.version, o.out, a.Version))
		}
	}
	return nil
}

// checkout puts the commit that is checked out here into dir, with one tag, whatever tags
// there are: Go notes commit and tag in what it builds.
func checkout(ctx context.Context, dir, tag string) (source, error) {
	root, err := output(ctx, "", nil, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return source{}, fmt.Errorf("cannot find the commit: %w", err)
	}
	commit, err := output(ctx, "", nil, "git", "rev-parse", "HEAD")
	if err != nil {
		return source{}, fmt.Errorf("cannot find the commit: %w", err)
	}
	if at, err := output(ctx, "", nil, "git", "rev-parse", "-q", "--verify", tag+"^{commit}"); err == nil && at != commit {
		return source{}, usage(fmt.Sprintf("cannot make %s: that tag is on %.12s, and %.12s is checked out", tag, at, commit))
	}
	for _, step := range [][]string{
		{"git", "clone", "--quiet", "--shared", "--no-checkout", "--no-tags", root, dir},
		{"git", "-C", dir, "checkout", "--quiet", "--detach", commit},
		{"git", "-C", dir, "tag", tag},
	} {
		if _, err := output(ctx, "", nil, step...); err != nil {
			return source{}, fmt.Errorf("cannot check the commit out: %w", err)
		}
	}
	at, err := output(ctx, dir, nil, "git", "show", "--no-patch", "--format=%ct", "HEAD")
	if err != nil {
		return source{}, err
	}
	seconds, err := strconv.ParseInt(cmp.Or(os.Getenv("SOURCE_DATE_EPOCH"), at), 10, 64)
	if err != nil {
		return source{}, usage(fmt.Sprintf("cannot read SOURCE_DATE_EPOCH: want seconds since 1970: %v", err))
	}
	return source{dir: dir, at: time.Unix(seconds, 0).UTC()}, nil
}

// writeNotes writes what is new in this version beside the packages.
func (o options) writeNotes(src source) (string, error) {
	text, err := os.ReadFile(filepath.Join(src.dir, "CHANGELOG.md"))
	if err != nil && !os.IsNotExist(err) {
		return "", fmt.Errorf("cannot read CHANGELOG.md: %w", err)
	}
	notes, err := section(string(text), o.version)
	if err != nil && !strings.Contains(o.version, "-") {
		return "", err // a version before the first one, as 0.1.0-rc.1, needs none
	}
	name := filepath.Join(o.out, fmt.Sprintf("custos_%s_changes.md", o.version))
	return name, os.WriteFile(name, []byte(notes), 0o644)
}
