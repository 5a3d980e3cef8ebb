package tmux

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"custos/internal/fleet"
	"custos/internal/session"
)

// A client in control mode needs a session to be in, and must not be in that of
// an agent: a program that asks for focus reports is told "focused" as soon as
// any client attaches (measured on 3.3a), which would be typing into it. So it
// has a post of its own: a session with one dead pane and no process, which no
// look shows. It stays when the client goes, for the next one: with
// destroy-unattached tmux 3.3a crashed in 4 of 25 detachments of such a client,
// and every agent would have gone with it.
const (
	postName    = "~custos" // no agent's session is called so: its name is never empty
	postCommand = "true custos"
)

// isPost says whether a pane is that of a post, ours or another Custos'.
func isPost(sessionName, startCommand string) bool {
	return sessionName == postName && startCommand == postCommand
}

// maxLine is how much of a line is read; what is longer is cut. A line of a pane has its looks
// with it.
const maxLine = 64 << 10

// control is one client in control mode. The server writes to out by itself, so
// that a frozen server keeps it open even when the client is dead.
type control struct {
	cmd      *exec.Cmd
	in, out  *os.File
	lines    chan string // closed when there is nothing more to read
	done     chan struct{}
	deadline time.Duration // until it is at its post
	asking   asking
	post     string // session id of the post
	reading  reading
	panes    int // in the newest glimpse
	shots    <-chan *shot
	shot     *shot // that is asked for; nil: none
}

// asking says how a server that is listened to is asked: how long it may take to answer,
// and how long it is left alone then, by how long it took.
type asking struct {
	patience time.Duration
	pause    func(took time.Duration, panes int) time.Duration
}

// dial starts a client. It never starts a server (-N).
func dial(program, socket string, deadline time.Duration, how asking) (*control, error) {
	cmd := exec.Command(program, "-u", "-S", socket, "-f", "/dev/null", "-N", "-C",
		"new-session", "-A", "-E", "-f", "no-output,ignore-size,read-only", "-s", postName, "-n", "custos", "-c", "/", "--", "true", "custos",
		";", "set-option", "-w", "-t", "="+postName+":", "remain-on-exit", "on")
	cmd.Env, cmd.Dir = environment(), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c := &control{cmd: cmd, lines: make(chan string), done: make(chan struct{}), deadline: deadline, asking: how}
	if err := c.start(); err != nil {
		return nil, fmt.Errorf("cannot listen to tmux server %s: %w", fleet.Path(socket), err)
	}
	go c.read()
	return c, nil
}

func (c *control) start() error {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return errors.Join(err, theirIn.Close(), in.Close())
	}
	c.in, c.out, c.cmd.Stdin, c.cmd.Stdout = in, out, theirIn, theirOut
	err = c.cmd.Start()
	err = errors.Join(err, theirIn.Close(), theirOut.Close())
	if c.cmd.Process == nil {
		err = errors.Join(err, in.Close(), out.Close())
	}
	return err
}

// hangUp ends the client, and leaves nothing behind.
func (c *control) hangUp() {
	close(c.done)
	_ = c.in.Close()
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
	_ = c.cmd.Wait()
	_ = c.out.Close()
	for range c.lines { // until its reader has ended
	}
}

func (c *control) read() {
	defer close(c.lines)
	in := bufio.NewReaderSize(c.out, maxLine)
	for {
		line, err := readLine(in)
		if err != nil {
			return
		}
		select {
		case c.lines <- line:
		case <-c.done:
			return
		}
	}
}

func readLine(in *bufio.Reader) (string, error) {
	head, more, err := in.ReadLine()
	line := string(head)
	for more && err == nil {
		_, more, err = in.ReadLine()
	}
	return line, err
}

// greet waits until the client is at its post.
func (c *control) greet(ctx context.Context) error {
	timer := time.NewTimer(c.deadline)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return errNoAnswer
		case line, ok := <-c.lines:
			if !ok {
				return io.ErrUnexpectedEOF
			}
			if t := c.reading.take(line); t.kind == failed {
				return fmt.Errorf("cannot listen: %w: %s", errRefused, fleet.Line(strings.Join(t.body, " "), 200))
			}
			if post, ok := strings.CutPrefix(line, "%session-changed "); ok {
				c.post, _, _ = strings.Cut(post, " ")
				return nil
			}
		}
	}
}

