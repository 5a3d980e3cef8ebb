package catalog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"custos/internal/sys/files"
)

// mostRemembered is how much is read of what was remembered of one forge project.
const mostRemembered = 64 << 20

func (w *World) answersFile(project string) string {
	return filepath.Join(w.Config.StateDir, "forge", project+".json")
}

// remembered reads what the forge of a project answered to a former process.
func (w *World) remembered(project string) ([]byte, error) {
	text, _, err := files.ReadOwn(w.answersFile(project), mostRemembered)
	return []byte(text), err
}

// KeepAnswers writes down what forges answered, for the next process. Only the one
// writer may.
func (w *World) KeepAnswers() error {
	if w.Forge == nil {
		return nil
	}
	all, err := w.Forge.Answers()
	if err != nil || len(all) == 0 {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(w.answersFile("")), 0o700); err != nil {
		return fmt.Errorf("cannot write down what forges answered: %w", err)
	}
	var errs []error
	for project, text := range all {
		if err := files.Replace(w.answersFile(project), text, 0o600); err != nil {
			errs = append(errs, fmt.Errorf("cannot write down what the forge of %s answered: %w", project, err))
		}
	}
	return errors.Join(errs...)
}
