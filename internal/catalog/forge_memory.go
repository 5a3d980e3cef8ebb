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
		errs = append(errs, replaceFile(w.answersFile(project), text))
	}
	return errors.Join(errs...)
}

// replaceFile writes a file whole, for our user alone.
func replaceFile(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}
