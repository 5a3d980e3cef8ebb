package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// ParseWith is Parse over kinds that files change and add to first. A file is named NAME.toml
// and holds the keys of that kind, as the built-in ones do. One that is wrong is set aside
// whole, and why is among the errors: the kind stays as it was without it.
func ParseWith(files []Source, overlays ...Source) (set *Kinds, aside []error, err error) {
	kinds, err := builtins()
	if err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		name := strings.TrimSuffix(path.Base(f.Name), ".toml")
		k, wrong := fromFile(f, name, kinds)
		if wrong != nil {
			aside = append(aside, wrong)
			continue
		}
		kinds[name] = k
	}
	set, err = overlaid(kinds, overlays)
	return set, aside, err
}

// fromFile reads a kind's file over the built-in kind, which is read anew: lists that were
// decoded into before an error was met are nobody's.
func fromFile(f Source, name string, kinds map[string]Kind) (Kind, error) {
	if len(bytes.TrimSpace(f.Text)) == 0 {
		return Kind{}, fmt.Errorf("cannot read %s: it is empty: write what the kind is, like names = [%q], or remove it", f.Name, name)
	}
	k, err := builtinKind(name)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err != nil && !isNew {
		return Kind{}, err
	}
	if err := decode(f, &k); err != nil {
		return Kind{}, err
	}
	k, err = k.finished(name)
	if err == nil && isNew && !k.canBeMet() {
		err = noKind(name, kinds)
	}
	if err != nil {
		return Kind{}, fmt.Errorf("cannot read %s:%d: %w", f.Name, lineIn(f.Text, name, err), err)
	}
	k.From = append(k.From, f.Name)
	return k, nil
}

var quotedText = regexp.MustCompile(`"[^"]+"`)

// lineIn finds what is wrong in a kind's file: the first text of the file that the error
// quotes, else the first key that it names, else the top.
func lineIn(text []byte, name string, err error) int {
	line := func(at int) int { return 1 + bytes.Count(text[:at], []byte("\n")) }
	for _, q := range quotedText.FindAllString(err.Error(), -1) {
		if at := bytes.Index(text, []byte(q)); at >= 0 && q != `"`+name+`"` {
			return line(at)
		}
	}
	for _, key := range anyKey.FindAllString(err.Error(), -1) {
		if in := regexp.MustCompile(`(?m)^[\s\[]*` + key + `\b`).FindIndex(text); in != nil {
			return line(in[1])
		}
	}
	return 1
}
