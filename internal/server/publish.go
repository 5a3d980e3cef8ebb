package server

import (
	"context"
	"net"
	"net/http"
	"os"
	"path"
	"strings"

	"custos/internal/api"
)

// Published is a socket at which a Custos elsewhere, as that of another container, may look at
// what this one sees: no more than that.
type Published struct {
	Socket string                                // path; "" publishes nothing
	Token  func(context.Context) (string, error) // which has to be shown
}

// ListenPublished makes the socket. Other users may connect with it, for containers seldom
// share a user: it is the token that is asked for.
func ListenPublished(p Published) (net.Listener, error) {
	l, err := Listen(p.Socket)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(p.Socket, 0o666); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// GuardPublished lets through to h what only looks, of whoever shows the token. To h it is asked
// for by somebody of whom it is not known here whether an agent runs it: what takes a person is
// refused.
func GuardPublished(p Published, h http.Handler) http.Handler {
	refuse := func(w http.ResponseWriter, req *http.Request, why, hint string) {
		(&server{}).fail(w, req, &api.Error{Kind: api.Forbidden, Message: why, Hint: hint})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case !bears(req, p.Token):
			refuse(w, req, "cannot answer: the token of [publish] is needed", "")
		case req.Method != http.MethodGet:
			refuse(w, req, "cannot do this from outside: what is published may only be looked at, and orders are typed where its agents run", "custos help hosts.md")
		case isOfHub(req.URL.Path):
			refuse(w, req, "cannot tell of other hosts: what is published is what this one sees", "custos help hosts.md")
		default:
			req = req.Clone(WithCaller(req.Context(), self()))
			req.Header.Del(api.ForHost)
			req.Header.Set(api.OnBehalf, "an unknown asker outside")
			req.Header.Del("Authorization")
			h.ServeHTTP(w, req)
		}
	})
}

// isOfHub says whether a path tells of the other hosts of a hub.
func isOfHub(at string) bool {
	at = path.Clean("/" + at)
	return at == "/v1/hub" || strings.HasPrefix(at, "/v1/hub/")
}
