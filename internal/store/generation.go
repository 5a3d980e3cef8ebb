package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"custos/internal/fleet"
	own "custos/internal/sys/files"
)

// A database that is gone, empty, another or older looks like one of a quiet
// Custos. So what it is, and how far it had come, is written beside it as well:
// in one file beside the database, after each commit, and in the folder of each
// agent when it starts.

// AgentMark is the name of the mark in the folder of an agent.
const AgentMark = "generation"

// mark says which database it is of, and how many commits that had.
type mark struct {
	id      string
	commits int64
}

// String is of the same length always, so that it is overwritten in place.
func (m mark) String() string { return fmt.Sprintf("custos %s %019d\n", m.id, m.commits) }

// idLength is that of the ID of a generation, in hexadecimal.
const idLength = 32

// longestMark is many times the length of a mark, in bytes: more is a damaged one.
const longestMark = 4096

// parseMark returns the zero mark for what is none: a damaged mark is a lost one.
func parseMark(text string) (m mark) {
	var found mark
	if n, err := fmt.Sscanf(text, "custos %s %d\n", &found.id, &found.commits); n != 2 || err != nil || len(found.id) != idLength || found.String() != text {
		return m
	}
	return found
}

func newGeneration() string {
	var b [idLength / 2]byte
	_, _ = rand.Read(b[:]) // it does not fail
	return hex.EncodeToString(b[:])
}

// witnesses are the marks outside of the database, and how many agents left none.
type witnesses struct {
	marks  []mark
	silent int
}

func (o Options) witnesses() (w witnesses, err error) {
	if err := w.hear(o.Mark); err != nil {
		return w, err
	}
	if o.Agents == "" {
		return w, nil
	}
	agents, err := os.ReadDir(o.Agents)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return w, err
	}
	for _, a := range agents {
		if !a.IsDir() {
			continue // a note beside the folders, of a start that was cut short
		}
		heard := len(w.marks)
		// An agent can make its own unreadable: that is a mark that is lost, too.
		_ = w.hear(filepath.Join(o.Agents, a.Name(), AgentMark))
		if len(w.marks) == heard {
			w.silent++
		}
	}
	return w, nil
}

func (w *witnesses) hear(path string) error {
	if path == "" {
		return nil
	}
	text, err := own.Read(path, longestMark)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, own.ErrTooLarge) {
		return err
	}
	if m := parseMark(string(text)); m.id != "" {
		w.marks = append(w.marks, m)
	}
	return nil
}

// standing is what a database tells of itself.
type standing struct {
	mark
	known string // IDs of earlier generations whose loss was told
	begun bool   // it was made just now
}

func standingOf(ctx context.Context, q rower) (s standing, err error) {
	if s.id, err = meta(ctx, q, "generation"); err != nil {
		return s, err
	}
	if s.commits, err = number(ctx, q, "commits"); err != nil {
		return s, err
	}
	s.known, err = meta(ctx, q, "lost_generations")
	return s, err
}

// lost says what became of what was known before; "" when nothing is lost.
func (w witnesses) lost(s standing) string {
	for _, m := range w.marks {
		switch {
		case m.id == s.id && m.commits > s.commits:
			return "the database went back by " + fleet.Counted(int(m.commits-s.commits), "commit")
		case m.id == s.id || strings.Contains(s.known, m.id):
		case s.begun:
			return "the database that was here is not there any more"
		default:
			return "the database is another, or an older one, than was here"
		}
	}
	if s.begun && w.silent > 0 {
		return fmt.Sprintf("the database is new, and Custos has started agents here: there are folders of %d", w.silent)
	}
	return ""
}

// LostWithout says what became of what was known before where there is no database
// at all; "" when nothing tells that there ever was one.
func LostWithout(o Options) (string, error) {
	w, err := o.witnesses()
	if err != nil {
		return "", fmt.Errorf("cannot read how far the database had come: %w", err)
	}
	return w.lost(standing{begun: true}), nil
}

