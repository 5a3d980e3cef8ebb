package caller

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"custos/internal/fleet"
	"custos/internal/sys/netpeer"
	"custos/internal/sys/proc"
)

// inquiry finds whose a process is that may have come here through ssh, and whose each one is
// that it has come through.
type inquiry struct {
	Finder
	snap  fleet.Snapshot
	asked map[int]bool // processes that are judged already, or are being judged
	net   *netpeer.Net // nil: not looked at yet
	links bool         // the connections with the sshd's of this machine are judged, or being judged
}

// Whose is the agent that a process belongs to, given with its ancestors, and false for a
// person. An error means that it cannot be told, which counts as an agent.
func (f Finder) Whose(snap fleet.Snapshot, line []proc.Stat) (Agent, bool, error) {
	return f.inquire(snap).whose(line)
}

// WhoseKept is Whose without a look at the fleet: for when no daemon answers.
func (f Finder) WhoseKept(line []proc.Stat) (Agent, bool, error) {
	if a, ok := f.Kept(line); ok {
		return a, ok, nil
	}
	a, ok, err := f.inquire(fleet.Snapshot{}).through(line)
	if !ok && err == nil {
		err = job(line)
	}
	return a, ok, err
}

func (f Finder) inquire(snap fleet.Snapshot) *inquiry {
	return &inquiry{Finder: f, snap: snap, asked: map[int]bool{}}
}

func (q *inquiry) whose(line []proc.Stat) (Agent, bool, error) {
	if a, ok := q.Seen(q.snap, line); ok {
		return a, true, nil
	}
	a, ok, doubt := q.through(line)
	if ok || doubt != nil {
		return a, ok, doubt
	}
	name, err := q.Unseen(q.snap, line)
	return Agent{Name: name}, name != "", err
}

// process is whose for one of which only the number is known.
func (q *inquiry) process(pid int) (Agent, bool, error) {
	if q.asked[pid] {
		return Agent{}, false, nil
	}
	q.asked[pid] = true
	line, err := Line(q.Procs, pid)
	if err != nil {
		return Agent{}, false, err
	}
	return q.whose(line)
}

// first is the first agent among things, and else the first doubt.
func first[T any](things []T, judge func(T) (Agent, bool, error)) (Agent, bool, error) {
	var doubt error
	for _, thing := range things {
		a, ok, err := judge(thing)
		if ok {
			return a, ok, nil
		}
		if doubt == nil {
			doubt = err
		}
	}
	return Agent{}, false, doubt
}

// through judges who is at the other end of each ssh connection that a process was begun
// through: sshd tells what it starts, in its environment as the kernel keeps it, which nothing
// below can change. What was let go of, as a tmux server that was begun by ssh, has it too,
// unless it was taken away on purpose.
func (q *inquiry) through(line []proc.Stat) (Agent, bool, error) {
	if servesSSH(line[0]) {
		return q.forwarded()
	}
	var told []string
	for i, p := range line {
		value, is, err := q.Procs.Env(p.ID.PID, proc.SSHConnection)
		if i+1 < len(line) && servesSSH(line[i+1]) && !servesSSH(p) {
			if err == nil {
				err = q.serving(value, line[i+1:])
			}
			if err != nil {
				return Agent{}, false, fmt.Errorf("it has come by ssh, and it is not told from where: %w", err)
			}
		}
		if is && !slices.Contains(told, value) {
			told = append(told, value)
		}
	}
	return first(told, q.from)
}

// serving checks that there is a connection such as a process says that it was begun through,
// of the sshd above it where that is to be seen: one that an sshd has begun may have put
// another program, with an environment of its own, in its place.
func (q *inquiry) serving(connection string, above []proc.Stat) error {
	client, server, err := ends(connection)
	if err != nil {
		return err
	}
	net, err := q.look()
	if err != nil {
		return err
	}
	var pids []int
	for i := 0; i < len(above) && servesSSH(above[i]); i++ {
		pids = append(pids, above[i].ID.PID)
	}
	may, err := net.MayHold(pids, server, client)
	if err == nil && !may {
		err = fmt.Errorf("the connection from %s is another one's", client)
	}
	return err
}

// servesSSH says whether a process is of a server of ssh: the kernel's names of those of
// OpenSSH (sshd-session since 9.8), and of Dropbear.
func servesSSH(p proc.Stat) bool {
	return p.Comm == "sshd" || strings.HasPrefix(p.Comm, "sshd-") || p.Comm == "dropbear"
}

