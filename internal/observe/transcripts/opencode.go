package transcripts

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"custos/internal/agent/conversation"
	"custos/internal/fleet"
	"custos/internal/sys/files"
	"custos/internal/sys/opencode"
)

// opencodeLanguage is that of records in a database, in which all conversations are: there is
// no file for each.
const opencodeLanguage = "opencode"

// databases are those of opencode that are read.
type databases map[string]*database

// database is one of them.
type database struct {
	reader  *opencode.Reader
	now     version
	known   map[string]*followed // as of that version, by name
	counted version              // whose answers were read
}

// version is what a database and its log were when they were read.
type version struct{ db, log files.Identity }

// of opens a database, or finds it open, and forgets what was read of it when it was written
// to. Nothing is known of one that no opencode has open: nil.
func (all databases) of(path string) (*database, error) {
	db, err := files.Lstat(path)
	log, logErr := files.Lstat(path + "-wal")
	if err = errors.Join(err, logErr); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d := all[path]
	if d == nil || !d.now.db.Same(db.Identity) {
		if d, err = all.open(path, d); err != nil {
			return nil, err
		}
	}
	if now := (version{db.Identity, log.Identity}); d.now != now {
		d.now, d.known = now, map[string]*followed{}
	}
	return d, nil
}

// open opens a database, in the place of one that was there before.
func (all databases) open(path string, before *database) (*database, error) {
	if before != nil {
		_ = before.reader.Close() // it was only read
		delete(all, path)
	}
	reader, err := opencode.Open(path)
	if err != nil {
		return nil, err
	}
	all[path] = &database{reader: reader}
	return all[path], nil
}

// patience is how long a database is waited for: opencode never holds it for long.
const patience = 2 * time.Second

// inDatabase finds the conversation of an agent of opencode; nil where none is known.
func (c *Conversations) inDatabase(w Wanted, all []Wanted) (*followed, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, f := range c.found {
		if f.kind != w.Kind {
			continue
		}
		d, err := c.databases.of(f.path)
		if d == nil || err != nil {
			return nil, err
		}
		if found, err := d.conversation(ctx, f, w, alone(w, all)); found != nil || err != nil {
			return found, atRest(err)
		}
	}
	return nil, nil
}

// conversation is that of an agent: by its name, else the one that was changed last in its
// folder since it began, where it is alone in that. Nil where there is none.
func (d *database) conversation(ctx context.Context, f file, w Wanted, alone bool) (*followed, error) {
	session, err := w.Session, error(nil)
	if session == "" && alone {
		session, err = d.reader.Session(ctx, w.CWD, w.Since.Add(-startSlack))
	}
	if err != nil || session == "" {
		return nil, err
	}
	if known, ok := d.known[session]; ok {
		return known, nil
	}
	lines, whole, err := d.reader.Conversation(ctx, session)
	if err != nil {
		return nil, err
	}
	d.known[session] = nil
	if len(lines) > 0 {
		d.known[session] = &followed{file: f, t: folded(f, lines, whole)}
	}
	return d.known[session], nil
}

// folded is what records amount to. A row of a newer version tells nothing.
func folded(f file, lines [][]byte, whole bool) *conversation.Transcript {
	t := conversation.NewTranscript(f.kind, f.language, f.path, whole)
	for _, line := range lines {
		entries, _ := conversation.Read(f.language, line)
		for _, e := range entries {
			t.Take(e)
		}
	}
	return t
}

// database reads what was answered since in a database, as file does in a file: a place in it
// is the number of a row.
func (u *Usage) database(ctx context.Context, f file, at inode, c *counted, n *Counted) error {
	d, err := u.databases.of(f.path)
	if d == nil || err != nil || c.size >= 0 && d.counted == d.now {
		return err
	}
	n.Files++
	for more := true; more; {
		var lines [][]byte
		began := c.place.Offset
		if lines, c.place.Offset, more, err = d.reader.Read(ctx, began); err != nil {
			return atRest(err)
		}
		u.answers(f, lines, n)
		if c.place.Offset != began {
			u.ends[at] = fleet.UsageCursor{Path: fleet.Path(f.path), Device: at.device, Inode: at.inode, Offset: c.place.Offset}
		}
		if len(u.rows) >= batch {
			if err := u.write(ctx); err != nil {
				return err
			}
		}
	}
	c.size, d.counted = f.info.Size, d.now
	return nil
}

// answers takes the rows of records.
func (u *Usage) answers(f file, lines [][]byte, n *Counted) {
	t := conversation.NewTranscript(f.kind, f.language, f.path, false)
	for _, line := range lines {
		entries, err := conversation.Read(f.language, line)
		if err != nil {
			n.Broken++
			u.fault(f, "a row of its conversations could not be read: "+conversation.Unreadable(err))
		}
		for _, e := range entries {
			if row, ok := t.Take(e); ok {
				n.Rows++
				u.take(f, row)
			}
		}
	}
}

// atRest: that no opencode has its database open is no trouble.
func atRest(err error) error {
	if errors.Is(err, opencode.ErrAtRest) {
		return nil
	}
	return err
}
