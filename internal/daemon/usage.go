package daemon

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"custos/internal/catalog"
	"custos/internal/fleet"
)

const (
	// countAfter is when the first reading of all conversations begins: who looks first is
	// not kept waiting for it.
	countAfter = 2 * time.Second
	// countEvery is how often all folders are listed; what is written in those of agents that
	// run is read within countRest.
	countEvery = 30 * time.Second
	countRest  = 500 * time.Millisecond
)

// conversed are the folders in which something was written in conversations of agents that run.
type conversed struct {
	news chan struct{}

	mu      sync.Mutex
	folders map[string]bool
}

func newConversed() *conversed {
	return &conversed{news: make(chan struct{}, 1), folders: map[string]bool{}}
}

func (c *conversed) in(folder string) {
	c.mu.Lock()
	c.folders[folder] = true
	c.mu.Unlock()
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// take returns them, and begins anew.
func (c *conversed) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	folders := slices.Sorted(maps.Keys(c.folders))
	clear(c.folders)
	return folders
}

// countUsage writes down what models used, as conversations tell it, from where it was read
// last. What cannot be read is said, and read when it can be.
func (s *system) countUsage(ctx context.Context) error {
	u, err := catalog.NewUsage(s.world, usageLedger{s.ledger, s.spent}, func(u fleet.Usage) fleet.Usage { return s.whose.of(u) })
	if err != nil || u == nil {
		return err
	}
	all, rest, told := time.NewTimer(countAfter), time.NewTimer(countAfter), sessions{}
	defer all.Stop()
	defer rest.Stop()
	rest.Stop()
	for resting := false; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-s.conversed.news:
			if !resting {
				rest.Reset(countRest)
			}
			resting = true
			continue
		case ask := <-s.counting:
			s.countOf(ctx, ask, u.ReadOn)
			continue
		case <-rest.C:
			resting = false
			_ = s.count(ctx, told, func() error { _, err := u.ReadBelow(ctx, s.conversed.take()); return err }) // it is said
		case <-all.C:
			s.conversed.take()
			if s.count(ctx, told, func() error { _, err := u.Read(ctx); return err }) == nil {
				s.unwatched.regain("read all conversations") // of a few it is not known whether all can be
			}
			all.Reset(countEvery)
		}
	}
}

// count has conversations read, and says what could not be; told is of fillIn.
func (s *system) count(ctx context.Context, told sessions, read func() error) error {
	s.whose = whoseSessions(s.board.Snapshot())
	err := read()
	if err == nil {
		err = s.fillIn(ctx, told)
	}
	if err != nil && ctx.Err() == nil {
		s.unwatched.lose("read all conversations", err)
	}
	return err
}

// countAsk asks for what was written since in one conversation.
type countAsk struct {
	kind, session, call string
	told                chan bool // whether the response is counted that made the call
}

// countOf answers an ask by reading.
func (s *system) countOf(ctx context.Context, ask countAsk, read func(ctx context.Context, kind, session, call string) (bool, error)) {
	s.whose = whoseSessions(s.board.Snapshot())
	told, err := read(ctx, ask.kind, ask.session, ask.call)
	if err != nil && ctx.Err() == nil {
		s.unwatched.lose("read all conversations", err)
	}
	ask.told <- told
}

// countAgain is how long after a response was missed it is looked for again.
const countAgain = 25 * time.Millisecond

// countNow has what a conversation used written down until the response that made a call of a tool is, as far as
// that is done before ctx ends: a first reading of all conversations is not broken off for it.
func (s *system) countNow(ctx context.Context, kind, session, call string) {
	for ctx.Err() == nil {
		ask := countAsk{kind, session, call, make(chan bool, 1)}
		select {
		case s.counting <- ask:
		case <-ctx.Done():
			return
		}
		select {
		case told := <-ask.told:
			if told || call == "" {
				return
			}
		case <-ctx.Done():
		}
		sleep(ctx, countAgain)
	}
}

// spent has what was spent added up anew.
func (s *system) spent() {
	if len(s.budgets) > 0 {
		s.board.LookNow(fleet.PartSpending)
	}
}

// sessions say whose a conversation is, by kind and name.
type sessions map[[2]string]fleet.Usage

// whoseSessions are those of the agents that were seen last, with when each began, where that is known.
func whoseSessions(snap fleet.Snapshot) sessions {
	m := sessions{}
	for _, a := range snap.Agents.Value {
		if a.SessionID != "" {
			var began time.Time
			if age, known := a.Age.Get(); known {
				began = snap.At.Wall.Add(-time.Duration(age))
			}
			m[[2]string{a.Kind, a.SessionID}] = fleet.Usage{At: began, Agent: a.Name, Instance: a.Instance, Role: a.Role, Project: a.Project, Account: a.Account, Run: a.Run, Work: a.Task}
		}
	}
	return m
}

// fillIn has written down whose the responses are that came before it was known whose their conversation is; told
// are those of which that was done.
func (s *system) fillIn(ctx context.Context, told sessions) error {
	var list []fleet.Usage
	for key, who := range s.whose {
		if who.At.IsZero() || who.Agent == "" || told[key].Agent == who.Agent && told[key].Instance == who.Instance {
			continue
		}
		who.Kind, who.Session = key[0], key[1]
		list = append(list, who)
	}
	if len(list) == 0 {
		return nil
	}
	st, err := s.ledger.writer(ctx)
	if err == nil {
		err = st.AttributeUsage(ctx, list)
	}
	if err != nil {
		return err
	}
	for _, who := range list {
		told[[2]string{who.Kind, who.Session}] = who
	}
	s.spent()
	return nil
}

// of fills in whose a response is, where that is known.
func (m sessions) of(u fleet.Usage) fleet.Usage {
	if w, ok := m[[2]string{u.Kind, u.Session}]; ok {
		u.Agent, u.Instance, u.Role, u.Project, u.Account, u.Run, u.Work = w.Agent, w.Instance, w.Role, w.Project, w.Account, w.Run, w.Work
	}
	return u
}

// usageLedger is the ledger, for what models used.
type usageLedger struct {
	l    *ledgerFile
	news func() // is told when responses were written down
}

func (l usageLedger) AddUsage(ctx context.Context, rows []fleet.Usage, cursors []fleet.UsageCursor) error {
	st, err := l.l.writer(ctx)
	if err != nil {
		return err
	}
	if err = st.AddUsage(ctx, rows, cursors); err == nil && len(rows) > 0 {
		l.news()
	}
	return err
}

func (l usageLedger) NoteUsageFaults(ctx context.Context, list []fleet.UsageFault) error {
	st, err := l.l.writer(ctx)
	if err != nil {
		return err
	}
	return st.NoteUsageFaults(ctx, list)
}

func (l usageLedger) UsageCursors(ctx context.Context) ([]fleet.UsageCursor, error) {
	st, err := l.l.writer(ctx)
	if err != nil {
		return nil, err
	}
	return st.UsageCursors(ctx)
}
