package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"custos/internal/api"
	"custos/internal/sys/program"
)

// Greeting begins the first line that `custos bridge` writes, when it has reached the daemon.
// What a login writes before it is passed over.
const Greeting = "custos bridge 1 "

// NoDaemon is what the bridge says where there is nobody to connect with.
const NoDaemon = "no daemon answers on this machine"

const (
	// answersWithin is how long the way to a host may take: a silent one is said then.
	answersWithin = 8 * time.Second
	mostBefore    = 64 << 10 // bytes that a login may write
	mostSaid      = 4 << 10  // bytes of what ssh complains of that are kept
)

// WhoAsks finds out which agent of this machine asks, "" for a person; an error says why that
// cannot be told. Nil: whoever hands over has shown that it is a person.
type WhoAsks func(context.Context) (agent string, err error)

// Client asks the Custos of a host. Nothing is dialled before something is asked; what cannot
// be reached is an Unreachable error, and nothing was asked then. Anyone may look there at what
// anyone may look at. Before anything else is asked for it is found out here who asks, which that machine cannot see: an
// agent is said to be one, and nothing is asked for by whoever cannot be shown to be none.
func (h Host) Client(who WhoAsks) *api.Client {
	if h.Hub != "" {
		return h.throughHub()
	}
	t := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			c, err := h.dial(ctx)
			if err != nil {
				return nil, err
			}
			return api.Counted(c), nil
		},
		DisableCompression:  true,
		MaxIdleConnsPerHost: 2,
		IdleConnTimeout:     time.Minute,
	}
	if h.Socket != "" {
		return api.NewClient(shown{t, h.Token})
	}
	if who == nil {
		return api.NewClient(t)
	}
	return api.NewClient(onBehalf{t, h.Name, who})
}

// shown shows the token of what is published: whoever asks, it may only be looked at.
type shown struct {
	*http.Transport
	file string
}

func (s shown) RoundTrip(req *http.Request) (*http.Response, error) {
	token, err := program.Secret{File: s.file}.Read(req.Context())
	if err != nil {
		return nil, &api.Error{Kind: api.Forbidden, Message: err.Error(), Hint: "custos doctor"}
	}
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+token)
	return s.Transport.RoundTrip(req)
}

// Reach is as Client, for a host that answers: one that does not within the time for the way to
// it and an answer is an Unreachable error, and nothing was asked for. One that falls silent
// while it is waited for is given up.
func (h Host) Reach(ctx context.Context, who WhoAsks) (*api.Client, error) {
	c := h.Client(who)
	if err := h.answers(ctx, c, answersWithin+time.Second); err != nil {
		c.Close()
		return nil, err
	}
	return c.Attended(func(ctx context.Context) error { return h.answers(ctx, c, known) }), nil
}

// answers has the host say that it is there, which a Custos does from memory.
func (h Host) answers(ctx context.Context, c *api.Client, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	_, err := c.Health(ctx, 0)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &api.Error{Kind: api.Unreachable, Message: fmt.Sprintf("cannot reach host %s: it gave no answer within %s", h.Name, within), Hint: h.Way()}
	case errors.Is(err, context.Canceled), api.IsUnreachable(err):
		return err
	}
	return nil // whatever it says, it lives
}

// onBehalf says of a request, unless it is a look that anyone may have, which agent makes it: it
// may see and do no more there than here.
type onBehalf struct {
	*http.Transport
	host string
	who  WhoAsks
}

func (o onBehalf) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet && !api.IsPersonLook(req.URL.Path) {
		return o.Transport.RoundTrip(req)
	}
	agent, err := o.who(req.Context())
	if err != nil {
		return nil, &api.Error{Kind: api.Forbidden, Message: fmt.Sprintf("nothing was asked of host %s, for it is not known here who asks: %s", o.host, api.ErrorOf(err).Message), Hint: "custos health"}
	}
	if agent != "" {
		req = req.Clone(req.Context())
		req.Header.Set(api.OnBehalf, agent)
	}
	return o.Transport.RoundTrip(req)
}

// alone keeps that machine from anything of this one, whatever ~/.ssh/config lends to others:
// with the agent of ssh it could log in elsewhere, and forwarded ports lead back here.
var alone = []string{"-a", "-x", "-o", "ClearAllForwardings=yes", "-o", "Tunnel=no"}

// argv is the command that makes a connection: it asks nobody for a password, and gives up a
// machine that does not answer any more.
func (h Host) argv() []string {
	out := append([]string{"ssh", "-T"}, alone...)
	return append(out, "-o", "BatchMode=yes", "-o", "ConnectTimeout=6", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=2",
		"--", h.SSH, h.Program, "bridge")
}

// plainName is what no shell reads otherwise, and no program takes for a flag.
var plainName = regexp.MustCompile(`^[\pL\pN_][\pL\pN_.:@/+-]*$`)

