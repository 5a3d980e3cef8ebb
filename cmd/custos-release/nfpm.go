package main

import (
	"path/filepath"
	"strings"
	"time"

	"custos/internal/release"
)

const maintainer = "The Custos developers <custos@custos.invalid>"

// kind is a kind of package: what it and its parts are called.
type kind struct {
	name, separator, release string
	arch                     map[string]string // Go's word: its own
	zsh                      string            // folder of completions
}

func kinds() []kind {
	rpm := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}
	return []kind{
		{name: "deb", separator: "_", arch: map[string]string{"amd64": "amd64", "arm64": "arm64"}, zsh: "/usr/share/zsh/vendor-completions"},
		{name: "rpm", separator: "-", arch: rpm, zsh: "/usr/share/zsh/site-functions"},
		{name: "apk", separator: "_", arch: rpm, zsh: "/usr/share/zsh/site-functions"},
	}
}

// file is the name of the package.
func (k kind) file(of product, a release.Archive) string {
	return of.name + k.separator + a.Version + k.separator + k.arch[a.Arch] + "." + k.name
}

// version is the version as nfpm makes one of this kind of it: Alpine knows 0.1.0_rc1 and no 0.1.0_rc.1.
func (k kind) version(version string) string {
	release, before, is := strings.Cut(version, "-")
	if k.name != "apk" || !is {
		return version
	}
	return release + "-" + strings.ReplaceAll(before, ".", "")
}

// content is one file of a package.
type content struct {
	Src  string   `json:"src"`
	Dst  string   `json:"dst"`
	Type string   `json:"type,omitempty"`
	Info fileInfo `json:"file_info"`
}

type fileInfo struct {
	Mode  int       `json:"mode,omitempty"`
	MTime time.Time `json:"mtime"`
}

// nfpmConfig is what nfpm reads: https://nfpm.goreleaser.com/docs/configuration.
func (s stage) nfpmConfig(k kind) (map[string]any, error) {
	files, err := s.installed(k)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"name": s.of.name, "arch": s.archive.Arch, "platform": s.archive.OS, "version": k.version(s.archive.Version), "version_schema": "semver",
		"section": "admin", "priority": "optional", "maintainer": maintainer, "description": s.of.description, "license": "Apache-2.0",
		"recommends": s.of.recommends, "mtime": s.at, "contents": files, "disable_globbing": true,
		"scripts": map[string]string{"postinstall": "postinst", "preremove": "prerm", "postremove": "postrm"},
		"deb":     map[string]any{"compression": "none"}, // and by xz-utils afterwards
		"rpm":     map[string]any{"compression": "xz", "buildhost": "localhost", "group": "System Environment/Daemons", "summary": firstLine(s.of.description)},
	}, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// installed lists where each file goes.
func (s stage) installed(k kind) ([]content, error) {
	if s.of.name == hubName {
		return s.withTexts(k, s.hubFiles()), nil
	}
	c := s.place
	files := []content{{Src: "../lib/custos/custos", Dst: "/usr/bin/custos", Type: "symlink", Info: fileInfo{MTime: s.at}}}
	for _, p := range release.Programs() {
		files = append(files, c(p, "/usr/lib/custos/"+p))
	}
	files = append(s.withTexts(k, files), c("custos.service", "/usr/lib/systemd/user/custos.service"),
		c("completions/custos.bash", "/usr/share/bash-completion/completions/custos"), c("completions/_custos", k.zsh+"/_custos"),
		c("completions/custos.fish", "/usr/share/fish/vendor_completions.d/custos.fish"),
		c("custos.toml", "/usr/share/doc/custos/examples/custos.toml"))
	return s.withFolders(files)
}

// hubFiles are those of a node of a hub.
func (s stage) hubFiles() []content {
	return []content{s.place(hubName, "/usr/bin/"+hubName), s.place(hubUnitName, "/usr/lib/systemd/system/"+hubUnitName), s.place(hubPageName+".gz", "/usr/share/man/man8/"+hubPageName+".gz")}
}

// withTexts adds licences, and what a kind of package wants besides.
func (s stage) withTexts(k kind, files []content) []content {
	c, doc := s.place, "/usr/share/doc/"+s.of.name+"/"
	files = append(files, c("NOTICE.gz", doc+"NOTICE.gz"))
	if k.name != "deb" {
		return append(files, c("LICENSE", "/usr/share/licenses/"+s.of.name+"/LICENSE"))
	}
	return append(files, c("copyright", doc+"copyright"), c("changelog.gz", doc+"changelog.gz"), c("lintian-overrides", "/usr/share/lintian/overrides/"+s.of.name))
}

// withFolders adds the man pages and the documentation.
func (s stage) withFolders(files []content) ([]content, error) {
	for _, f := range []struct{ from, suffix, to string }{
		{"man/man1", ".gz", "/usr/share/man/man1/"}, {"docs", ".md", "/usr/share/doc/custos/"}, {"docs/runbooks", ".md", "/usr/share/doc/custos/runbooks/"},
	} {
		names, err := s.below(f.from)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if strings.HasSuffix(name, f.suffix) {
				files = append(files, s.place(name, f.to+filepath.Base(name)))
			}
		}
	}
	return files, nil
}

func (s stage) place(name, to string) content {
	return content{Src: name, Dst: to, Info: fileInfo{Mode: int(s.modeOf(name)), MTime: s.at}}
}
