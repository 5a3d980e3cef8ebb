package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// pack writes the archive, the packages and the list of modules into a folder, and returns
// their paths.
func (s stage) pack(ctx context.Context, out string) ([]string, error) {
	archive := filepath.Join(out, s.folder()+".tar.gz")
	if err := s.writeArchive(archive); err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", archive, err)
	}
	bill := filepath.Join(out, s.folder()+".cdx.json")
	text, err := os.ReadFile(s.path("sbom.cdx.json"))
	if err == nil {
		err = os.WriteFile(bill, text, 0o644)
	}
	if err != nil {
		return nil, err
	}
	if s.isClient() {
		return []string{archive, bill}, nil
	}
	packages, err := s.packages(ctx, out)
	return append([]string{archive, bill}, packages...), err
}

// contents lists the files of the archive, by name in the stage, the programs first.
func (s stage) contents() ([]string, error) {
	names := append(append(s.programs(), "LICENSE", "NOTICE"), s.of.texts...)
	if s.isClient() {
		names = append(s.programs(), "README", "LICENSE", "NOTICE")
	}
	for _, folder := range s.of.folders {
		below, err := s.below(folder)
		if err != nil {
			return nil, err
		}
		names = append(names, slices.DeleteFunc(below, func(n string) bool { return n == "docs/runbooks" })...)
	}
	return names, nil
}

// writeArchive writes the .tar.gz: nothing in it tells of whom it was made by, or when.
func (s stage) writeArchive(path string) (err error) {
	names, err := s.contents()
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, _ := gzip.NewWriterLevel(f, gzip.BestCompression) // the level is a constant
	t := tar.NewWriter(z)
	for _, name := range names {
		if err := s.add(t, name); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

func (s stage) add(t *tar.Writer, name string) error {
	f, err := os.Open(s.path(name))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: s.folder() + "/" + name, Size: info.Size(), Mode: int64(s.modeOf(name)), ModTime: s.at, Format: tar.FormatUSTAR}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return err
}

func (s stage) modeOf(name string) os.FileMode {
	if slices.Contains(s.programs(), name) {
		return 0o755
	}
	return 0o644
}

// packages has nfpm write a .deb, a .rpm and an .apk.
func (s stage) packages(ctx context.Context, out string) ([]string, error) {
	if err := s.prepare(); err != nil {
		return nil, err
	}
	var made []string
	for _, kind := range kinds() {
		c, err := s.nfpmConfig(kind)
		if err != nil {
			return nil, err
		}
		text, err := json.MarshalIndent(c, "", "  ") // JSON is YAML
		if err != nil {
			return nil, err
		}
		if err := s.write("nfpm-"+kind.name+".yaml", text); err != nil {
			return nil, err
		}
		target := filepath.Join(out, kind.file(s.of, s.archive))
		if err := tool(ctx, s.dir, []string{epoch(s.at)}, nfpm, "package", "-f", "nfpm-"+kind.name+".yaml", "-p", kind.name, "-t", target); err != nil {
			return nil, err
		}
		if kind.name == "deb" {
			if err := shrink(ctx, target, s.archive.Arch); err != nil {
				return nil, err
			}
		}
		made = append(made, target)
	}
	return made, nil
}

// prepare compresses what package managers want compressed, and puts the scripts beside it.
func (s stage) prepare() error {
	names := []string{hubPageName}
	if s.of.name != hubName {
		var err error
		if names, err = s.below("man/man1"); err != nil {
			return err
		}
	}
	for _, name := range append(names, "changelog", "NOTICE") {
		if err := s.compress(name); err != nil {
			return err
		}
	}
	return errors.Join(s.script("prerm", s.of.preRemove), s.script("postinst", s.of.postInstall), s.script("postrm", s.of.postRemove))
}

// script writes one of the package's scripts. nfpm puts the time of the file into an .apk.
func (s stage) script(name, text string) error {
	return errors.Join(s.write(name, []byte(text)), os.Chtimes(s.path(name), s.at, s.at))
}

// compress writes NAME.gz as gzip -9n does: without name and time.
func (s stage) compress(name string) (err error) {
	text, err := os.ReadFile(s.path(name))
	if err != nil {
		return err
	}
	f, err := os.Create(s.path(name + ".gz"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, _ := gzip.NewWriterLevel(f, gzip.BestCompression)
	_, err = z.Write(text)
	return errors.Join(err, z.Close())
}
