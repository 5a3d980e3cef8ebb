package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"custos/internal/catalog"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/store"
	"custos/internal/sys/files"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"
)

// What the event log says of a folder of an instance: that it is about to go, and that
// it went.
const (
	folderGoing = "folder.removing"
	folderGone  = "folder.removed"
)

// tidied drops what was kept for long enough: records, and the folders of instances.
func (s *system) tidied(ctx context.Context) error {
	return errors.Join(s.ledger.trim(s.world.Now)(ctx), s.clearFolders(ctx))
}

// clearFolders removes the folders of instances that nobody needs any more.
func (s *system) clearFolders(ctx context.Context) error {
	err := s.clearAside() // what a crash left of it
	all, lost := shim.List(s.world.Own.Shims)
	err = errors.Join(err, lost)
	for _, r := range all {
		if ctx.Err() == nil && Frozen(s.cfg) == "" && s.whyKept(ctx, r) == "" {
			err = errors.Join(err, s.clearFolder(ctx, r.Dir))
		}
	}
	return err
}

// clearFolder removes one folder, if it may still go. It is moved aside whole first: a
// folder of which half is gone would tell of an instance whose end nobody knows.
func (s *system) clearFolder(ctx context.Context, dir string) error {
	st, err := s.ledger.writer(ctx)
	if err != nil {
		return err
	}
	name := filepath.Base(dir)
	say := func(kind string) error {
		return st.Record(ctx, fleet.Event{At: s.world.Now(), Kind: kind, Subject: fleet.Subject{Kind: fleet.KindSelf}, Text: "folder of instance " + name})
	}
	if err := say(folderGoing); err != nil {
		return err
	}
	if r := shim.ReadRecord(dir); s.whyKept(ctx, r) != "" {
		return nil
	}
	if err := errors.Join(os.MkdirAll(s.aside(), 0o700), os.Rename(dir, filepath.Join(s.aside(), name))); err != nil {
		return err
	}
	return errors.Join(s.clearAside(), say(folderGone))
}

// clearAside removes what was moved aside, by name: a person may have a folder of that name
// where they have the run folder be, and an agent may have put something into its own.
func (s *system) clearAside() error {
	r := files.Remover{Do: true}
	return r.Root(s.aside(), false, catalog.InstancesMade())
}

// aside is where a folder lies while it is removed.
func (s *system) aside() string { return filepath.Join(s.cfg.RuntimeDir, "removed") }

// whyKept says what a folder is kept for; "" when it may go.
func (s *system) whyKept(ctx context.Context, r shim.Record) string {
	past, err := s.recall(ctx)
	st := s.ledger.opened()
	if err != nil || st == nil {
		return "what was before cannot be read"
	}
	return ledger.WhyKept(past, s.world.Now(), store.KeepRecords, instanceFolder(st, r))
}

// instanceFolder is what a folder tells of its instance.
func instanceFolder(st *store.Store, r shim.Record) ledger.InstanceFolder {
	f := ledger.InstanceFolder{Agent: r.Started.Name, Instance: filepath.Base(r.Dir), Lives: true}
	mark, err := files.Read(filepath.Join(r.Dir, store.AgentMark), longestOwn)
	f.Ours = err == nil && st.IsOwnMark(string(mark))
	if r.Err != nil || r.Exit == nil {
		return f
	}
	f.Ended = fleet.Instant{Wall: r.Exit.At.Wall, Up: fleet.Duration(r.Exit.At.Up), Boot: r.Exit.At.Boot}
	f.Lives = !ended(r.Started.Shim) || !ended(r.Started.Agent)
	for _, l := range r.Left {
		f.Lives = f.Lives || !ended(l.ID)
	}
	return f
}

func ended(p shim.ID) bool { return proc.Ended(p.PID, p.Start) }
