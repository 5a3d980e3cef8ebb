package daemon

import (
	"context"
	"time"

	"custos/internal/report"
	"custos/internal/sys/git"
)

// keeper is who keeps the journal: the folder, and the ops repository where one is
// configured.
func (s *system) keeper() report.Journal {
	if s.ops != nil {
		return s.ops
	}
	return s.journal
}

// commitJournal commits each entry of the journal to the ops repository, beside the
// cycle, until ctx ends.
func (s *system) commitJournal(ctx context.Context) {
	if s.ops != nil {
		s.ops.Run(ctx, func(err error) { s.o.Log.Warn("Cannot commit the journal", "err", err) })
	}
}

// flushIn is how long a command that ends waits for its entry to be committed.
const flushIn = 15 * time.Second

func (s *system) flushJournal() {
	if s.ops == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushIn)
	defer cancel()
	if err := s.ops.Flush(ctx); err != nil {
		s.o.Log.Warn("Cannot commit the journal", "err", err)
	}
}

// opsNotes says what is wrong with the ops repository, for the status.
func (s *system) opsNotes(notes []string) []string {
	if s.ops == nil || s.ops.Trouble() == "" {
		return notes
	}
	return append(notes, "the journal cannot be committed to its ops repository: "+s.ops.Trouble())
}

// hostStatus is how the host does now, in one line.
func (s *system) hostStatus() string { return report.Status(s.board.Snapshot()) }

// made lists the subjects of the commits that were made in a worktree since a
// moment, newest first; more says that there may be others.
func (s *system) made(ctx context.Context, top string, since time.Time) (subjects []string, more bool, err error) {
	list, more, err := git.New(git.Options{}).CommitsMade(ctx, top, since)
	for _, c := range list {
		subjects = append(subjects, c.Subject)
	}
	return subjects, more, err
}