// Attach is the command that shows the terminal of an agent there. The shell of that machine
// reads the name: one that it could take for something else is an error, of bad input.
func (h Host) Attach(agent string) ([]string, error) {
	if h.Hub != "" {
		return nil, &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot go to %s on host %s: no terminal comes over a hub; with ssh in a section [host.%s] it does", agent, h.Name, h.Name), Hint: "custos peek " + agent}
	}
	if h.Socket != "" {
		return nil, &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot go to %s on host %s: it is another container's, of which only what is published is seen; there it is: %s", agent, h.Name, api.Typed("docker", "exec", "-it", "CONTAINER", "custos", "attach", agent))}
	}
	if !plainName.MatchString(agent) {
		return nil, &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot go to %q on host %s: the shell there would read that name otherwise", agent, h.Name), Hint: api.Typed("ssh", "-t", h.SSH)}
	}
	return append(append([]string{"ssh", "-t"}, alone...), "--", h.SSH, h.Program, "attach", agent), nil
}

// dial starts ssh, and waits for the greeting from the other end.
func (h Host) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	if h.Socket != "" {
		return h.connect(ctx)
	}
	c, err := h.start()
	if err != nil {
		return nil, h.unreachable(err.Error())
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	err = c.greeted()
	if !stop() {
		return nil, h.unreachable(fmt.Sprintf("no answer within %s", answersWithin))
	}
	if err != nil {
		_ = c.Close()
		return nil, h.unreachable(c.why(err))
	}
	return c, nil
}

// connect makes a connection with the socket at which a container publishes.
func (h Host) connect(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", h.Socket)
	if err != nil {
		return nil, h.unreachable(err.Error())
	}
	return c, nil
}

func (h Host) unreachable(why string) error {
	hint := h.Way()
	if strings.Contains(why, NoDaemon) {
		hint = h.up()
	}
	return &api.Error{Kind: api.Unreachable, Message: fmt.Sprintf("cannot reach host %s: %s", h.Name, why), Hint: hint}
}

// Way is the command with which a person looks at a machine that was not reached.
func (h Host) Way() string {
	if h.Hub != "" {
		return "custos hub status"
	}
	if h.Socket != "" {
		return "custos help hosts.md"
	}
	return api.Typed("ssh", h.SSH, h.Program, "status")
}

// up is the one that starts a daemon there.
func (h Host) up() string {
	if h.Socket != "" || h.Hub != "" {
		return h.Way()
	}
	return api.Typed("ssh", h.SSH, h.Program, "up")
}

// IsWay says whether a hint is one of this machine about the way to the host, and none that
// the host told.
func (h Host) IsWay(hint string) bool { return hint == h.Way() || hint == h.up() }

// conn is a connection through ssh.
type conn struct {
	net.Conn
	in   *bufio.Reader
	cmd  *exec.Cmd
	said *tail
	gone chan struct{} // closed when ssh has ended
	end  sync.Once
}

func (h Host) start() (*conn, error) {
	mine, its, err := pair()
	if err != nil {
		return nil, err
	}
	defer its.Close()
	argv := h.argv()
	c := &conn{Conn: mine, in: bufio.NewReader(mine), cmd: exec.Command(argv[0], argv[1:]...), said: &tail{}, gone: make(chan struct{})}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = its, its, c.said
	c.cmd.WaitDelay = time.Second
	if err := c.cmd.Start(); err != nil {
		return nil, errors.Join(err, mine.Close())
	}
	go func() {
		_ = c.cmd.Wait() // what it complained of is what counts
		close(c.gone)
	}()
	return c, nil
}

// pair are the two ends of one connection: ours, and what a program is given. No program that
// is started meanwhile has them open.
func pair() (net.Conn, *os.File, error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	ours, its := os.NewFile(uintptr(fds[0]), "ssh"), os.NewFile(uintptr(fds[1]), "ssh")
	defer ours.Close()
	c, err := net.FileConn(ours)
	if err != nil {
		return nil, nil, errors.Join(err, its.Close())
	}
	return c, its, nil
}

// greeted reads up to the greeting.
func (c *conn) greeted() error {
	for read := 0; read < mostBefore; {
		line, err := c.in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if strings.HasPrefix(string(line), Greeting) {
			return nil
		}
		read += len(line)
	}
	return errors.New("what answers there is no custos bridge")
}

// why is what ssh, or the program at the other end, complained of; else what went wrong here.
func (c *conn) why(err error) string {
	<-c.gone // it was closed
	if said := c.said.String(); said != "" {
		return said
	}
	return err.Error()
}

func (c *conn) Read(b []byte) (int, error) { return c.in.Read(b) }

// Close ends the connection, and ssh with it.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.end.Do(func() { _ = c.cmd.Process.Signal(syscall.SIGTERM) }) // it may have ended
	return err
}

// tail keeps the last of what is written.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	t.b = t.b[max(0, len(t.b)-mostSaid):]
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(string(t.b)), " ")
}
