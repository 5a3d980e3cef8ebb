// Package rotatelog is the action "rotate-log": it keeps the last lines of an
// oversized log in place, packs what came before into LOG.custos.gz beside it
// when there is room for that, and lets writers go on as if nothing happened.
//
// How the head is cut off: where the file system can take whole blocks out of
// a file (FALLOC_FL_COLLAPSE_RANGE: ext4, xfs) that is one atomic step, and a
// line that is appended meanwhile cannot be lost. Elsewhere (tmpfs, btrfs,
// overlays of them) the tail is copied to the front and the file truncated;
// what a writer appends in the microseconds between the last look at the end
// and the truncation is lost, as with every copy-truncate. A writer that did
// not open its log for appending leaves a hole at the front in both cases: the
// space is freed all the same.
package rotatelog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/sys/files"
)

// Do is the name of the action.
const Do = "rotate-log"

// packed are the endings of files that may not be cut: without its head such a
// file is worthless.
var packed = []string{".gz", ".xz", ".zst", ".bz2", ".lz4", ".zip", ".tar", ".db", ".sqlite"}

// Options is the section [rotate_log] of custos.toml.
type Options struct {
	// Limit is the size up to which there is nothing to do. Which log is too
	// large is for a rule to say; this is the floor. Default "2MiB".
	Limit string `toml:"limit" is:"size"`
	// Keep is how much of the end stays in the log, at most half of Limit.
	// Default "1MiB".
	Keep string `toml:"keep" is:"size"`
	// Archives is how many older archives stay beside the newest, LOG.custos.gz:
	// LOG.custos.1.gz (the one before it) up to this number, from 1 to 20. What is
	// older is removed when a rotation is through, and its result says so. Default 3.
	Archives int `toml:"archives" is:"0..20"`

	// Room says how many bytes are free beside a path; default: of the file
	// system, to an ordinary user.
	Room func(path string) (int64, error) `toml:"-"`
	// NoCollapse cuts by copying even where blocks could be taken out.
	NoCollapse bool `toml:"-"`
}

// Action implements act.Action.
type Action struct {
	o           Options
	limit, keep int64
	archives    int
}

// New checks the options.
func New(o Options) (*Action, error) {
	x := &Action{o: o, limit: 2 << 20, keep: 1 << 20, archives: 3}
	if o.Archives != 0 {
		x.archives = o.Archives
	}
	var limit, keep error
	if o.Limit != "" {
		x.limit, limit = parseBytes(o.Limit)
	}
	if o.Keep != "" {
		x.keep, keep = parseBytes(o.Keep)
	}
	err := errors.Join(limit, keep)
	if err == nil && x.keep > x.limit/2 {
		err = fmt.Errorf("keep = %q is more than half of the limit", o.Keep)
	}
	if err == nil && (x.archives < 1 || x.archives > 20) {
		err = fmt.Errorf("archives = %d: want a number from 1 to 20", o.Archives)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot set up rotate-log: %w", err)
	}
	if x.o.Room == nil {
		x.o.Room = files.Room
	}
	return x, nil
}

// Ability implements act.Action. Taken up again after a crash it goes on where
// it was, by the cut written down in the archive.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{
		Do: Do, Idempotent: true, Deadline: fleet.Duration(5 * time.Minute),
		Touches: []fleet.PartName{fleet.PartLogs, fleet.PartHost},
	}
}

// Commands implements act.Action.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	if a.Target.Log == nil {
		return nil
	}
	path := a.Target.Log.Path
	keep := fmt.Sprint(x.keep)
	packing := fleet.Path(packingName(fleet.RawPath(path)))
	cmds := []fleet.Command{{Argv: []string{"sh", "-c", `head -c -"$1" "$2" | gzip > "$3"`, "sh", keep, path, packing},
		Note: "only when there is room for it; else no archive is made, the head is dropped and its lines are gone"}}
	for n := x.archives; n >= 0; n-- {
		cmds = append(cmds, fleet.Command{Argv: []string{"mv", "-n", olderName(path, n), olderName(path, n+1)},
			Note: "older archives move aside, up to the first free number"})
	}
	return append(cmds,
		fleet.Command{Argv: []string{"mv", packing, archiveName(path)}},
		fleet.Command{Argv: []string{"fallocate", "--collapse-range", "--offset", "0", "--length", "HEAD", path},
			Note: "in one step, up to a whole line; where the file system cannot, the tail is copied to the front and the rest truncated"},
		fleet.Command{Argv: []string{"rm", olderName(path, x.archives+1)},
			Note: fmt.Sprintf("the oldest archive, when there are more than %d beside the newest; the result says so", x.archives)})
}

func archiveName(path string) string { return path + ".custos.gz" }

// Prepare implements act.Action.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	log := a.Target.Log
	if log == nil {
		return nil, errors.New("cannot rotate: the target is no log")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("cannot look at the log: %w", err)
	}
	path := fleet.RawPath(log.Path)
	if !log.Owner.MayTouch() {
		return nil, fmt.Errorf("cannot rotate: the log is not ours: %w", act.ErrRefused)
	}
	if slices.Contains(packed, filepath.Ext(path)) {
		return nil, fmt.Errorf("cannot rotate: a %s file cannot be cut: %w", filepath.Ext(path), act.ErrRefused)
	}
	f, info, err := files.OpenRegular(path, os.O_RDWR)
	if err != nil {
		return nil, openError(err)
	}
	if err := x.check(*log, info); err != nil {
		f.Close()
		return nil, err
	}
	return &run{x: x, id: a.ID, path: path, f: f, before: info}, nil
}

func openError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the log is gone: %w", act.ErrUnneeded)
	case errors.Is(err, files.ErrNotRegular):
		return fmt.Errorf("cannot rotate: it is no regular file: %w", act.ErrRefused)
	}
	return fmt.Errorf("cannot open the log: %w", err)
}

// check holds the open file against what was seen. A log that has grown is
// the same log; one that shrank is rotated by another program.
func (x *Action) check(seen fleet.Log, now files.Info) error {
	switch {
	case !now.Same(files.Identity(seen.File)):
		return fmt.Errorf("cannot rotate: another file has taken the log's place: %w", act.ErrRefused)
	case now.Links > 1:
		return fmt.Errorf("cannot rotate: the log has %d names: %w", now.Links, act.ErrRefused)
	case now.Size <= x.limit:
		return fmt.Errorf("the log has %s, no more than %s: %w", size(now.Size), size(x.limit), act.ErrUnneeded)
	case now.Blocks <= x.limit:
		return fmt.Errorf("the log takes only %s on disk: %w", size(now.Blocks), act.ErrUnneeded)
	case now.Size < seen.File.Size:
		return fmt.Errorf("cannot rotate: the log shrank since it was seen: %w", act.ErrRefused)
	}
	return nil
}
