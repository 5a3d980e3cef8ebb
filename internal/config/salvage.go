package config

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"custos/internal/brokentoml"
)

// folderKeys are the keys that say where a Custos lives.
var folderKeys = []string{"state_dir", "runtime_dir", "journal_dir"}

// Salvage is for what must work with a file that Load refuses: the folders as the
// file still says them, and the default of everything else. It fails where the
// folders is not known: another Custos than the one that is meant must not be
// stopped.
func Salvage(o Options) (Config, error) {
	o = o.filled()
	c, err := defaults(o)
	if err != nil {
		return Config{}, err
	}
	text, err := o.ReadFile(c.File)
	switch {
	case err != nil && o.File == "" && !errors.Is(err, fs.ErrNotExist):
		return c, nil // the default file, and the default folders
	case err != nil:
		return Config{}, &Mistake{fmt.Errorf("cannot read the configuration: %w", err)}
	}
	c.Found = true
	p := &problems{file: c.File}
	said := foldersOf(text, p)
	for _, s := range c.settings() {
		if v, ok := said[s.key]; ok && slices.Contains(folderKeys, s.key) {
			if err := s.set(v); err != nil {
				p.add(0, "%s: %s", s.key, err)
			}
		}
	}
	return c, p.err()
}

// topTable is where the top of a file ends.
var topTable = regexp.MustCompile(`(?m)^\s*\[`)

// foldersOf finds the keys of folders at the top of a file: in one that is no TOML,
// each in its line.
func foldersOf(text []byte, p *problems) map[string]any {
	var all map[string]any
	if toml.Unmarshal(text, &all) == nil {
		return all
	}
	said := map[string]any{}
	top := string(text)
	if at := topTable.FindStringIndex(top); at != nil {
		top = top[:at[0]]
	}
	for n, line := range strings.Split(top, "\n") {
		key, _, _ := strings.Cut(line, "=")
		if key = strings.Trim(strings.TrimSpace(key), `"'`); !slices.Contains(folderKeys, key) {
			continue
		}
		var one map[string]any
		if err := toml.Unmarshal([]byte(line), &one); err != nil {
			p.add(n+1, "%s", brokentoml.Plain(err))
			continue
		}
		said[key] = one[key]
	}
	return said
}
