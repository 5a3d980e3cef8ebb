package daemon

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"custos/internal/api"
	"custos/internal/caller"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/remote"
	"custos/internal/server"
	"custos/internal/store"
	"custos/internal/sys/netpeer"
	"custos/internal/sys/proc"
	"custos/internal/terminal/live"
	"custos/internal/web"
)

// webPage is the page of a daemon: where it listens, who may see it, and who asks.
type webPage struct {
	s     *system
	asked chan webAsk // of the daemon's part; nobody takes it where there is none

	live *live.Hub // the terminals that are looked at

	mu      sync.Mutex
	address string // "" while it is off
	trouble string // why it cannot listen where it is to
	lent    string // where it listens only because a person asked for it; "" for nowhere
}

var (
	_ control.Web  = (*webPage)(nil)
	_ web.Sessions = (*webPage)(nil)
	_ web.Peers    = (*webPage)(nil)
)

// webAsk has the page opened, or stopped.
type webAsk struct {
	stop bool
	done chan error
}

// webAgain is how long is waited before an address that is taken is tried again.
const webAgain = 10 * time.Second

// onDemand is where the page is served that only a person has asked for.
const onDemand = "127.0.0.1:0"

// lendAt notes where the page is served only because a person asked for it: a daemon that
// begins anew goes on there.
func (p *webPage) lendAt(at string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lent = at
}

func (p *webPage) lentAt() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lent
}

func (p *webPage) set(address string, trouble error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.address, p.trouble = address, ""
	if trouble != nil {
		p.trouble = trouble.Error()
	}
}

// Where is the address of the page, and what keeps it from being there.
func (p *webPage) Where() (address, trouble string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.address, p.trouble
}

