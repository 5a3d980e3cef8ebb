package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"custos/internal/api"
)

// cookie is what the session is called in a browser. With TLS the name itself keeps others
// from setting it; without, the port is in it: two daemons of one machine share cookies.
func (s *site) cookie(r *http.Request) string {
	if s.Site.isSafe(r.Host) {
		return "__Host-custos"
	}
	return "custos-" + strconv.Itoa(s.Site.Port)
}

// enter takes the token of an address, once of an invitation, and goes on without it.
func (s *site) enter(w http.ResponseWriter, r *http.Request) {
	value, until, session, err := s.Sessions.Enter(r.Context(), r.URL.Query().Get("token"), r.UserAgent())
	if err != nil {
		s.refuse(w, r, http.StatusUnauthorized, "This address cannot be used: "+sentence(err)+" Ask for another one on the machine: custos web", "")
		return
	}
	if known, ok := s.known(r); ok && !known.Link && session.Link { // a person sees what the link shows as it is
		http.Redirect(w, r, session.begins(), http.StatusSeeOther)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: s.cookie(r), Value: value, Path: "/", Expires: until,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.Site.isSafe(r.Host)})
	http.Redirect(w, r, session.begins(), http.StatusSeeOther)
}

// begins is the first page that a session shows.
func (s Session) begins() string {
	switch {
	case s.Agent != "":
		return agentPath(s.Agent)
	case s.Project != "":
		return "/agents"
	case s.Page != "":
		return s.Page
	}
	return "/"
}

// shows says whether a session shows an address at all. What a link to a project shows of
// an agent, the page of that agent says.
func (s Session) shows(path string) bool {
	switch {
	case !s.Link || path == "/changes":
		return true
	case s.Agent != "":
		return path == agentPath(s.Agent) || ofTerminal(path) == agentPath(s.Agent)
	case s.Project != "":
		return path == "/agents" || ofTerminal(path) != "" || strings.HasPrefix(path, "/agents/") && strings.Count(path, "/") == 2
	}
	return path == s.Page
}

// showsRow says whether a session shows an agent.
func (s Session) showsRow(a api.AgentRow) bool {
	return !s.Link || s.Agent == a.Name || s.Project != "" && s.Project == a.Project || s.Page != ""
}

type sessionKey struct{}

// sessionOf is the session of a request that has passed seen.
func sessionOf(r *http.Request) Session {
	s, _ := r.Context().Value(sessionKey{}).(Session)
	return s
}

// seen lets who has a session pass, to what that shows.
func (s *site) seen(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, ok := s.known(r)
		switch {
		case !ok:
			s.refuse(w, r, http.StatusUnauthorized, "This browser is not let in, or not any more. Ask for an address on the machine: custos web. If you have just opened one: go on.", "/")
		case !session.shows(r.URL.EscapedPath()):
			s.refuse(w, r, http.StatusForbidden, "This link does not show that.", session.begins())
		case session.Link && r.Method != http.MethodGet:
			s.refuse(w, r, http.StatusForbidden, "With this link you can look, and do nothing.", session.begins())
		default:
			next(w, r.WithContext(context.WithValue(r.Context(), sessionKey{}, session)))
		}
	})
}

func (s *site) known(r *http.Request) (Session, bool) {
	c, err := r.Cookie(s.cookie(r))
	if err != nil {
		return Session{}, false
	}
	return s.Sessions.Of(r.Context(), c.Value)
}

// deed is a thing that a person does, and where to look what became of it.
type deed func(ctx context.Context, r *http.Request) (next string, err error)

// done does it for who is shown to be a person.
func (s *site) done(do deed) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, err := s.person(r)
		if err != nil {
			s.refuse(w, r, http.StatusForbidden, sentence(err), "/")
			return
		}
		var big *http.MaxBytesError
		if err := r.ParseForm(); errors.As(err, &big) {
			s.say(w, r, http.StatusRequestEntityTooLarge, notice{Title: "It was not done", Says: fmt.Sprintf("cannot read the form: it is larger than %d bytes", big.Limit), GoOn: r.URL.EscapedPath()})
			return
		} else if err != nil {
			s.fail(w, r, api.AsBadInput(fmt.Errorf("cannot read the form: %w", err)))
			return
		}
		next, err := do(ctx, r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		http.Redirect(w, r, s.told(next), http.StatusSeeOther)
	}
}

