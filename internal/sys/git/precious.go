package git

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// preciousNames are patterns (in lower case) of file names that hold what no
// build brings back: secrets, settings of this machine, databases, editors'
// unsaved text.
var preciousNames = [...]string{
	".env", ".env.*", "*.env", ".envrc", ".dev.vars", "*.local", "*.local.*", "local.settings.json",
	"*.db", "*.db3", "*.sqlite", "*.sqlite3", "*.sqlite-*", "*.db-wal", "*.db-shm", "*.mdb", "*.kdbx", "*.duckdb",
	"*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.asc", "*.gpg", "*.age", "id_*",
	"credentials*", "secrets*", "*secret.*", "*.tfstate", "*.tfstate.*", "*.tfvars", "service-account*",
	".npmrc", ".netrc", ".pypirc", ".htpasswd", "*.swp", "*.swo", "*.orig", "*.rej", "*.patch", "*.bak", "*.dump", "*.sql",
}

// LooksPrecious says whether a file of this base name is known to be of the
// kind that no build brings back.
func LooksPrecious(base string) bool {
	base = strings.ToLower(base)
	if base == ".env.example" || base == ".env.sample" || base == ".env.template" {
		return false
	}
	for _, p := range preciousNames {
		if ok, _ := path.Match(p, base); ok {
			return true
		}
	}
	return false
}

// packageFolders hold installed packages: reproducible by their name alone.
// Packages ship test keys and certificates of their own, so a precious looking
// name counts only near the top, where a person would put it.
var packageFolders = set("node_modules", "bower_components", ".venv", "venv", ".tox", ".nox", "site-packages", "elm-stuff")

// outputFolders are written by tools: reproducible by their name alone.
var outputFolders = set("__pycache__", ".next", ".nuxt", ".svelte-kit", ".turbo", ".parcel-cache", ".angular", ".gradle",
	".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".nyc_output", ".eggs", ".zig-cache", "zig-cache",
	"zig-out", ".dart_tool", ".stack-work", "dist-newstyle", ".ipynb_checkpoints", ".docusaurus", ".vite", ".swc")

// builtFolders are output only beside a build file: people also keep their own
// things in a folder named build or target.
var builtFolders = map[string][]string{
	"target":   {"Cargo.toml", "pom.xml", "build.sbt", "project.clj"},
	"dist":     {"package.json", "pyproject.toml", "setup.py", "Makefile", "webpack.config.js", "vite.config.*"},
	"build":    {"package.json", "pyproject.toml", "setup.py", "CMakeLists.txt", "Makefile", "build.gradle*", "meson.build", "pubspec.yaml", "configure"},
	"out":      {"package.json", "CMakeLists.txt", "foundry.toml", "build.gradle*"},
	"vendor":   {"composer.json", "Gemfile", "go.mod"},
	"_build":   {"mix.exs", "dune-project", "rebar.config", "conf.py"},
	"deps":     {"mix.exs"},
	"obj":      {"*.csproj", "*.fsproj", "*.vcxproj", "Makefile"},
	"bin":      {"*.csproj", "*.fsproj"},
	"coverage": {"package.json", "pyproject.toml", "go.mod", "Cargo.toml"},
	"htmlcov":  {"pyproject.toml", "setup.py", "setup.cfg", "tox.ini"},
}

// outputFiles are files that tools write again.
var outputFiles = [...]string{"*.pyc", "*.pyo", "*.o", "*.obj", "*.class", "*.gcda", "*.gcno", "*.tsbuildinfo",
	".ds_store", "thumbs.db", ".eslintcache", ".stylelintcache", "next-env.d.ts"}

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// bulk is one ignored folder of reproducible output.
type bulk struct {
	rel      string // relative to the worktree
	what     string // its base name
	packages bool
}

// sorted is the ignored part of a worktree, parted into what may be thrown away
// and what may not. What is neither known to be reproducible nor known to be
// precious is precious.
type sorted struct {
	bulk     []bulk
	precious []string // files, and folders ending in a slash
}

// sortIgnored parts what git status listed as ignored in the worktree at top.
func sortIgnored(top string, ignored []string) sorted {
	var s sorted
	for _, item := range ignored {
		rel, folder := strings.CutSuffix(item, "/")
		switch {
		case folder && isOutput(top, rel):
			base := path.Base(rel)
			s.bulk = append(s.bulk, bulk{rel: rel, what: base, packages: packageFolders[base]})
		case folder, !isOutputFile(top, rel):
			s.precious = append(s.precious, item)
		}
	}
	return s
}

// isOutput says whether an ignored folder is reproducible: by its name, by its
// name and a build file beside it (or at the worktree's top), or because the
// tool that wrote it marked it by CACHEDIR.TAG (https://bford.info/cachedir/).
func isOutput(top, rel string) bool {
	base := path.Base(rel)
	dir := filepath.Join(top, rel)
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return false
	}
	switch {
	case base == "venv":
		return exists(filepath.Join(dir, "pyvenv.cfg"))
	case packageFolders[base], outputFolders[base], strings.HasSuffix(base, ".egg-info"), strings.HasPrefix(base, "cmake-build-"):
		return true
	case isCacheDir(dir):
		return true
	}
	for _, beside := range builtFolders[base] {
		if anyMatch(filepath.Dir(dir), beside) || anyMatch(top, beside) {
			return true
		}
	}
	return false
}

// isOutputFile judges an ignored file by its own name and by the folders it is
// in; a symbolic link with the name of an output folder is only a link.
func isOutputFile(top, rel string) bool {
	base := path.Base(rel)
	for _, p := range outputFiles {
		if ok, _ := path.Match(p, strings.ToLower(base)); ok {
			return true
		}
	}
	if LooksPrecious(base) {
		return false
	}
	if info, err := os.Lstat(filepath.Join(top, rel)); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return packageFolders[base] || outputFolders[base] || builtFolders[base] != nil
	}
	for _, dir := range strings.Split(path.Dir(rel), "/") {
		if packageFolders[dir] && dir != "venv" || outputFolders[dir] {
			return true
		}
	}
	return false
}

const cacheTag = "Signature: 8a477f597d28d172789f06886806bc55"

func isCacheDir(dir string) bool {
	s, err := readSmall(filepath.Join(dir, "CACHEDIR.TAG"))
	return err == nil && strings.HasPrefix(s, cacheTag)
}

func exists(p string) bool {
	_, err := os.Lstat(p)
	return err == nil
}

// anyMatch says whether a name in dir matches the pattern; dir itself is taken
// as it is, whatever bytes it holds.
func anyMatch(dir, pattern string) bool {
	if !strings.Contains(pattern, "*") {
		return exists(filepath.Join(dir, pattern))
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if ok, _ := path.Match(pattern, e.Name()); ok {
			return true
		}
	}
	return false
}
