package vaults

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"custos/internal/fleet"
	"custos/internal/sys/files"
)

// What of an item is read, and kept.
const (
	mostBytes   = 64 << 10
	longest     = 200 // runes of a title
	mostSecrets = 200
)

// tooLarge is why no digest is taken of a file.
const tooLarge = "it is larger than 64 KiB"

// kept is what is kept of a file: what it is called, names of secrets, and a digest of all
// of it; "" where it is too large.
type kept struct {
	at      files.Info
	title   string
	secrets []string
	digest  string
}

// gist is what is kept of a text.
type gist func(text []byte) (title string, secrets []string)

// read returns what is kept of a file, and reads it where it has changed since.
func (l *look) read(path string, info files.Info, of gist, open func() (*os.File, files.Info, error)) (kept, error) {
	if k, read := l.before[path]; read && k.at == info {
		l.known[path] = k
		return k, nil
	}
	f, now, err := open()
	if err != nil {
		return kept{}, err
	}
	defer f.Close()
	text, err := files.Head(f, mostBytes+1)
	if err != nil {
		return kept{}, err
	}
	if now != info {
		return kept{}, errors.New("it is being written to")
	}
	k := kept{at: info}
	if len(text) <= mostBytes {
		sum := sha256.Sum256(text)
		k.digest = hex.EncodeToString(sum[:])
	}
	title, secrets := of(text)
	k.title, k.secrets = titled(title), named(secrets)
	l.known[path] = k
	return k, nil
}

// titled is a title as it may be shown.
func titled(said string) string { return fleet.Line(fleet.Redact(fleet.Text(said)), longest) }

// gistOf is how items of an ending are read.
func gistOf(ending string) gist {
	switch ending {
	case ".toml":
		return func(text []byte) (string, []string) { return ofTable(text, toml.Unmarshal) }
	case ".json":
		return func(text []byte) (string, []string) { return ofTable(text, json.Unmarshal) }
	}
	return ofPage
}

// ofTable reads an action: what it is called, or its formula and why, or its type and who
// asks. What it is to be done with is not looked at.
func ofTable(text []byte, unmarshal func([]byte, any) error) (title string, secrets []string) {
	var all map[string]any
	if unmarshal(text, &all) != nil {
		return "", nil
	}
	word := func(key string) string { s, _ := all[key].(string); return s }
	for _, of := range [][3]string{{"title", "", ""}, {"formula", ": ", "context"}, {"type", " from ", "source"}} {
		if title = word(of[0]); title != "" && word(of[2]) != "" {
			title += of[1] + word(of[2])
		}
		if title != "" {
			break
		}
	}
	list, _ := all["secrets"].([]any)
	for _, s := range list {
		if name, ok := s.(string); ok {
			secrets = append(secrets, name)
		}
	}
	return title, secrets
}

// ofPage reads a request: its first heading, and the secrets that a person is to give for
// it ("- env: NAME, NAME").
func ofPage(text []byte) (title string, secrets []string) {
	for line := range strings.Lines(string(text)) {
		if head, is := strings.CutPrefix(line, "# "); is && title == "" {
			title = strings.TrimSpace(head)
		}
		if env, is := strings.CutPrefix(strings.TrimLeft(line, " \t"), "- env:"); is {
			secrets = append(secrets, strings.FieldsFunc(env, func(r rune) bool { return strings.ContainsRune(", `\t\r\n", r) })...)
		}
	}
	return title, secrets
}

// ofList reads names of secrets, one a line. What stands behind a name is not looked at.
func ofList(text []byte) (_ string, names []string) {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "export ")
		if end := strings.IndexAny(line, "=:# \t"); end >= 0 {
			line = line[:end]
		}
		names = append(names, line)
	}
	return "", names
}

var secretName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,79}$`)

// named are those that are names of secrets, each once. Anything else may be a value.
func named(names []string) (out []string) {
	for _, n := range names {
		if secretName.MatchString(n) && fleet.Redact(n) == n && !slices.Contains(out, n) && len(out) < mostSecrets {
			out = append(out, n)
		}
	}
	return out
}