// run serves the page until ctx ends: from the beginning where custos.toml says so, else
// from when a person asks for it. An address that is taken is no reason not to watch: it is
// said, and tried again.
func (p *webPage) run(ctx context.Context, h http.Handler) {
	var served sync.WaitGroup
	defer served.Wait()
	p.endTyping(ctx)
	defer p.live.Close()
	end, wanted := func() {}, cmp.Or(p.s.served.Listen, p.lentAt())
	open := func() error {
		var err error
		end, err = p.open(ctx, h, wanted, &served)
		return err
	}
	again := time.NewTicker(webAgain)
	defer again.Stop()
	for {
		if address, _ := p.Where(); address == "" && wanted != "" {
			if err := open(); err != nil && ctx.Err() == nil {
				p.s.o.Log.Warn("Cannot serve the page", "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case ask := <-p.asked:
			ask.done <- p.answer(ask, open, &end, &wanted)
		case <-again.C:
		}
	}
}

// answer does what a person asks for.
func (p *webPage) answer(ask webAsk, open func() error, end *func(), wanted *string) error {
	address, _ := p.Where()
	switch {
	case ask.stop:
		*wanted = ""
		p.lendAt("")
		(*end)()
		p.set("", nil)
		return nil
	case address != "":
		return nil
	}
	if *wanted = p.s.served.Listen; *wanted == "" {
		*wanted = onDemand
	}
	return open()
}

// open listens, and serves until end is called or ctx ends.
func (p *webPage) open(ctx context.Context, h http.Handler, at string, served *sync.WaitGroup) (end func(), err error) {
	l, site, err := p.listen(at)
	if err != nil {
		p.set("", err)
		return func() {}, err
	}
	ctx, end = context.WithCancel(ctx)
	page, err := web.New(web.Options{API: h, Site: site, Sessions: p, Peers: p, Terminals: p.live, Refused: p.refused, Now: time.Now, Newest: p.s.changes.Newest, Hosts: p.others(ctx)})
	if err != nil {
		end()
		p.set("", err)
		return func() {}, errors.Join(err, l.Close())
	}
	p.set(p.called(site, l.Addr()), nil)
	if p.s.served.Listen == "" {
		p.lendAt(l.Addr().String())
	}
	p.s.o.Log.Info("The page is served", "at", l.Addr().String())
	served.Go(func() {
		if err := server.ServePage(ctx, l, page); err != nil && ctx.Err() == nil {
			p.set("", err)
			p.s.o.Log.Warn("Cannot serve the page", "err", err)
		}
	})
	return end, nil
}

// others are the other machines, until ctx ends: a page asks them while somebody looks at it.
// nil: there are none, and no hub that others could join. Who does something by the page was shown to be a
// person (Person).
func (p *webPage) others(ctx context.Context) web.Hosts {
	if len(p.s.hosts) == 0 && p.s.cfg.Joined == nil {
		return nil
	}
	w := remote.NewWatch(ctx, func() []remote.Host {
		all, _ := remote.Hosts(p.s.cfg) // which was read before
		return all
	}, nil, p.s.changes.Note)
	w.Hear(func(ctx context.Context, since int64) (api.HubLooks, error) { return p.s.hubLooks(ctx, since), nil })
	return w
}

func (p *webPage) listen(at string) (net.Listener, web.Site, error) {
	site := web.Site{Names: p.s.served.Names, Behind: p.s.served.Behind, TLS: p.s.served.Cert != ""}
	var secure *tls.Config
	if site.TLS {
		cert, err := tls.LoadX509KeyPair(p.s.served.Cert, p.s.served.Key)
		if err != nil {
			return nil, site, fmt.Errorf("cannot serve the page: its certificate cannot be read: %w", err)
		}
		secure = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		return nil, site, fmt.Errorf("cannot serve the page at %s: %w: say another address by listen in [web] of custos.toml", at, err)
	}
	site.Port = l.Addr().(*net.TCPAddr).Port
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	return l, site, nil
}

// called is how a person's browser calls the page.
func (p *webPage) called(site web.Site, at net.Addr) string {
	if site.Behind != "" {
		return site.Behind
	}
	scheme, host := "http", at.(*net.TCPAddr).IP
	if site.TLS {
		scheme = "https"
	}
	name := host.String()
	switch {
	case site.TLS && len(site.Names) > 0: // without, they are for who has TLS in front of it
		name = site.Names[0]
	case !host.IsLoopback():
		name = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(name, strconv.Itoa(site.Port))
}

// Open has the page listen, where it does not.
func (p *webPage) Open(ctx context.Context) (string, error) {
	if err := p.ask(ctx, false); err != nil {
		return "", err
	}
	address, trouble := p.Where()
	if address == "" {
		return "", &api.Error{Kind: api.CannotLook, Message: "cannot show the page: " + trouble, Hint: "custos health"}
	}
	return address, nil
}

// Pages are the paths of what it shows.
func (p *webPage) Pages() []string { return web.Pages() }

// Stop has it listen no more, until it is asked for again or the daemon begins anew.
func (p *webPage) Stop(ctx context.Context) error { return p.ask(ctx, true) }

func (p *webPage) ask(ctx context.Context, stop bool) error {
	if !p.s.daemon {
		return &api.Error{Kind: api.CannotLook, Message: "cannot do this: no daemon runs, and the page is the daemon's", Hint: "custos up"}
	}
	ask := webAsk{stop, make(chan error, 1)}
	select {
	case p.asked <- ask:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-ask.done:
		if err != nil {
			return &api.Error{Kind: api.CannotLook, Message: err.Error(), Hint: "custos health"}
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Sessions lists what lets somebody see the page.
func (p *webPage) Sessions(ctx context.Context) ([]fleet.WebSession, error) {
	all, err := recall(ctx, p.s.ledger, func(st *store.Store) ([]fleet.WebSession, error) { return st.WebSessions(ctx) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return all, err
}

// Edit changes that list.
func (p *webPage) Edit(ctx context.Context, edit func([]fleet.WebSession) ([]fleet.WebSession, fleet.Event, error)) error {
	if err := p.s.begin(ctx); err != nil {
		return err
	}
	st, err := p.s.ledger.writer(ctx)
	if err != nil {
		return err
	}
	return st.EditWebSessions(ctx, p.s.world.Now(), edit)
}

// Of finds whose a cookie is. Where that cannot be read it is nobody's.
func (p *webPage) Of(ctx context.Context, cookie string) (web.Session, bool) {
	all, err := p.Sessions(ctx)
	if err != nil {
		p.s.o.Log.Warn("Cannot tell who asks for the page", "err", err)
		return web.Session{}, false
	}
	s, ok := ledger.WebSession(all, control.WebProof(cookie), p.s.world.Now())
	return webSession(s), ok
}

func webSession(s fleet.WebSession) web.Session {
	return web.Session{ID: s.ID, By: s.By, Link: s.Kind == fleet.WebLink, Agent: s.Agent, Project: s.Project, Page: s.Page, Terminal: s.Terminal || s.Kind == fleet.WebPerson}
}

// Enter returns the cookie for the token of an address: of an invitation a new one, of a
// link its own, for it may be shown to several.
func (p *webPage) Enter(ctx context.Context, token, browser string) (cookie string, until time.Time, s web.Session, err error) {
	proof, now := control.WebProof(token), p.s.world.Now()
	all, err := p.Sessions(ctx)
	if link, ok := ledger.WebSession(all, proof, now); ok && link.Kind == fleet.WebLink {
		return token, link.Until.Wall, webSession(link), nil
	}
	if err == nil { // who tries tokens has nothing written
		_, _, err = ledger.RedeemInvitation(all, proof, fleet.WebSession{}, now)
	}
	if err != nil {
		return "", time.Time{}, s, reasonOf(err)
	}
	cookie = rand.Text() + rand.Text()
	fresh := fleet.WebSession{ID: rand.Text()[:8], Hash: control.WebProof(cookie), Browser: fleet.Line(browser, 120)}
	err = p.Edit(ctx, func(all []fleet.WebSession) ([]fleet.WebSession, fleet.Event, error) {
		all, made, err := ledger.RedeemInvitation(all, proof, fresh, now)
		fresh = made
		return all, fleet.Event{Kind: "web.session", Text: fmt.Sprintf("the address of %s was opened: session %s of the page, by %s", made.By, made.ID, made.Browser)}, err
	})
	return cookie, fresh.Until.Wall, webSession(fresh), reasonOf(err)
}

// reasonOf is an error of the ledger in its own words.
func reasonOf(err error) error {
	if errors.Is(err, ledger.ErrIllegal) {
		return errors.New(control.Reason(err.Error()))
	}
	return err
}

// Leave ends a session, as its browser wishes.
func (p *webPage) Leave(ctx context.Context, id string) error {
	return p.Edit(ctx, func(all []fleet.WebSession) ([]fleet.WebSession, fleet.Event, error) {
		left, _, err := ledger.RevokeWebSession(all, id, p.s.world.Now())
		return left, fleet.Event{Kind: "web.revoked", Text: "session " + id + " of the page was signed out"}, err
	})
}

// refused writes down what was refused to whom.
func (p *webPage) refused(ctx context.Context, what string) {
	p.note(ctx, fleet.Event{Kind: "web.refused", Text: "refused by the page: " + what})
}

// note writes down what happened by the page.
func (p *webPage) note(ctx context.Context, e fleet.Event) {
	e.At, e.Text = p.s.world.Now(), fleet.Line(e.Text, 400)
	st, err := p.s.ledger.writer(ctx)
	if err == nil {
		err = st.Record(ctx, e)
	}
	if err != nil {
		p.s.o.Log.Warn("Cannot write down what happened by the page", "what", e.Text, "err", err)
	}
}

// Looks returns the context of a question that changes nothing: this process asks it.
func (p *webPage) Looks(ctx context.Context) context.Context {
	return server.WithCaller(ctx, server.Caller{UID: os.Getuid(), PID: os.Getpid()})
}

// Person returns the context of who does something by the page: of the process at the other
// end, where it is on this machine, when it and whoever else may hold its socket is shown
// to be no agent. From elsewhere, and behind a proxy, the session is the only proof; but an
// agent that is seen is refused there, too.
func (p *webPage) Person(ctx context.Context, from, to netip.AddrPort, proxied bool) (context.Context, error) {
	peer, err := netpeer.Find(from, to)
	if err != nil {
		if here, unknown := netpeer.IsHere(from.Addr()); proxied || !here && unknown == nil {
			return server.WithCaller(ctx, server.Caller{UID: os.Getuid(), Person: true}), nil
		}
		return nil, cannotTell(err)
	}
	pids, err := caller.Suspects(peer, proc.Nested())
	if err != nil && !proxied {
		return nil, cannotTell(err)
	}
	for _, pid := range pids {
		agent, err := p.s.agentOf(ctx, server.Caller{UID: peer.UID, PID: pid})
		switch {
		case agent != "":
			return nil, fmt.Errorf("cannot do this for agent %s: it takes a person", fleet.Line(strings.TrimPrefix(agent, control.Marked), 80))
		case err != nil && !proxied:
			return nil, cannotTell(err)
		}
	}
	if proxied {
		peer.UID = os.Getuid() // the proxy may be another user's
	}
	return server.WithCaller(ctx, server.Caller{UID: peer.UID, Person: true}), nil
}

func cannotTell(err error) error {
	return fmt.Errorf("cannot do this: who asks cannot be shown to be no agent: %w; do it on the machine by the command, or see custos help web.md on proxies", err)
}
