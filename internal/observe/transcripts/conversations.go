package transcripts

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"custos/internal/agent/conversation"
	"custos/internal/fleet"
	"custos/internal/sys/files"
	"custos/internal/sys/tail"
)

const (
	// mostCandidates are the files, written last, that are opened to find a conversation by
	// its folder.
	mostCandidates = 32
	// searchEvery is how often all folders are listed while a conversation is missed, and
	// relistEvery while none is.
	searchEvery = 2 * time.Second
	relistEvery = time.Minute
	// named is how much of a conversation's name its file's has at least: that of gemini has
	// no more.
	named = 8
	// startSlack is how much earlier than its process a conversation may seem to begin: file
	// systems have coarse clocks.
	startSlack = 2 * time.Second
)

// Wanted is an agent whose conversation is asked for.
type Wanted struct {
	Process fleet.ProcessID
	Kind    string
	Session string    // the CLI's own name of the conversation; empty where that is not known
	CWD     string    // where it works, as fleet.Path has it; empty where that is not known
	Since   time.Time // when its process began
	Home    string    // the folder that its environment names for the kind; empty for none
}

// Conversations knows what the conversations of living agents say.
type Conversations struct {
	mu       sync.Mutex
	finder   *finder
	found    []file
	foundAt  fleet.Instant
	followed map[string]*followed

	databases databases
	wanted    []Wanted // that were asked for last
	dirs      []string // in which their files lie
}

// followed is a file that is read on.
type followed struct {
	file
	place tail.Place
	t     *conversation.Transcript
	asked bool // in this look
}

// NewConversations checks the options.
func NewConversations(o Options) (*Conversations, error) {
	f, err := newFinder(o)
	return &Conversations{finder: f, followed: map[string]*followed{}, databases: databases{}}, err
}

// Of returns what the conversations of agents say, of those whose conversation is known: by
// its name, else as the only one that was written in the agent's folder since it began, where
// it is the only agent of its kind. The error names what could not be read: of that nothing
// is known.
func (c *Conversations) Of(ctx context.Context, wanted []Wanted) (map[fleet.ProcessID]fleet.Conversation, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wanted = slices.DeleteFunc(slices.Clone(wanted), func(w Wanted) bool { return !c.keeps(w.Kind) })
	if len(wanted) == 0 {
		c.dirs, c.followed = nil, map[string]*followed{}
		return nil, nil
	}
	c.wanted = wanted
	err := c.list(ctx, wanted, relistEvery)
	known, missed, more := c.match(wanted)
	if missed {
		if err = c.list(ctx, wanted, searchEvery); err == nil {
			known, _, more = c.match(wanted)
		}
	}
	c.forget(known)
	return known, errors.Join(err, more)
}

// Now returns what the conversation of one of the agents says at this moment that were asked
// for last; false where none is known of it.
func (c *Conversations) Now(ctx context.Context, id fleet.ProcessID) (fleet.Conversation, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.wanted, func(w Wanted) bool { return w.Process == id })
	if i < 0 {
		return fleet.Conversation{}, false, nil
	}
	err := c.list(ctx, c.wanted, searchEvery)
	f, more := c.of(c.wanted[i], c.wanted)
	if f == nil {
		return fleet.Conversation{}, false, errors.Join(err, more)
	}
	return f.t.Conversation(), true, nil
}

// of finds the conversation of one agent among all; nil where none is known.
func (c *Conversations) of(w Wanted, all []Wanted) (*followed, error) {
	if k, _ := c.finder.o.Kinds.Get(w.Kind); k.Transcripts.Language == opencodeLanguage {
		return c.inDatabase(w, all)
	}
	f, err := c.named(w)
	if f == nil && err == nil && w.Session == "" && alone(w, all) {
		return c.inFolder(w)
	}
	return f, err
}

func (c *Conversations) keeps(kind string) bool {
	k, ok := c.finder.o.Kinds.Get(kind)
	return ok && c.finder.o.Enabled && k.Transcripts.Language != ""
}

