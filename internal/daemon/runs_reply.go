package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// replyToRun writes a person's reply where the run looks for it: whole, for our user
// alone, and never over one that lies there.
func replyToRun(_ context.Context, run fleet.Run, text string) error {
	spool := run.ReplyFiles()
	if spool == nil {
		return fmt.Errorf("cannot reply to run %s: %w: it was begun by a Custos that kept no replies", run.ID, ledger.ErrIllegal)
	}
	dir := filepath.Dir(spool[0])
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot make the folder of replies: %w", err)
	}
	f, err := os.CreateTemp(dir, ".reply-*")
	if err != nil {
		return fmt.Errorf("cannot write the reply: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Link(f.Name(), spool[0])
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("a reply is %w: %s has not been taken yet", ledger.ErrTaken, fleet.Path(spool[0]))
	}
	if err != nil {
		return fmt.Errorf("cannot write the reply: %w", err)
	}
	return nil
}
