package web

import (
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Site is where the page is served.
type Site struct {
	Port   int      // that it listens at
	TLS    bool     // it speaks TLS itself
	Names  []string // of this machine, besides those of loopback
	Behind string   // origin of the proxy in front of it, like "https://box.tail.ts.net"; "" without
}

// guarded puts the guards in front, the first one outermost.
func (s *site) guarded(h http.Handler) http.Handler {
	for _, g := range slices.Backward([]func(http.Handler) http.Handler{
		s.headers,
		s.hosts,
		s.crossOrigin,
		s.methods,
		s.contentTypes,
	}) {
		h = g(h)
	}
	return h
}

// policy lets a page have what lies here, and nothing else; no frame has it, and no script
// makes elements of text. Forms go here alone: they work without JavaScript.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types 'none'"

// headers are on every answer, the refusals too.
func (s *site) headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// hosts answers who calls this machine by a name of its own. A name that a foreign page
// made lead here (DNS rebinding) is none. The server refuses several Host headers itself.
func (s *site) hosts(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.Site.isOwn(r.Host) {
			s.refuse(w, r, http.StatusMisdirectedRequest, "This Custos is not called by that name. If it is yours, add it to names in [web] of custos.toml.", "")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (t Site) isOwn(host string) bool {
	if t.isProxied(host) {
		return true
	}
	port := strconv.Itoa(t.Port)
	own := append([]string{"127.0.0.1", "localhost", "::1"}, t.Names...)
	return slices.ContainsFunc(own, func(name string) bool {
		return strings.EqualFold(host, net.JoinHostPort(name, port)) || t.isUsual() && strings.EqualFold(host, strings.TrimSuffix(net.JoinHostPort(name, ""), ":"))
	})
}

// isUsual says whether the port is the one that browsers leave out.
func (t Site) isUsual() bool { return t.TLS && t.Port == 443 || !t.TLS && t.Port == 80 }

// isProxied says whether it is the proxy that is called by this name.
func (t Site) isProxied(host string) bool {
	u, err := url.Parse(t.Behind)
	return t.Behind != "" && err == nil && strings.EqualFold(host, u.Host)
}

// origin is how a browser calls the site that it has reached by a host.
func (t Site) origin(host string) string {
	switch {
	case t.isProxied(host):
		return t.Behind
	case t.TLS:
		return "https://" + strings.ToLower(host)
	}
	return "http://" + strings.ToLower(host)
}

// isSafe says whether a browser reaches the host by TLS.
func (t Site) isSafe(host string) bool { return strings.HasPrefix(t.origin(host), "https://") }

// crossOrigin refuses what another page has a browser ask for: each request that may do
// something without the browser's word that this page makes it, and of the others whatever
// is not a person going to an address. Another port of this machine is another page: it
// gets the same cookies.
func (s *site) crossOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if protection.Check(r) != nil || !s.Site.isFromHere(r) {
			s.refuse(w, r, http.StatusForbidden, "Another page has your browser ask for this. Nothing was done.", "/")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (t Site) isFromHere(r *http.Request) bool {
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	if origin != "" && origin != "null" && !strings.EqualFold(origin, t.origin(r.Host)) {
		return false
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return site == "" || site == "same-origin" || site == "none" || r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	}
	// With no-referrer a browser's own form says "null": only its word on the site counts.
	return site == "same-origin" || site == "" && strings.EqualFold(origin, t.origin(r.Host))
}

// methods are the two that there are.
func (s *site) methods(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodPost {
			w.Header().Set("Allow", "GET, POST")
			s.refuse(w, r, http.StatusMethodNotAllowed, "The page is only read, and its forms are only sent.", "/")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// mostForm is what a form may have: a message may have a mebibyte, and its spelling may
// triple it.
const mostForm = 4 << 20

// contentTypes are those of the page's own forms.
func (s *site) contentTypes(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if r.Method == http.MethodPost && (err != nil || kind != "application/x-www-form-urlencoded") {
			s.refuse(w, r, http.StatusUnsupportedMediaType, "Only the forms of this page are taken.", "/")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, mostForm)
		next.ServeHTTP(w, r)
	})
}

// pace admits so many a minute.
type pace struct {
	most int
	now  func() time.Time

	mu    sync.Mutex
	since time.Time
	n     int
}

func newPace(most int, now func() time.Time) *pace { return &pace{most: most, now: now} }

func (p *pace) admits() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	// a clock that was set back begins a new minute, lest it lasts for hours
	if gone := p.now().Sub(p.since); gone < 0 || gone >= time.Minute {
		p.since, p.n = p.now(), 0
	}
	p.n++
	return p.n <= p.most
}
