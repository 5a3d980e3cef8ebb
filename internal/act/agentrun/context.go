package agentrun

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"custos/internal/act"
	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/sys/files"
)

// mostContext is how much standing instructions a role may have, in bytes, all files together: more is no
// instruction, and an argument of Linux has room for twice as much.
const mostContext = 64 << 10

// ContextFile is the name of the file with them in the folder of an instance, with which it is removed.
const ContextFile = "context.md"

// ReadContext reads the files of standing instructions (shown paths), one after the other. An error says which
// cannot be used, and why.
func ReadContext(paths []string) (string, error) {
	var parts []string
	left := int64(mostContext)
	for _, path := range paths {
		text, err := files.ReadOthers(fleet.RawPath(path), mostContext)
		if at, is := errors.AsType[*fs.PathError](err); is { // which says the path again
			err = at.Err
		}
		switch {
		case err != nil:
			return "", fmt.Errorf("cannot read the context %s: %w", path, err)
		case int64(len(text)) > left:
			return "", fmt.Errorf("its context has more than %d KiB: %s is too much", mostContext>>10, path)
		case !utf8.Valid(text) || strings.ContainsRune(string(text), 0):
			return "", fmt.Errorf("cannot use the context %s: it is no text", path)
		}
		left -= int64(len(text))
		parts = append(parts, strings.TrimSpace(string(text)))
	}
	return strings.TrimSpace(strings.Join(parts, "\n\n")), nil
}

// context adds the standing instructions of its role to a start, as they stand in their files now. Whoever has
// none is started as ever.
func (l *Launcher) context(r fleet.Registration, how How, o *agent.LaunchOptions, folder string) (err error) {
	if l.o.Context == nil || len(l.o.Context(r.Role)) == 0 {
		return nil
	}
	o.Context, o.ContextFile = "<standing instructions of role "+fleet.Line(r.Role, 40)+">", filepath.Join(folder, ContextFile)
	if how.Planned {
		return nil
	}
	if o.Context, err = ReadContext(l.o.Context(r.Role)); err != nil {
		return Never("%w", err)
	}
	return nil
}

// keep writes them into a file of the start, where its command line names one.
func (b *Begin) keep(o agent.LaunchOptions) {
	for _, arg := range b.Command.Argv {
		if o.Context != "" && strings.Contains(arg, o.ContextFile) {
			b.Files = maps.Clone(b.Files)
			if b.Files == nil {
				b.Files = map[string][]byte{}
			}
			b.Files[o.ContextFile], b.context = []byte(o.Context+"\n"), o.ContextFile
		}
	}
}

// unkeep removes that file, and the folder where nothing else is in it, after a start of which nothing runs.
func (b *Begin) unkeep(err error) error {
	if b.context == "" || err == nil || errors.Is(err, act.ErrInDoubt) {
		return err
	}
	if gone := os.Remove(b.context); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		return errors.Join(err, gone)
	}
	_ = os.Remove(filepath.Dir(b.context)) // not empty: it tells of the start
	return err
}
