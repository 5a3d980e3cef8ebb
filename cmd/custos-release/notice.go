package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// module is one that is linked into a program.
type module struct {
	Path, Version, Dir string
	Main               bool
}

// notice lists the licences of everything that is linked into the programs: of each module,
// and of Go's own library. A module without one is an error.
func notice(ctx context.Context, dir string, of product) ([]byte, error) {
	modules, err := linked(ctx, dir, of)
	if err != nil {
		return nil, err
	}
	goroot, err := output(ctx, dir, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	return noticeOf(append([]module{{Path: "The Go standard library", Version: runtime.Version(), Dir: goroot}}, modules...))
}

// linked lists the modules of all packages in the programs, for each machine.
func linked(ctx context.Context, dir string, of product) ([]module, error) {
	found := map[string]module{}
	for _, machine := range machines() {
		s := stage{of: of, archive: archiveFor("", machine)}
		if len(s.programs()) == 0 {
			continue
		}
		argv := []string{"go", "list", "-deps", "-json=Module"}
		for _, p := range s.programs() {
			argv = append(argv, "./cmd/"+p)
		}
		out, err := output(ctx, dir, []string{"CGO_ENABLED=0", "GOOS=" + s.archive.OS, "GOARCH=" + s.archive.Arch}, argv...)
		if err != nil {
			return nil, err
		}
		for d := json.NewDecoder(strings.NewReader(out)); ; {
			var pkg struct{ Module *module }
			if err := d.Decode(&pkg); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if pkg.Module != nil && !pkg.Module.Main {
				found[pkg.Module.Path] = *pkg.Module
			}
		}
	}
	var modules []module
	for _, m := range found {
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return modules, nil
}

// licenceName is what files with licences are called in the first folder of a module.
var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents|unlicense)([-._].*)?$`)

func noticeOf(modules []module) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("Custos contains the following, each under the licence below its name.\n")
	var missing []error
	for _, m := range modules {
		texts, err := licences(m.Dir)
		if err == nil && len(texts) == 0 {
			err = errors.New("it has none")
		}
		if err != nil {
			missing = append(missing, fmt.Errorf("cannot find the licence of %s %s: %w", m.Path, m.Version, err))
			continue
		}
		fmt.Fprintf(&b, "\n%s\n%s %s\n\n%s\n", strings.Repeat("=", 78), m.Path, m.Version, strings.Join(texts, "\n\n"))
	}
	return b.Bytes(), errors.Join(missing...)
}

// licences returns the texts of licences in a folder.
func licences(dir string) (texts []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !licenceName.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
	}
	return texts, nil
}

func printNotice(ctx context.Context, out io.Writer) error {
	text, err := notice(ctx, ".", custosItself())
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}
