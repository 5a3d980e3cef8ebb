package config

import (
	"fmt"
	"path/filepath"
	"strings"
)

// checkFolders refuses a folder of Custos' own that is also another's: a home, the root, a
// folder that all programs share, or the one of custos.toml. What Custos makes there would
// lie among what it did not make, under names that another program may use.
func (c *Config) checkFolders(p *problems) {
	for _, f := range []struct{ key, dir, name string }{{"state_dir", c.StateDir, "custos"}, {"runtime_dir", c.RuntimeDir, "custos-run"}} {
		if _, set := c.all[f.key]; !set {
			continue
		}
		if why := c.shared(f.dir); why != "" {
			p.add(c.lines[f.key], "%s: %s is %s: name a folder that only Custos uses, like %s", f.key, f.dir, why, filepath.Join(f.dir, f.name))
		}
	}
}

// shared says whose else a folder is; "" where nothing speaks against it.
func (c *Config) shared(dir string) string {
	dir = filepath.Clean(dir)
	switch {
	case dir == "/":
		return "the root of all folders"
	case dir == filepath.Clean(c.Home):
		return "the home of its user"
	case strings.HasPrefix(c.Home, dir+"/"):
		return fmt.Sprintf("a folder that the home %s is in", c.Home)
	case c.Found && dir == c.fileDir():
		return "the folder of custos.toml"
	case dir == c.session:
		return "XDG_RUNTIME_DIR, which all programs of its user share"
	}
	for _, all := range []string{"/tmp", "/var/tmp", "/dev/shm", "/run", "/var", "/etc", "/usr", "/dev"} {
		if dir == all {
			return "a folder that all programs share"
		}
	}
	return ""
}

// fileDir is the folder of custos.toml; "" where that is not known.
func (c *Config) fileDir() string {
	file, err := filepath.Abs(c.File)
	if err != nil {
		return ""
	}
	return filepath.Dir(file)
}