// question asks for every pane. tmux could tell of titles by itself (refresh-client
// -B), but it reads all of them every second for that: with 200 panes 0.2 to 0.5 %
// of a core, whether they change or not, and a client that is held up has the
// server pile up what it would be told.
const question = `list-panes -a -F "#{session_id}\t#{pane_id}\t#{pane_dead}\t#{window_activity}\t#{=200:pane_title}"` + "\n"

// Glimpses are taken as often as a two-thousandth of the time allows, within bounds. A pane takes
// 20 microseconds at most: what an answer took beyond that, it waited for the processor.
const (
	glimpseShare  = 2000
	paneTakes     = 20 * time.Microsecond
	glimpseOften  = time.Second
	glimpseSeldom = 10 * time.Second
)

func pause(took time.Duration, panes int) time.Duration {
	took = min(took, time.Duration(panes)*paneTakes)
	return min(max(glimpseShare*took, glimpseOften), glimpseSeldom)
}

// follow tells of notifications, and of a glimpse of all panes now and then,
// which also shows that the server still answers; and asks for the pictures that are
// wanted. It ends with ctx, or when the server goes or does not answer in time.
func (c *control) follow(ctx context.Context, tell func(session.Notice)) (err error) {
	clock := time.NewTimer(0)
	defer clock.Stop()
	late := time.NewTimer(time.Hour) // of a picture
	defer late.Stop()
	defer func() { c.drop(err) }()
	due := false
	var asked time.Time // zero while no answer is awaited
	for {
		if due && c.shot == nil {
			if _, err := io.WriteString(c.in, question); err != nil {
				return err
			}
			due, asked = false, time.Now()
			clock.Reset(c.asking.patience)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-clock.C:
			if !asked.IsZero() {
				return errNoAnswer
			}
			due = true
		case s := <-c.wanted(!due && asked.IsZero()):
			c.shot = s
			late.Reset(c.asking.patience)
			if _, err := io.WriteString(c.in, s.question()); err != nil {
				return err
			}
		case <-late.C:
			if c.shot != nil {
				return errNoAnswer
			}
		case line, ok := <-c.lines:
			if !ok {
				return io.ErrUnexpectedEOF
			}
			if c.shot != nil {
				if err := c.draw(line, tell); err != nil {
					return err
				}
			} else if c.hear(line, tell) && !asked.IsZero() {
				clock.Reset(c.asking.pause(time.Since(asked), c.panes))
				asked = time.Time{}
			}
		}
	}
}

// wanted are the pictures that are wanted, while one may be asked for: one thing at a time.
func (c *control) wanted(may bool) <-chan *shot {
	if !may || c.shot != nil {
		return nil
	}
	return c.shots
}

// draw hands a line to the picture that is asked for.
func (c *control) draw(line string, tell func(session.Notice)) error {
	over, err := c.shot.take(line, &c.reading, func(line string) { c.hear(line, tell) })
	if over {
		c.shot.end(nil)
		c.shot = nil
	}
	return err
}

// drop says of the picture that is asked for that it does not come.
func (c *control) drop(err error) {
	if c.shot != nil {
		c.shot.end(err)
		c.shot = nil
	}
}

// hear takes a line, and says whether it ended an answer.
func (c *control) hear(line string, tell func(session.Notice)) (over bool) {
	t := c.reading.take(line)
	switch t.kind {
	case notification:
		if what := meaning(line); what != "" {
			tell(session.Notice{What: what})
		}
	case answered:
		all := glimpses(t.body, c.post)
		c.panes = len(all)
		tell(session.Notice{Panes: all})
	}
	return t.kind == answered || t.kind == failed
}

// glimpses reads the answer to the question, without the post.
func glimpses(body []string, post string) []session.Glimpse {
	all := make([]session.Glimpse, 0, len(body))
	for _, line := range body {
		f := strings.SplitN(line, "\t", 5)
		if len(f) == 5 && isPane(f[1]) && f[0] != post {
			wrote, _ := strconv.ParseInt(f[3], 10, 64) // 0 is not told
			all = append(all, session.Glimpse{Pane: f[1], Dead: f[2] == "1", Title: f[4], Wrote: wrote})
		}
	}
	return all
}
