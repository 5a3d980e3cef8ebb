package daemon

import (
	"net"
	"net/netip"
	"testing"

	"custos/internal/catalog"
	"custos/internal/sys/proc"
	"custos/internal/web"
)

// Behind a proxy, and from another machine, the session is the proof; of a process on this
// machine that cannot be found nothing is taken.
func TestWhoCannotBeFoundIsNoPerson(t *testing.T) {
	p := &webPage{s: &system{world: &catalog.World{Procs: proc.NewReader(proc.TableOptions{})}}}
	here, there := netip.MustParseAddrPort("127.0.0.1:7777"), netip.MustParseAddrPort("127.0.0.1:1")
	for _, c := range []struct {
		name    string
		from    netip.AddrPort
		proxied bool
		ok      bool
	}{
		{"here, and gone", there, false, false},
		{"here by IPv6, and gone", netip.MustParseAddrPort("[::1]:1"), false, false},
		{"here by IPv4 in IPv6, and gone", netip.MustParseAddrPort("[::ffff:127.0.0.1]:1"), false, false},
		{"behind a proxy", there, true, true},
		{"elsewhere", netip.MustParseAddrPort("192.0.2.7:50000"), false, true},
	} {
		if _, err := p.Person(t.Context(), c.from, here, c.proxied); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// The page is called as browsers are to call it.
func TestWhatThePageIsCalled(t *testing.T) {
	for want, c := range map[string]struct {
		site web.Site
		at   string
	}{
		"http://127.0.0.1:7777":    {web.Site{Port: 7777}, "127.0.0.1"},
		"http://[::1]:7777":        {web.Site{Port: 7777}, "::1"},
		"http://[::1]:7391":        {web.Site{Port: 7391, Names: []string{"box.lan"}}, "::1"},
		"https://127.0.0.1:7777":   {web.Site{Port: 7777, TLS: true}, "0.0.0.0"},
		"https://box.lan:7777":     {web.Site{Port: 7777, TLS: true, Names: []string{"box.lan", "box"}}, "0.0.0.0"},
		"https://box.tail.example": {web.Site{Port: 7777, Behind: "https://box.tail.example", Names: []string{"box"}}, "127.0.0.1"},
	} {
		if got := (&webPage{}).called(c.site, &net.TCPAddr{IP: net.ParseIP(c.at), Port: 7777}); got != want {
			t.Errorf("%+v at %s: %s, want %s", c.site, c.at, got, want)
		}
	}
}
