package main

import (
	_ "embed"
	"path/filepath"
	"strings"
	"time"

	"custos/internal/release"
)

// What package managers run and read besides.
var (
	//go:embed packaging/prerm
	preRemove string
	//go:embed packaging/postinst
	postInstall string
	//go:embed packaging/postrm
	postRemove string
	//go:embed packaging/copyright
	copyright string
	//go:embed packaging/lintian-overrides
	overrides string
)

const maintainer = "The Custos developers <custos@custos.invalid>"

const description = `Init system and on-call engineer for fleets of AI coding agents
Custos watches what such a fleet stands on (the host, tmux, agent
processes, git worktrees, locks, logs), starts and keeps agents, grades
what is wrong from P0 to P4, mends what can be mended safely, and writes
down what it saw and did.

Installing it starts nothing, and removing it ends no agent.`

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
func (k kind) file(a release.Archive) string {
	return "custos" + k.separator + a.Version + k.separator + k.arch[a.Arch] + "." + k.name
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
		"name": "custos", "arch": s.archive.Arch, "platform": s.archive.OS, "version": k.version(s.archive.Version), "version_schema": "semver",
		"section": "admin", "priority": "optional", "maintainer": maintainer, "description": description, "license": "Apache-2.0",
		"recommends": []string{"tmux", "git"}, "mtime": s.at, "contents": files, "disable_globbing": true,
		"scripts": map[string]string{"postinstall": "postinst", "preremove": "prerm", "postremove": "postrm"},
		"deb":     map[string]any{"compression": "none"}, // and by xz-utils afterwards
		"rpm":     map[string]any{"compression": "xz", "buildhost": "localhost", "group": "System Environment/Daemons", "summary": firstLine(description)},
	}, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// installed lists where each file goes.
func (s stage) installed(k kind) ([]content, error) {
	c := s.place
	files := []content{{Src: "../lib/custos/custos", Dst: "/usr/bin/custos", Type: "symlink", Info: fileInfo{MTime: s.at}}}
	for _, p := range release.Programs() {
		files = append(files, c(p, "/usr/lib/custos/"+p))
	}
	files = append(files, c("custos.service", "/usr/lib/systemd/user/custos.service"),
		c("completions/custos.bash", "/usr/share/bash-completion/completions/custos"), c("completions/_custos", k.zsh+"/_custos"),
		c("completions/custos.fish", "/usr/share/fish/vendor_completions.d/custos.fish"),
		c("NOTICE.gz", "/usr/share/doc/custos/NOTICE.gz"), c("custos.toml", "/usr/share/doc/custos/examples/custos.toml"))
	if k.name == "deb" {
		files = append(files, c("copyright", "/usr/share/doc/custos/copyright"), c("changelog.gz", "/usr/share/doc/custos/changelog.gz"),
			c("lintian-overrides", "/usr/share/lintian/overrides/custos"))
	} else {
		files = append(files, c("LICENSE", "/usr/share/licenses/custos/LICENSE"))
	}
	return s.withFolders(files)
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
	return content{Src: name, Dst: to, Info: fileInfo{Mode: int(modeOf(name)), MTime: s.at}}
}
