package caller

import (
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"custos/internal/fleet"
	"custos/internal/sys/netpeer"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"
)

// Who hides is a suspect only where all processes of the machine are seen, and while they
// are few; where nobody is to be seen, nothing can be told.
func TestSuspects(t *testing.T) {
	many := make([]int, mostSuspects+1)
	for _, c := range []struct {
		name   string
		peer   netpeer.Peer
		nested bool
		want   []int
	}{
		{"who holds it", netpeer.Peer{PIDs: []int{7, 8}}, true, []int{7, 8}},
		{"one who hides", netpeer.Peer{Hidden: []int{9}}, false, []int{9}},
		{"one who hides, or is elsewhere", netpeer.Peer{Hidden: []int{9}}, true, nil},
		{"many who hide", netpeer.Peer{Hidden: many}, false, nil},
		{"nobody", netpeer.Peer{}, false, nil},
	} {
		got, err := Suspects(c.peer, c.nested)
		if !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
}

// What an sshd tells of its client is read as it writes it, and of anything else nothing is taken.
func TestEndsOfAnSSHConnection(t *testing.T) {
	for text, want := range map[string][2]string{
		"192.0.2.7 50000 192.0.2.8 22":          {"192.0.2.7:50000", "192.0.2.8:22"},
		"::1 50000 ::1 22":                      {"[::1]:50000", "[::1]:22"},
		"fe80::1%eth0 50000 fe80::2%eth0 2222":  {"[fe80::1%eth0]:50000", "[fe80::2%eth0]:2222"},
		"UNKNOWN 65535 UNKNOWN 65535":           {}, // it speaks to its client by no TCP
		"192.0.2.7 50000 192.0.2.8":             {},
		"192.0.2.7 50000 192.0.2.8 22 and more": {},
		"192.0.2.7 99999 192.0.2.8 22":          {},
		"":                                      {},
	} {
		client, server, err := ends(text)
		if (err == nil) != (want[0] != "") {
			t.Errorf("%q: %v", text, err)
		}
		if err == nil && (client != netip.MustParseAddrPort(want[0]) || server != netip.MustParseAddrPort(want[1])) {
			t.Errorf("%q: %s, %s", text, client, server)
		}
	}
}

// Whoever is at the client's end of a connection with an sshd of this machine may be whom an
// sshd works for, and who only might be an sshd counts as one. What is between an sshd and
// another one is not asked: it has a beginning.
func TestWhoMayBeBehindAnSSHD(t *testing.T) {
	sshd, other := begun(t, "sshd", nil).ID.PID, begun(t, "tmux", nil).ID.PID
	agent := begun(t, "tmux", []string{shim.Marker + "=dev:1:" + key}).ID.PID
	of := func(pids ...int) netpeer.Peer { return netpeer.Peer{UID: os.Getuid(), PIDs: pids} }
	hides := func(pids ...int) netpeer.Peer { return netpeer.Peer{UID: os.Getuid(), Hidden: pids} }
	for what, c := range map[string]struct {
		link  netpeer.Link
		doubt string
	}{
		"an agent's":                       {netpeer.Link{Server: of(sshd), Caller: of(agent)}, "that is agent dev:1"},
		"an agent's, beside an sshd":       {netpeer.Link{Server: of(sshd), Caller: of(sshd, agent)}, "that is agent dev:1"},
		"an agent's, where sshd hides":     {netpeer.Link{Server: hides(other, sshd), Caller: of(agent)}, "that is agent dev:1"},
		"an agent's, with another service": {netpeer.Link{Server: of(other), Caller: of(agent)}, ""},
		"an agent's, with what is no sshd": {netpeer.Link{Server: hides(other), Caller: of(agent)}, ""},
		"of one sshd with another":         {netpeer.Link{Server: of(sshd), Caller: of(sshd)}, ""},
		"of one sshd that hides":           {netpeer.Link{Server: hides(sshd), Caller: hides(sshd)}, ""},
		"of who is gone":                   {netpeer.Link{Server: of(sshd), Gone: true}, "not to be seen any more"},
		"of who has ended meanwhile":       {netpeer.Link{Server: of(sshd), Caller: of(nobody)}, "its ancestors cannot be followed"},
	} {
		_, ok, err := finder().inquire(fleet.Snapshot{}).link(c.link)
		if ok || (err != nil) != (c.doubt != "") || err != nil && !strings.Contains(err.Error(), c.doubt) {
			t.Errorf("%s: %v, %v; want %q", what, ok, err, c.doubt)
		}
	}
}

// What says that it was begun by an sshd is believed where such a connection is there.
func TestOfASpoofedConnectionNothingIsTaken(t *testing.T) {
	sshd := begun(t, "sshd", nil)
	for _, env := range [][]string{nil, {"SSH_CONNECTION=192.0.2.7 50000 127.0.0.1 22"}, {"SSH_CONNECTION=UNKNOWN 65535 UNKNOWN 65535"}} {
		_, ok, err := finder().Whose(fleet.Snapshot{}, []proc.Stat{begun(t, "tmux", env), sshd, {ID: proc.ID{PID: 1}}})
		if ok || err == nil || !strings.Contains(err.Error(), "it has come by ssh, and it is not told from where") {
			t.Errorf("%q: %v, %v", env, ok, err)
		}
	}
}
