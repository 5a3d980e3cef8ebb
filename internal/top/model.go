package top

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"custos/internal/api"
)

// Model is everything the screen is made of. It is a value: what changes it returns
// another one.
type Model struct {
	o             Options
	width, height int
	now           time.Time // as the last message told it
	away          bool      // the terminal shows something else
	live          bool      // what changes is told, and need not be asked for each second
	wakes         bool      // a question waits for its moment

	look   answer[glance]
	alerts answer[api.Alerts]
	feed   answer[api.Feed]
	work   answer[api.WorkList]
	screen answer[api.Screen]

	hosts       []api.HostLook // other machines, as they were told of last
	hostsNumber int64          // of what they said
	hostsAsked  time.Time

	pane    pane
	rows    []row         // of the pane, as they are shown
	made    basis         // what they are made of
	chosen  [panes]string // key of the row in each
	offset  [panes]int    // first row that is shown in each
	filter  string
	sorting sorting
	watched string // the agent whose screen is shown
	resting string // the one that was just chosen
	going   target // the agent whose terminal the person goes to

	form     *form
	page     *page
	outcomes []outcome
	given    int // of what is told apart by a number
}

// answer is the newest answer to one question, how old it is, and why there is none newer.
type answer[T any] struct {
	v      T
	of     string    // what was asked about
	at     time.Time // when it came; zero: never
	took   time.Duration
	err    error
	asked  time.Time // when it was asked last
	asking bool
	again  bool // it has changed since it was asked
}

// glance is what the head and the first two panes show: one look, and how Custos is.
type glance struct {
	look   api.FirstLook
	status api.Status
}

// pane is one of the views that Tab goes through.
type pane int

const (
	home pane = iota
	agents
	alerts
	feed
	work
	panes // how many there are
)

// New is a screen that has not asked yet.
func New(o Options) Model {
	return Model{o: o, width: 80, height: 24}
}

// Init asks for the first look, and begins to count the time.
func (m Model) Init() tea.Cmd { return func() tea.Msg { return tickMsg(time.Now()) } }

// tickMsg tells the time: each second, and at the beginning.
type tickMsg time.Time

const (
	second = time.Second
	// ease is how much longer the next question waits than the last answer took: where
	// no daemon answers, each look costs a third of a second of the machine.
	ease = 9
	// patience is how long one question may take.
	patience = 10 * time.Second
	// slow is after how long without an answer it is said how old what is shown is.
	slow = 3 * time.Second
	// calm is the pause between two looks where changes are told.
	calm = 5 * time.Second
)

// Update is the next model after a message, and what is to be asked. It touches nothing.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	next, cmd := m.step(msg)
	next = next.settle()
	asks := []tea.Cmd{cmd}
	next, asks = next.due(asks)
	return next, tea.Batch(asks...)
}

// step is what one message changes.
func (m Model) step(msg tea.Msg) (Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tickMsg:
		return m.at(time.Time(msg)), tea.Tick(second, func(t time.Time) tea.Msg { return tickMsg(t) })
	case tea.WindowSizeMsg:
		m.width, m.height = max(1, msg.Width), max(1, msg.Height)
	case tea.FocusMsg:
		m.away = false
	case tea.BlurMsg:
		m.away = true
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		return m.paste(msg.Content), nil
	case tea.MouseClickMsg:
		return m.click(msg.X, msg.Y), nil
	case tea.MouseWheelMsg:
		return m.wheel(isDown(msg.Button)), nil
	case interface{ tell(Model) (Model, tea.Cmd) }:
		return msg.tell(m)
	}
	return m, nil
}

// at is the model at a later moment; time does not go back.
func (m Model) at(now time.Time) Model {
	if now.After(m.now) {
		m.now = now
	}
	return m
}

// changeMsg says that something changed, or (with no number) that what changes is not told
// any more.
type changeMsg struct {
	at   time.Time
	live bool
}

func (msg changeMsg) tell(m Model) (Model, tea.Cmd) {
	m = m.at(msg.at)
	m.live = msg.live
	m.look.again, m.alerts.again, m.feed.again, m.work.again = true, true, true, true
	return m, nil
}

// wakeMsg says that the moment of a question has come.
type wakeMsg time.Time

func (msg wakeMsg) tell(m Model) (Model, tea.Cmd) {
	m.wakes = false
	return m.at(time.Time(msg)), nil
}

// when is what decides when a question is put again.
type when struct {
	of     string
	asked  time.Time
	took   time.Duration
	asking bool
	again  bool
	failed bool
}

func (a answer[T]) when() when {
	return when{a.of, a.asked, a.took, a.asking, a.again, a.err != nil}
}

// pause is how long after a question it is put again, at least.
func (w when) pause() time.Duration { return w.took * (ease + 1) }

// isDue says whether a question of what the panes show is to be put: after a second, which
// is five where changes are told.
func (m Model) isDue(w when) bool {
	if m.live && !w.failed {
		return isDue(w, m.now, w.of, calm)
	}
	return isDue(w, m.now, w.of, second)
}

// isDue says whether a question is to be put: another one than the last; one whose answer
// has changed, after a pause; any other after so long.
func isDue(w when, now time.Time, of string, after time.Duration) bool {
	switch since := now.Sub(w.asked); {
	case w.asking:
		return false
	case w.of != of || w.asked.IsZero():
		return true
	case w.again:
		return since >= w.pause()
	default:
		return since >= max(after, w.pause())
	}
}

func (a *answer[T]) begin(now time.Time, of string) {
	if a.of != of { // what was told of something else is not shown
		*a = answer[T]{}
	}
	a.of, a.asked, a.asking, a.again = of, now, true, false
}

// is takes what came of a question; the value of one that failed stays, and gets old.
func (a *answer[T]) is(told told[T]) {
	a.asking, a.err = false, told.err
	if told.err == nil {
		a.v, a.at, a.took = told.v, told.at, told.took
	}
}

// isOld says whether what is shown was true some time ago only.
func isOld[T any](a answer[T], now time.Time) bool {
	return !a.at.IsZero() && (a.err != nil || a.asking && now.Sub(a.asked) >= max(slow, a.took*(ease+1)))
}
