package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"custos/internal/catalog"
	"custos/internal/fleet"
)

// tell writes down what people are to be told.
func (b book) tell(ctx context.Context, m fleet.Message) error {
	st, err := b.l.writer(ctx)
	if err != nil {
		return err
	}
	return st.Commit(ctx, fleet.Turn{At: b.now(), Outbox: []fleet.Message{m}})
}

const toolSend = "matrix_send"

// matrixSend is what formulas of Disinto call to tell people: matrix_send PREFIX
// TEXT [THREAD] [CONTEXT].
const matrixSend = `#!/bin/sh
# Written by custos for the formulas it runs.
prefix=${1:-formula} text=${2:-}
exec %s tell --from "$prefix" -- "$text"
`

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
		s.o.Log.Warn("Formulas cannot use matrix_send", "err", err)
	}
}

// makeTools puts what formulas expect to find in their PATH into a folder of the
// state folder. custos is the command line that reaches this very Custos.
func makeTools(dir string, custos []string) error {
	quoted := make([]string, len(custos))
	for i, word := range custos {
		quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	text := fmt.Sprintf(matrixSend, strings.Join(quoted, " "))
	path := filepath.Join(dir, toolSend)
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot make the tools of formulas: %w", err)
	}
	made, err := os.CreateTemp(dir, "."+toolSend+"-")
	if err != nil {
		return fmt.Errorf("cannot make the tools of formulas: %w", err)
	}
	_, err = made.WriteString(text)
	if chmod := made.Chmod(0o700); err == nil {
		err = chmod
	}
	if shut := made.Close(); err == nil {
		err = shut
	}
	if err == nil {
		err = os.Rename(made.Name(), path)
	}
	if err != nil {
		_ = os.Remove(made.Name())
		return fmt.Errorf("cannot make the tools of formulas: %w", err)
	}
	return nil
}
