package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
)

// Caller is the process at the other end of the socket, as the kernel says.
type Caller struct {
	UID int
	PID int // 0 when the kernel does not say
	// Person: it was shown elsewhere, as by a session of the page, that a person asks.
	Person bool
	// Behalf is the agent of another machine that asks through the caller; "" for none.
	Behalf string
	// From is the host of the hub at which the person sits; "" for this one.
	From string
	// Asks: what is ordered waits for a person here.
	Asks bool
}

// Name is the caller's user name, for the record; of who sits at another host, that.
func (c Caller) Name() string {
	if c.From != "" {
		return "person@" + c.From
	}
	if u, err := user.LookupId(strconv.Itoa(c.UID)); err == nil {
		return u.Username
	}
	return "uid " + strconv.Itoa(c.UID)
}

type callerKey struct{}

// WithCaller returns the context of a request that this very process makes in the name of
// somebody else: of who asks for the page.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// connContext notes the caller's credentials when a connection begins. It is a
// field of the http.Server that Serve runs.
func connContext(ctx context.Context, conn net.Conn) context.Context {
	if c, err := PeerOf(conn); err == nil {
		return WithCaller(ctx, c)
	}
	return ctx
}

// PeerOf asks the kernel who made the connection (SO_PEERCRED).
func PeerOf(conn net.Conn) (Caller, error) {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return Caller{}, fmt.Errorf("cannot find out who calls: %T is no unix connection", conn)
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return Caller{}, fmt.Errorf("cannot find out who calls: %w", err)
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return Caller{}, fmt.Errorf("cannot find out who calls: %w", err)
	}
	return Caller{UID: int(cred.Uid), PID: int(cred.Pid)}, nil
}

// access says who may use a route.
type access int

const (
	anyone access = iota // of this user, or root
	person               // and no agent
)

// admit finds out who asks, and refuses those who may not.
func (s *server) admit(req *http.Request, a access) (Caller, error) {
	caller, known := req.Context().Value(callerKey{}).(Caller)
	if !known && s.InProcess {
		caller, known = self(), true
	}
	caller.Behalf = req.Header.Get(api.OnBehalf)
	if !known {
		return Caller{}, &api.Error{Kind: api.Forbidden, Message: "cannot answer: it is not known who asks"}
	}
	if caller.UID != os.Getuid() && caller.UID != 0 {
		return Caller{}, &api.Error{Kind: api.Forbidden, Message: fmt.Sprintf("cannot answer %s: this Custos belongs to another user", caller.Name())}
	}
	if a == person {
		return caller, s.personOnly(req.Context(), caller)
	}
	return caller, nil
}

// personOnly refuses agents, and callers that cannot be shown to be none.
func (s *server) personOnly(ctx context.Context, c Caller) error {
	agent, err := s.agentOf(ctx, c)
	return barred(c, agent, err)
}

// agentOf names the agent that a caller belongs to, "" for a person.
func (s *server) agentOf(ctx context.Context, c Caller) (string, error) {
	if c.Behalf != "" {
		return "", errors.New("an agent of another machine asks through it")
	}
	if s.AgentOf == nil || c.Person {
		return "", nil
	}
	return s.AgentOf(ctx, c)
}

// ErrUnseen is wrapped by AgentOf's error when agents are not seen at all now, so
// that no caller can be shown to be none.
var ErrUnseen = errors.New("agents are not seen now")

// brakeLook is how long who asks for a brake may be looked for: it must not wait for a look
// that hangs.
const brakeLook = 2 * time.Second

// noAgent refuses who is seen to be an agent. Where agents are not seen at all it lets
// a caller pass: what stops all that acts is needed most when nothing works.
func (s *server) noAgent(ctx context.Context, c Caller) error {
	ctx, cancel := context.WithTimeout(ctx, brakeLook)
	defer cancel()
	if err := s.personOnly(ctx, c); !errors.Is(err, ErrUnseen) {
		return err
	}
	return nil
}

// barred is the refusal of a caller who is an agent, or of whom a look could not
// name; nil for a person. It judges the one answer that was given: asked twice, a
// look that failed once would leave an order that no person gave.
func barred(c Caller, agent string, err error) error {
	switch {
	case c.Behalf != "":
		who := "an agent of another machine"
		if c.Behalf != control.Unnamed {
			who += " (" + fleet.Line(c.Behalf, 80) + ")"
		}
		return &api.Error{Kind: api.Forbidden, Message: "cannot do this for " + who + ": it takes a person there"}
	case err != nil:
		refusal := &api.Error{Kind: api.Forbidden, Message: fmt.Sprintf("cannot do this for process %d: it cannot be shown to be no agent: %v", c.PID, err)}
		if errors.Is(err, ErrUnseen) { // which passes, and then it is known
			refusal.Kind, refusal.Hint = api.Unseen, "custos health"
		}
		return errors.Join(refusal, err)
	case agent != "":
		return &api.Error{Kind: api.Forbidden, Message: fmt.Sprintf("cannot do this for agent %s: it takes a person", strings.TrimPrefix(agent, control.Marked))}
	}
	return nil
}