func (s *site) person(r *http.Request) (context.Context, error) {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return nil, fmt.Errorf("cannot do this: it is not known who asks: %w", err)
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local == nil {
		return nil, fmt.Errorf("cannot do this: it is not known who asks")
	}
	to, err := netip.ParseAddrPort(local.String())
	if err != nil {
		return nil, fmt.Errorf("cannot do this: it is not known who asks: %w", err)
	}
	return s.Peers.Person(r.Context(), from, to, s.Site.isProxied(r.Host))
}

// changes has the daemon tell this page of changes, for as long as its session is good.
func (s *site) changes(w http.ResponseWriter, r *http.Request) {
	if s.Hosts != nil && !sessionOf(r).Link {
		defer s.Hosts.Hold()()
	}
	w.Header().Set(asItComes())
	asked := r.Clone(s.Peers.Looks(r.Context()))
	asked.URL.Path, asked.URL.RawPath, asked.RequestURI = "/v1/changes", "", "/v1/changes"
	s.API.ServeHTTP(&lasting{ResponseWriter: w, good: func() bool { _, ok := s.known(r); return ok }}, asked)
}

// lasting is a stream that breaks off when its session has ended.
type lasting struct {
	http.ResponseWriter
	good func() bool
}

func (l *lasting) Write(b []byte) (int, error) {
	if !l.good() {
		return 0, fmt.Errorf("cannot go on: the session has ended")
	}
	return l.ResponseWriter.Write(b)
}

// Unwrap has the stream be flushed, and its deadline be set.
func (l *lasting) Unwrap() http.ResponseWriter { return l.ResponseWriter }

func (s *site) leave(ctx context.Context, r *http.Request) (string, error) {
	return "/", s.Sessions.Leave(ctx, sessionOf(r).ID)
}

// refuse answers that it is not to be, and why.
func (s *site) refuse(w http.ResponseWriter, r *http.Request, status int, why, goOn string) {
	if s.isTold(r, status) {
		s.Refused(context.WithoutCancel(r.Context()), fmt.Sprintf("%s %.200s of %s%s: %s", r.Method, r.URL.Path, r.RemoteAddr, asWhom(r), why))
	}
	s.say(w, r, status, notice{Title: http.StatusText(status), Says: why, GoOn: goOn})
}

// isTold says whether a refusal is written down: of what would have done something, and of
// what another page, or a foreign name, has a browser look at; but not each time of a flood,
// and a flood of looks hides nothing of the others.
func (s *site) isTold(r *http.Request, status int) bool {
	switch {
	case status == http.StatusNotFound:
		return false
	case r.Method != http.MethodGet:
		return s.refusals.admits()
	}
	return (status == http.StatusForbidden || status == http.StatusMisdirectedRequest) && s.glances.admits()
}

// asWhom is how this machine was called, and which page had its browser ask.
func asWhom(r *http.Request) string {
	said := fmt.Sprintf(", called %.80q", r.Host)
	if origin := r.Header.Get("Origin"); origin != "" {
		said += fmt.Sprintf(", by the page %.80q", origin)
	}
	return said
}

// fail answers what the API has refused, or could not do.
func (s *site) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := api.ErrorOf(err)
	if e.Kind == api.NotFound && r.Method == http.MethodGet { // it is not there the next time, either
		s.say(w, r, e.HTTPStatus(), notice{Title: "It is not there", Says: e.Message, Command: e.Hint, GoOn: "/"})
		return
	}
	s.say(w, r, e.HTTPStatus(), notice{Title: "It was not done", Says: e.Message, Command: e.Hint, GoOn: r.URL.EscapedPath()})
}

// sentence ends with a full stop.
func sentence(err error) string { return strings.TrimRight(err.Error(), ".") + "." }
