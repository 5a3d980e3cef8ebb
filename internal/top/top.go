package top

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	tea "charm.land/bubbletea/v2"

	"custos/internal/api"
)

// Options say of whom is asked, and in which words is told.
type Options struct {
	// Ask finds who answers now on a machine ("" is this one), for one question; done is called
	// after it.
	Ask func(ctx context.Context, host string) (c *api.Client, done func(), err error)
	// Hosts returns at once what other machines answered last, with their alerts or without,
	// and a number that is larger whenever there is something newer; nil: there are none.
	Hosts func(alerts bool) ([]api.HostLook, int64)
	// Watch says whenever something changed, until ctx ends or nobody tells any more; nil:
	// nobody does.
	Watch func(ctx context.Context, changed func()) error
	// Goto is the command that shows an agent's terminal from here.
	Goto   func(ctx context.Context, host, agent string) (*exec.Cmd, error)
	Words  Words
	Colour bool
	Home   string // shown as ~; "" where it is not known
}

// Words are those in which the command line tells the same.
type Words struct {
	Tokens   func(int64) string
	Dollars  func(float64) string
	Order    func(api.Order) string      // what became of an order
	Story    func(api.Story, int) string // everything known of a thing, so wide
	Offer    func(api.Offer, int) string // what would be done, with the commands, or why not
	Duration func(string) (time.Duration, error)
	Command  func(string) string                            // a command as it is to be typed
	Error    func(host string, err error) (what, to string) // what went wrong on a machine, and the command that helps
}

// fastest is how many frames a second are painted at most: a key is on the screen within
// 1/120 s of what it changed.
const fastest = 120

// watch says that something changed, as long as somebody tells; whoever does not, is asked
// each second.
func watch(ctx context.Context, o Options, send func(tea.Msg)) {
	for ctx.Err() == nil {
		told := false
		_ = o.Watch(ctx, func() { told = true; send(changeMsg{time.Now(), true}) }) // why it ended is what the next look says
		if told {
			send(changeMsg{time.Now(), false})
		}
		select {
		case <-ctx.Done():
		case <-time.After(second):
		}
	}
}

// Run shows the screen until the person leaves it, and says what of their orders was
// still open then.
func Run(ctx context.Context, o Options, options ...tea.ProgramOption) (open []string, err error) {
	p := tea.NewProgram(New(o), append([]tea.ProgramOption{tea.WithContext(ctx), tea.WithFPS(fastest)}, options...)...)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.Watch != nil {
		go watch(ctx, o, p.Send)
	}
	last, err := p.Run()
	if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("cannot show the screen: %w", err)
	}
	m, _ := last.(Model)
	return m.open(), nil
}
