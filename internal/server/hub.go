package server

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"

	"custos/internal/api"
	"custos/internal/fleet"
)

// ordered are what people at other hosts may do where a host lets them act: what is said of agents and
// of alerts, which this host's own guards judge. What changes its configuration, what it trusts,
// its daemon or its records is done on it.
var ordered = regexp.MustCompile(`^/v1/(orders|orders/[^/]+/cancel|alerts/[^/]+/(ack|approve|deny))$`)

// askable are those of them that wait for a person here, where a host wants that.
var askable = regexp.MustCompile(`^/v1/orders(/[^/]+/cancel)?$`)

// GuardHub lets through to h what a host of the hub may ask here: looks, and what a person there orders: where remote
// is "act" as if they sat here, where it is "ask" for a person here to approve of. Which host asks is known; who
// asks there has been found out there, and an agent is said to be one.
func GuardHub(from string, remote fleet.Remote, h http.Handler) http.Handler {
	acts, asks := remote == fleet.RemoteAct, remote == fleet.RemoteAsk
	refuse := func(w http.ResponseWriter, req *http.Request, why string) {
		(&server{}).fail(w, req, &api.Error{Kind: api.Forbidden, Message: why})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		behalf, c := req.Header.Get(api.OnBehalf), Caller{UID: os.Getuid(), From: from, Asks: asks}
		looks := req.Method == http.MethodGet
		switch {
		case looks && !acts:
			behalf = "an unknown asker at host " + from
		case looks || acts && req.Method == http.MethodPost && ordered.MatchString(req.URL.Path):
			c.Person = behalf == ""
		case asks && req.Method == http.MethodPost && askable.MatchString(req.URL.Path):
			c.Person = behalf == ""
		case asks && ordered.MatchString(req.URL.Path):
			refuse(w, req, `cannot do this from another host: what is ordered there waits for a person here (remote = "ask" in [hub] of its custos.toml), who says it`)
			return
		case acts || asks:
			refuse(w, req, "cannot do this from another host: it is done on the host itself")
			return
		default:
			refuse(w, req, `cannot do this from another host: this one only lets itself be looked at (remote = "view" in [hub] of its custos.toml)`)
			return
		}
		req = req.Clone(WithCaller(req.Context(), c))
		req.Header.Del(api.ForHost) // what is asked here is not asked of a third one
		if req.Header.Del(api.OnBehalf); behalf != "" {
			req.Header.Set(api.OnBehalf, behalf)
		}
		h.ServeHTTP(w, req)
	})
}

// WhileOne lets orders through to h while only one daemon tells under the name of this host; looks always. Of two the
// hub gives what is asked to either.
func WhileOne(isDoubled func() bool, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodGet || !isDoubled() {
			h.ServeHTTP(w, req)
			return
		}
		(&server{}).fail(w, req, &api.Error{Kind: api.CannotLook, Message: "nothing was done: two daemons tell under the name of this host, and it is not known which one is meant", Hint: "custos runbook host"})
	})
}

// forward hands what is asked for another host of the hub on to it (api.ForHost), and all else to h. Who
// asks is found out here, which that host cannot see: of an agent it is said, and what takes a person is not
// handed on of whom it cannot be shown that they are none.
func (s *server) forward(to func(host string) (http.RoundTripper, error), h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		host := req.Header.Get(api.ForHost)
		if host == "" {
			h.ServeHTTP(w, req)
			return
		}
		behalf, err := s.onBehalf(req)
		var way http.RoundTripper
		if err == nil {
			way, err = to(host)
		}
		if err != nil {
			s.fail(w, req, err)
			return
		}
		s.proxy(way, behalf).ServeHTTP(w, req)
	})
}

// onBehalf is the agent that makes a request; "" for a person, and for a look that anyone may have.
func (s *server) onBehalf(req *http.Request) (string, error) {
	c, err := s.admit(req, anyone)
	if err != nil || c.Behalf != "" {
		return c.Behalf, err
	}
	if req.Method == http.MethodGet && !api.IsPersonLook(req.URL.Path) {
		return "", nil
	}
	agent, err := s.agentOf(req.Context(), c)
	if err != nil {
		return "", barred(c, "", err)
	}
	return agent, nil
}

// proxy hands a request on. On whose behalf is written last: whoever asks may have headers taken out of what
// goes on (Connection), and that one is not theirs.
func (s *server) proxy(way http.RoundTripper, behalf string) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: "custos"})
			r.Out.Header.Del(api.ForHost)
			if r.Out.Header.Del(api.OnBehalf); behalf != "" {
				r.Out.Header.Set(api.OnBehalf, behalf)
			}
		},
		Transport: way, FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, req *http.Request, err error) { s.fail(w, req, err) },
	}
}
