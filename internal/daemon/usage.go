package daemon

import (
	"context"
	"fmt"
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
	// countEvery is how often all folders are listed, and countSoon when after an agent began or
	// ended: in which folder its conversation lies may never be known of one that lives a moment. What is
	// written in those of agents that run is read within countRest.
	countEvery = 30 * time.Second
	countSoon  = time.Second
	countRest  = 500 * time.Millisecond
)

// conversed are the folders in which something was written in conversations of agents that run.
type conversed struct {
	news   chan struct{} // something was written in some
	agents chan struct{} // others run than did
	passed chan struct{} // it may be known of one more where its conversation lies

	mu      sync.Mutex
	folders map[string]bool

	runs map[runner]bool // of the loop alone
}

// runner is an agent while it runs, and another one when that has ended.
type runner struct {
	instance string
	process  fleet.ProcessID
}

func newConversed() *conversed {
	return &conversed{news: make(chan struct{}, 1), agents: make(chan struct{}, 1), passed: make(chan struct{}, 1), folders: map[string]bool{}}
}

// pass notes which agents there are.
func (c *conversed) pass(list []fleet.Agent) {
	now := make(map[runner]bool, len(list))
	for i := range list {
		now[runner{list[i].Instance, list[i].Process}] = true
	}
	if !maps.Equal(now, c.runs) {
		c.runs = now
		tell(c.agents)
	}
	tell(c.passed)
}

// tell leaves word for who comes to hear it: once is enough.
func tell(who chan<- struct{}) {
	select {
	case who <- struct{}{}:
	default:
	}
}

func (c *conversed) in(folder string) {
	c.mu.Lock()
	c.folders[folder] = true
	c.mu.Unlock()
	tell(c.news)
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
	u, err := catalog.NewUsage(s.world, s.usageLedger(), func(u fleet.Usage) fleet.Usage { return s.holders.Of(u) })
	if err != nil || u == nil {
		s.readOnce(ctx)
		return err
	}
	all, rest := time.NewTimer(countAfter), time.NewTimer(countAfter)
	defer all.Stop()
	defer rest.Stop()
	rest.Stop()
	s.lookWhose(ctx) // who held what before anything is started again
	for resting, read, soon := false, false, false; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-s.conversed.news:
			if !resting {
				rest.Reset(countRest)
			}
			resting = true
			continue
		case <-s.conversed.agents:
			if read && !soon { // the first reading begins in its own time
				soon = true
				all.Reset(countSoon)
			}
			continue
		case ask := <-s.counting:
			s.countOf(ctx, ask, u.ReadOn)
			continue
		case <-rest.C:
			resting = false
			_ = s.count(ctx, func() error { _, err := u.ReadBelow(ctx, s.conversed.take()); return err }) // it is said
		case <-all.C:
			s.conversed.take()
			at := s.world.Now().Wall
			err := s.count(ctx, func() error { _, err := u.Read(ctx); return err })
			if err == nil {
				s.unwatched.regain("read all conversations") // of a few it is not known whether all can be
			}
			s.wasCounted(at, err)
			if read, soon = read || s.readOnce(ctx), false; err == nil && s.counted.toNote(at) {
				s.readOnce(ctx)
			}
			all.Reset(countEvery)
		}
	}
}

// count has conversations read, and says what could not be.
func (s *system) count(ctx context.Context, read func() error) error {
	s.lookWhose(ctx)
	err := read()
	if err == nil {
		if err = s.fillIn(ctx); err != nil {
			err = fmt.Errorf("%w: %w", catalog.ErrUnwritten, err)
		}
	}
	s.notAllCounted(ctx, err)
	return err
}

// notAllCounted says what keeps something from being counted.
func (s *system) notAllCounted(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	s.unwatched.lose("read all conversations", err)
	if s.counted.failed(err) {
		s.board.LookNow(fleet.PartSpending)
	}
}

// wasCounted notes that all conversations were read at a moment, but for the error.
func (s *system) wasCounted(at time.Time, err error) {
	if s.counted.all(at, err) {
		s.board.LookNow(fleet.PartSpending)
	}
}

// countAsk asks for what was written since in one conversation.
type countAsk struct {
	kind, session, call string
	told                chan bool // whether the response is counted that made the call
}

// countOf answers an ask by reading.
func (s *system) countOf(ctx context.Context, ask countAsk, read func(ctx context.Context, kind, session, call string) (bool, error)) {
	s.lookWhose(ctx)
	told, err := read(ctx, ask.kind, ask.session, ask.call)
	s.notAllCounted(ctx, err)
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

// lookWhose notes who holds which conversation now.
func (s *system) lookWhose(ctx context.Context) {
	if past, err := s.recall(ctx); err == nil && past.Blind == "" {
		s.holders.Look(s.board.Snapshot(), past)
	}
}

// fillIn has written down whose the responses are that came before it was known who held their conversation.
func (s *system) fillIn(ctx context.Context) error {
	list := s.holders.Unfilled()
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
	s.holders.Filled()
	s.spent()
	return nil
}

func (s *system) usageLedger() usageLedger {
	return usageLedger{s.ledger, s.spent, func() { s.board.LookNow(fleet.PartSpending) }}
}

// usageLedger is the ledger, for what models used.
type usageLedger struct {
	l    *ledgerFile
	news func() // is told when responses were written down
	// faulty is told when something was written down that could not be read.
	faulty func()
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
	if err = st.NoteUsageFaults(ctx, list); err == nil {
		l.faulty()
	}
	return err
}

func (l usageLedger) UsageCursors(ctx context.Context) ([]fleet.UsageCursor, error) {
	st, err := l.l.writer(ctx)
	if err != nil {
		return nil, err
	}
	return st.UsageCursors(ctx)
}

// readOnce notes that all conversations were read, as far as they can be: what of them cannot is said.
func (s *system) readOnce(ctx context.Context) bool {
	st, err := s.ledger.writer(ctx)
	if err != nil || ctx.Err() != nil || st.NoteUsageRead(ctx) != nil {
		return false
	}
	s.board.LookNow(fleet.PartSpending)
	return true
}