// settleGeneration compares the database with what is written beside it, and notes
// a loss, before anybody is told anything from it.
func (s *Store) settleGeneration(ctx context.Context, begun bool) error {
	w, err := s.opts.witnesses()
	if err != nil {
		return fmt.Errorf("cannot read how far the database had come: %w", err)
	}
	now, err := standingOf(ctx, s.r)
	if err != nil {
		return failed("read how far the database has come", err)
	}
	now.begun = begun
	why := w.lost(now)
	if now.id == "" || why != "" {
		if err := s.beginGeneration(ctx, w, now, why); err != nil {
			return err
		}
	}
	if now, err = standingOf(ctx, s.r); err != nil {
		return failed("read how far the database has come", err)
	}
	s.mark = &markFile{path: s.opts.Mark, last: now.mark}
	return s.mark.make()
}

func (s *Store) beginGeneration(ctx context.Context, w witnesses, now standing, why string) error {
	for _, m := range w.marks {
		now.commits = max(now.commits, m.commits)
		if m.id != now.id && !strings.Contains(now.known, m.id) {
			now.known += " " + m.id
		}
	}
	return s.write(ctx, "note which database it is", fleet.Instant{}, func(t *tx) error {
		for key, value := range map[string]string{"generation": cmp.Or(now.id, newGeneration()), "commits": fmt.Sprint(now.commits),
			"lost_generations": strings.TrimSpace(now.known)} {
			if err := t.setMeta(key, value); err != nil {
				return err
			}
		}
		if why == "" {
			return nil
		}
		return t.setMeta("amnesia", why)
	})
}

// Generation is the mark of the database as of now, for the folder of an agent.
func (s *Store) Generation() string {
	if s.mark == nil {
		return ""
	}
	s.mark.mu.Lock()
	defer s.mark.mu.Unlock()
	return s.mark.last.String()
}

// IsOwnMark says whether the mark in the folder of an agent is one of this database.
func (s *Store) IsOwnMark(text string) bool {
	is, own := parseMark(text), parseMark(s.Generation())
	return is.id != "" && is.id == own.id && is.commits <= own.commits
}

// count counts a commit, in its own transaction.
func (t *tx) count() (n int64, err error) {
	err = t.QueryRowContext(t.ctx, `INSERT INTO meta (key, value) VALUES ('commits', '1')
		ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1 RETURNING CAST(value AS INTEGER)`).Scan(&n)
	return n, err
}

// markFile is the mark beside the database. It is written after each commit, which
// costs microseconds: what the kernel has it keeps when Custos is killed. It is
// forced to the disk once a minute: after a power cut it may be behind the
// database, never ahead of it.
type markFile struct {
	path string

	mu     sync.Mutex
	last   mark
	f      *os.File
	synced time.Time
}

// syncMark is how often the mark is forced to the disk, and looked for.
const syncMark = time.Minute

// make writes the mark anew, whole. mu is held, or nobody else knows of it.
func (m *markFile) make() error {
	if m.path == "" {
		return nil
	}
	if m.f != nil {
		_ = m.f.Close()
		m.f = nil
	}
	made, err := os.CreateTemp(filepath.Dir(m.path), "."+filepath.Base(m.path)+"-")
	if err != nil {
		return fmt.Errorf("cannot write how far the database has come: %w", err)
	}
	_, err = made.WriteString(m.last.String())
	err = cmp.Or(err, made.Sync())
	if err = cmp.Or(err, os.Rename(made.Name(), m.path)); err != nil {
		return errors.Join(fmt.Errorf("cannot write how far the database has come: %w", err), made.Close(), os.Remove(made.Name()))
	}
	m.f, m.synced = made, time.Now()
	return nil
}

// advance notes a commit. That it could not be noted fails nothing: the mark is
// then behind, and a loss of what it does not know of is not seen.
func (m *markFile) advance(commits int64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last.commits = commits
	if m.f == nil {
		return
	}
	_, _ = m.f.WriteAt([]byte(m.last.String()), 0)
	if time.Since(m.synced) < syncMark {
		return
	}
	m.synced = time.Now()
	if !m.isThere() {
		_ = m.make()
		return
	}
	_ = m.f.Sync()
}

// isThere says whether the file still has its name.
func (m *markFile) isThere() bool {
	is, err := os.Stat(m.path)
	ours, bad := m.f.Stat()
	return err == nil && bad == nil && os.SameFile(is, ours)
}

func (m *markFile) close() error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.f == nil {
		return nil
	}
	if _, err := os.Stat(filepath.Dir(m.path)); err == nil && !m.isThere() {
		_ = m.make()
	}
	_ = m.f.Sync()
	err := m.f.Close()
	m.f = nil
	return err
}