// list looks for files, when the last look is old.
func (c *Conversations) list(ctx context.Context, wanted []Wanted, age time.Duration) error {
	now := c.finder.o.Now()
	if !c.foundAt.IsZero() && now.Since(c.foundAt) < age && now.Since(c.foundAt) >= 0 {
		return nil
	}
	homes := map[string][]string{}
	for _, w := range wanted {
		if w.Home != "" {
			homes[w.Kind] = append(homes[w.Kind], w.Home)
		} else if homes[w.Kind] == nil {
			homes[w.Kind] = []string{}
		}
	}
	c.found, c.foundAt = nil, now
	var errs []error
	for kind, more := range homes {
		k, _ := c.finder.o.Kinds.Get(kind)
		some, err := c.finder.find(ctx, k, more...)
		c.found, errs = append(c.found, some...), append(errs, err)
	}
	slices.SortFunc(c.found, func(a, b file) int { return int(min(1, max(-1, b.info.MTime-a.info.MTime))) })
	return errors.Join(errs...)
}

// match finds the conversation of each agent; missed says that one has none.
func (c *Conversations) match(wanted []Wanted) (known map[fleet.ProcessID]fleet.Conversation, missed bool, err error) {
	known = map[fleet.ProcessID]fleet.Conversation{}
	var errs []error
	for _, w := range wanted {
		f, err := c.of(w, wanted)
		errs = append(errs, err)
		if f == nil {
			missed = true
			continue
		}
		known[w.Process] = f.t.Conversation()
	}
	return known, missed, errors.Join(errs...)
}

// alone says whether no other agent of the kind works in the folder.
func alone(w Wanted, all []Wanted) bool {
	return w.CWD != "" && !slices.ContainsFunc(all, func(o Wanted) bool { return o.Process != w.Process && o.Kind == w.Kind && o.CWD == w.CWD })
}

// named finds a conversation by its name, which is part of its file's.
func (c *Conversations) named(w Wanted) (*followed, error) {
	if len(w.Session) < named {
		return nil, nil
	}
	for _, f := range c.found {
		name := filepath.Base(f.path)
		if f.kind != w.Kind || !strings.Contains(name, w.Session[:named]) {
			continue
		}
		at, err := c.read(f)
		if err != nil || at != nil && !at.t.Side() && (strings.Contains(name, w.Session) || at.t.Conversation().Session == w.Session) {
			return at, err
		}
	}
	return nil, nil
}

// inFolder finds the conversation that was written last in the agent's folder since it began.
func (c *Conversations) inFolder(w Wanted) (*followed, error) {
	tried := 0
	for _, f := range c.found {
		if f.kind != w.Kind || f.info.Modified().Before(w.Since.Add(-startSlack)) || tried >= mostCandidates {
			continue
		}
		tried++
		at, err := c.read(f)
		if err != nil {
			return nil, err
		}
		if at == nil || at.t.Side() {
			continue
		}
		if conv := at.t.Conversation(); conv.CWD == w.CWD && !conv.Written.Before(w.Since.Add(-startSlack)) {
			return at, nil
		}
	}
	return nil, nil
}

// read brings a file up to date; nil when it is gone.
func (c *Conversations) read(f file) (*followed, error) {
	at, err := c.followed[f.path], error(nil)
	if f.info, err = files.Lstat(f.path); err == nil && (at == nil || !at.same(f)) {
		at, err = c.further(f, at)
	}
	if err != nil {
		delete(c.followed, f.path)
		if vanished(err) {
			err = nil
		}
		return nil, err
	}
	at.asked = true
	c.followed[f.path] = at
	return at, nil
}

// further reads what was written since; a file that is another one, or was cut or written
// over, from its beginning.
func (c *Conversations) further(f file, at *followed) (*followed, error) {
	for at != nil {
		var told []conversation.Entry
		r, err := entries(f, at.place, tail.Limits{}, math.MaxInt64, func(e conversation.Entry) { told = append(told, e) })
		if err != nil {
			return nil, err
		}
		if r.Anew {
			break
		}
		for _, e := range told {
			at.t.Take(e)
		}
		if at.place = r.Next; !r.More {
			at.file = f
			return at, nil
		}
	}
	t, next, err := prime(f, math.MaxInt64)
	return &followed{file: f, place: next, t: t}, err
}

// forget drops the files that were not asked for, and notes where the others lie.
func (c *Conversations) forget(known map[fleet.ProcessID]fleet.Conversation) {
	for path, f := range c.followed {
		if !f.asked {
			delete(c.followed, path)
		}
		f.asked = false
	}
	c.dirs = nil
	for _, conv := range known {
		c.dirs = append(c.dirs, filepath.Dir(conv.Path))
	}
	slices.Sort(c.dirs)
	c.dirs = slices.Compact(c.dirs)
}

// Folders are those in which the conversations lie that were found last.
func (c *Conversations) Folders() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.dirs)
}
