package daemon

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"custos/internal/catalog"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/report/terminal"
	"custos/internal/sys/files"
)

// tell writes down what people are to be told.
func (b ledgerPort) tell(ctx context.Context, m fleet.Message) error {
	st, err := b.l.writer(ctx)
	if err != nil {
		return err
	}
	return st.Commit(ctx, fleet.Changes{Messages: []fleet.Message{m}}.Plan(b.now()).Turn())
}

// receivers names the notifiers that a message reaches. The terminal of the daemon is
// none: nobody need look at it.
func (s *system) receivers(m fleet.Message) []string {
	return slices.DeleteFunc(s.report.Reaches(m), func(name string) bool { return name == terminal.Notifier{}.Name() })
}

// postPort tries the notifiers.
type postPort struct{ *system }

// Standing leaves out the terminal of the daemon, as receivers does.
func (p postPort) Standing() []fleet.Receiver {
	return slices.DeleteFunc(p.report.Receivers(), func(r fleet.Receiver) bool { return r.Name == terminal.Notifier{}.Name() })
}

func (p postPort) Try(ctx context.Context, to string, m fleet.Message) error {
	return p.report.Try(ctx, to, m)
}

func (p postPort) Note(ctx context.Context, e fleet.Event) error {
	st, err := p.ledger.writer(ctx)
	if err != nil {
		return err
	}
	return st.Record(ctx, e)
}

// matrixSend is what formulas of Disinto call to tell people: matrix_send PREFIX
// TEXT [THREAD] [CONTEXT]. As that does, it goes well where nobody is configured to be
// told, or what is to be sent waits for a daemon: those are the codes 1 and 4 of custos tell.
const matrixSend = `#!/bin/sh
# Written by custos for the formulas it runs.
prefix=${1:-formula} text=${2:-}
%s tell --from "$prefix" -- "$text"
case $? in 0|1|4) ;; *) exit 1 ;; esac
`

// townTools are what formulas of Gas Town call: what Custos has, and a clear word about
// what it has not.
//
//go:embed tools
var townTools embed.FS

// townTool is gt or bd, for a Custos that is reached by some quoted words.
func townTool(name, custos string) (string, error) {
	head, err := townTools.ReadFile("tools/head.sh")
	if err != nil {
		return "", err
	}
	body, err := townTools.ReadFile("tools/" + name + ".sh")
	return strings.Replace(string(head), "CUSTOS", custos, 1) + string(body), err
}

// makeTools makes them. Formulas that do without are none the worse.
func (s *system) makeTools() {
	custos, err := os.Executable()
	if err == nil {
		words := []string{custos}
		if s.cfg.Found {
			words = append(words, "--config", s.cfg.File)
		}
		err = makeTools(catalog.ToolsOf(s.cfg), words)
	}
	if err != nil {
		s.o.Log.Warn("Formulas cannot use matrix_send, gt and bd", "err", err)
	}
}

// makeTools puts what formulas expect to find in their PATH into a folder of the
// state folder. custos is the command line that reaches this very Custos.
func makeTools(dir string, custos []string) error {
	quoted := make([]string, len(custos))
	for i, word := range custos {
		quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	words := strings.Join(quoted, " ")
	texts := map[string]string{control.ToolSend: fmt.Sprintf(matrixSend, words)}
	for _, name := range []string{"bd", "gt"} {
		text, err := townTool(name, words)
		if err != nil {
			return fmt.Errorf("cannot make the tools of formulas: %w", err)
		}
		texts[filepath.Join(fleet.TownTools, name)] = text
	}
	for name, text := range texts {
		if err := makeTool(dir, name, text); err != nil {
			return err
		}
	}
	return dropTools(dir, texts)
}

// dropTools removes what an older Custos made there, and this one does not. What
// somebody else put there is left alone.
func dropTools(dir string, made map[string]string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("cannot list the tools of formulas: %w", err)
	}
	for _, e := range entries {
		if _, is := made[e.Name()]; is || !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		text, err := files.Read(path, longestOwn)
		if err == nil && strings.HasPrefix(string(text), "#!/bin/sh\n"+catalog.ToolMark) {
			err = os.Remove(path)
		}
		if err != nil {
			return fmt.Errorf("cannot remove a tool of an older Custos: %w", err)
		}
	}
	return nil
}

// makeTool writes one of them, unless it is there.
func makeTool(dir, name, text string) error {
	path := filepath.Join(dir, name)
	if old, err := files.Read(path, longestOwn); err == nil && string(old) == text {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("cannot make the tools of formulas: %w", err)
	}
	if err := files.Replace(path, []byte(text), 0o700); err != nil {
		return fmt.Errorf("cannot make the tools of formulas: %w", err)
	}
	return nil
}