// from judges who is at the client's end of an ssh connection, as an sshd tells it. Who is at
// another machine is a person.
func (q *inquiry) from(connection string) (Agent, bool, error) {
	client, server, err := ends(connection)
	if err != nil {
		return Agent{}, false, fmt.Errorf("it has come by ssh, and it is not told from where: %w", err)
	}
	net, err := q.look()
	if err != nil {
		return Agent{}, false, err
	}
	peer, err := net.Peer(client, server)
	if err != nil {
		if here, unknown := netpeer.IsHere(client.Addr()); !here && unknown == nil {
			return Agent{}, false, nil
		}
		return Agent{}, false, fmt.Errorf("it has come by ssh from this machine, and by whose is not to be seen (%s): log in from another machine, or do it without ssh", client)
	}
	return q.holders(peer)
}

// ends reads "client port server port".
func ends(connection string) (client, server netip.AddrPort, err error) {
	f := strings.Fields(connection)
	if len(f) != 4 {
		return client, server, fmt.Errorf("%q is no connection", fleet.Line(connection, 80))
	}
	if client, err = address(f[0], f[1]); err == nil {
		server, err = address(f[2], f[3])
	}
	return client, server, err
}

func address(host, port string) (netip.AddrPort, error) {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	a, err := netip.ParseAddrPort(host + ":" + port)
	if err != nil {
		return a, fmt.Errorf("%q is no address", fleet.Line(host+":"+port, 80))
	}
	return a, nil
}

func (q *inquiry) look() (*netpeer.Net, error) {
	if q.net == nil {
		net, err := netpeer.Look()
		if err != nil {
			return nil, err
		}
		q.net = net
	}
	return q.net, nil
}

func (q *inquiry) holders(peer netpeer.Peer) (Agent, bool, error) {
	pids, err := Suspects(peer, proc.Nested())
	if err != nil {
		return Agent{}, false, err
	}
	return first(pids, q.process)
}

// forwarded judges what an sshd does for its client, as by ssh -L or -J. Which client that
// is, an sshd shows only to root: each connection from this machine to one is judged, and who
// comes from another machine is a person. The way of an agent through several sshd's begins
// with a connection that it holds itself, so those that an sshd holds say nothing.
func (q *inquiry) forwarded() (Agent, bool, error) {
	if q.links {
		return Agent{}, false, nil
	}
	q.links = true
	net, err := q.look()
	if err != nil {
		return Agent{}, false, err
	}
	links, err := net.Links()
	if err != nil {
		return Agent{}, false, err
	}
	return first(links, q.link)
}

func (q *inquiry) link(l netpeer.Link) (Agent, bool, error) {
	if !slices.ContainsFunc(slices.Concat(l.Server.PIDs, l.Server.Hidden), q.serves) {
		return Agent{}, false, nil
	}
	a, ok, err := q.client(l)
	if ok {
		err = fmt.Errorf("that is agent %s", a.Name)
	}
	if err != nil {
		err = fmt.Errorf("it has come through sshd, and so may have who is connected from %s to %s: %w", l.From, l.To, err)
	}
	return Agent{}, false, err
}

// client judges who is at the client's end of a connection with what may be an sshd: of root's
// processes who is not root sees the names only.
func (q *inquiry) client(l netpeer.Link) (Agent, bool, error) {
	peer, uid := l.Caller, os.Getuid()
	seen := len(peer.PIDs) + len(peer.Hidden)
	peer.PIDs = slices.DeleteFunc(slices.Clone(peer.PIDs), q.serves)
	peer.Hidden = slices.DeleteFunc(slices.Clone(peer.Hidden), q.serves)
	switch {
	case l.Gone:
		return Agent{}, false, errors.New("it is not to be seen any more")
	case seen > 0 && len(peer.PIDs)+len(peer.Hidden) == 0:
		return Agent{}, false, nil
	case uid != 0 && peer.UID != uid && len(peer.PIDs) == 0: // another user's, as which no agent of ours runs
		return Agent{}, false, nil
	}
	return q.holders(peer)
}

func (q *inquiry) serves(pid int) bool {
	p, err := q.Procs.Stat(pid)
	return err == nil && servesSSH(p)
}

// mostSuspects is how many processes are asked about each time something is done.
const mostSuspects = 16

// Suspects are the processes that may be at an end of a connection. nested: not all of the
// machine are seen.
func Suspects(peer netpeer.Peer, nested bool) ([]int, error) {
	switch {
	case len(peer.PIDs) > 0:
		return peer.PIDs, nil
	case len(peer.Hidden) == 0 || len(peer.Hidden) > mostSuspects || nested:
		return nil, errors.New("the process that asks is not to be seen")
	}
	return peer.Hidden, nil
}
