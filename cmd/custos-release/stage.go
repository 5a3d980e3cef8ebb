package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"custos/internal/config"
	"custos/internal/release"
	"custos/internal/service/unit"
)

// stage is a folder with what the packages for one machine are made of: the programs, and
// what readPages lists beside them.
type stage struct {
	of      product
	archive release.Archive
	dir     string
	at      time.Time
}

func (s stage) path(name ...string) string { return filepath.Join(append([]string{s.dir}, name...)...) }

// fill builds and writes everything.
func (s stage) fill(ctx context.Context, src source) error {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	if err := s.compile(ctx, src); err != nil {
		return err
	}
	if len(s.of.folders) > 0 {
		if _, err := output(ctx, src.dir, []string{epoch(s.at)}, "go", "run", "./cmd/custos-release", "pages", s.dir); err != nil {
			return err
		}
	}
	notice, err := notice(ctx, src.dir, s.of)
	if err != nil {
		return err
	}
	return errors.Join(s.write("NOTICE", notice), s.texts(src), s.bill(ctx))
}

// isClient says whether it is for a machine that is not watched.
func (s stage) isClient() bool { return s.archive.OS != "linux" }

// programs are those that there are for the machine.
func (s stage) programs() []string { return s.of.programs(s.isClient()) }

// folder is the one folder in the archive.
func (s stage) folder() string { return s.of.name + strings.TrimPrefix(s.archive.Folder(), "custos") }

// clientReadme is what whoever unpacks a client is to read first.
const clientReadme = `Custos %s for %s on %s: a client only, and unproven: it was never run on such a machine.

It watches and changes nothing here. It asks the Custos of Linux machines, through ssh, which
~/.config/custos/custos.toml names:

  [host.box1]
  ssh = "box1"    # a name of ~/.ssh/config, or user@machine

custos ps, custos top and custos help hosts.md go on from there.
`

func epoch(at time.Time) string { return fmt.Sprintf("SOURCE_DATE_EPOCH=%d", at.Unix()) }

// compile builds the programs.
func (s stage) compile(ctx context.Context, src source) error {
	argv := []string{"go", "build", "-trimpath", "-buildvcs=true", "-ldflags", "-s -w -buildid= -X main.version=" + s.archive.Version, "-o", s.dir + "/"}
	for _, p := range s.programs() {
		argv = append(argv, "./cmd/"+p)
	}
	_, err := output(ctx, src.dir, []string{"CGO_ENABLED=0", "GOOS=" + s.archive.OS, "GOARCH=" + s.archive.Arch}, argv...)
	return err
}

// texts copies and makes what is the same on every machine.
func (s stage) texts(src source) error {
	licence, err := os.ReadFile(filepath.Join(src.dir, "LICENSE"))
	if err != nil {
		return err
	}
	changelog := fmt.Sprintf("%s (%s) stable; urgency=medium\n\n  * What is new is in custos_%s_changes.md, beside the package.\n\n -- %s  %s\n",
		s.of.name, debVersion(s.archive.Version), s.archive.Version, maintainer, s.at.Format("Mon, 02 Jan 2006 15:04:05 -0700"))
	return errors.Join(s.write("LICENSE", licence), s.write("changelog", []byte(changelog)), s.write("copyright", []byte(copyright)),
		s.write("lintian-overrides", []byte(s.of.overrides)), s.ownTexts())
}

// ownTexts are those of custos, or of the hub.
func (s stage) ownTexts() error {
	if s.of.name == hubName {
		return errors.Join(s.write(hubUnitName, []byte(hubUnit)), s.write(hubPageName, []byte(hubPage)))
	}
	text, err := unit.Text(unit.Options{Program: "/usr/bin/custos"})
	if err != nil {
		return err
	}
	example, err := config.Layout("bare")
	if err != nil {
		return err
	}
	return errors.Join(s.write(unit.Name, []byte(text)), s.write("custos.toml", example),
		s.write("README", fmt.Appendf(nil, clientReadme, s.archive.Version, s.archive.OS, s.archive.Arch)))
}

// debVersion is how dpkg orders versions: what comes before a version has a ~.
func debVersion(version string) string { return strings.Replace(version, "-", "~", 1) }

// bill lists the modules in the first program: custos has all those of the other two.
func (s stage) bill(ctx context.Context) error {
	return tool(ctx, s.dir, nil, cyclonedx, "bin", "-json", "-noserial", "-notimestamp", "-std", "-output", s.path("sbom.cdx.json"), s.path(s.programs()[0]))
}

func (s stage) write(name string, text []byte) error {
	return os.WriteFile(s.path(name), text, 0o644)
}

// pages are the files below a folder of a stage, by name, as they are sorted.
func (s stage) below(folder string) ([]string, error) {
	entries, err := os.ReadDir(s.path(folder))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, folder+"/"+e.Name())
	}
	return names, nil
}
