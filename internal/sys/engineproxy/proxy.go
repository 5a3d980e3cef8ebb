package engineproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Options say what a proxy lets through, besides looks.
type Options struct {
	Socket      string       // of the engine: the path of a unix socket
	Restart     []string     // names of containers that may be restarted
	PruneImages bool         // images that nothing names or uses may be removed
	PruneCache  bool         // build cache that no build used for an hour, or longer, may be removed
	Log         *slog.Logger // every refusal, and every change and how it ended
}

const (
	most     = 16 << 20 // bytes of one answer
	longest  = 256 << 10
	atOnce   = 32              // requests
	patience = 5 * time.Minute // of all but a stream: a container may take its time to stop
)

// Proxy answers for an engine. It is safe for concurrent use.
type Proxy struct {
	o      Options
	base   *http.Transport
	places chan struct{}
	record *record
}

// New returns a proxy; it does not connect yet.
func New(o Options) *Proxy {
	var d net.Dialer
	return &Proxy{o: o, places: make(chan struct{}, atOnce), record: newRecord(o.Log), base: &http.Transport{
		DialContext:  func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, "unix", o.Socket) },
		MaxIdleConns: 4, IdleConnTimeout: 30 * time.Second, DisableCompression: true,
	}}
}

// refusal is why something is not let through, and with which status that is said.
type refusal struct {
	status int
	why    string
}

func no(format string, args ...any) *refusal {
	return &refusal{http.StatusForbidden, fmt.Sprintf(format, args...)}
}

// Name is what the proxy calls itself in the header Server of each answer, where an engine
// says what it is.
const Name = "custos-engine-proxy"

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Server", Name)
	select {
	case p.places <- struct{}{}:
		defer func() { <-p.places }()
	default:
		p.refuse(w, r, &refusal{http.StatusServiceUnavailable, fmt.Sprintf("%d others are asking already", atOnce)})
		return
	}
	a, id, prefix, not := p.read(r)
	if not != nil {
		p.refuse(w, r, not)
		return
	}
	ctx := r.Context()
	if !a.stream {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, patience)
		defer stop()
	}
	not = p.carry(ctx, w, r, a, id, prefix)
	if a.needs == nothing && r.Context().Err() != nil {
		return // nobody waits for the look any more, who could be refused one
	}
	if not != nil {
		p.refuse(w, r, not)
	}
}

// read understands a request, or says why it is not let through.
func (p *Proxy) read(r *http.Request) (a ask, id, prefix string, not *refusal) {
	switch {
	case r.Header.Get("Upgrade") != "" || strings.Contains(strings.ToLower(strings.Join(r.Header["Connection"], ",")), "upgrade"):
		return a, "", "", no("a connection stays what it is: nothing is upgraded")
	case r.ContentLength != 0 || len(r.TransferEncoding) > 0:
		return a, "", "", no("nothing that may be asked has a body")
	case !strings.HasPrefix(r.RequestURI, "/") || r.URL.EscapedPath() != r.URL.Path || r.URL.RawPath != "":
		return a, "", "", no("the path is not written plainly")
	}
	a, id, prefix, ok := find(r.Method, r.URL.Path)
	if !ok {
		return a, "", "", no("it is none of what may be asked")
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return a, "", "", no("the query cannot be read")
	}
	if wrong := a.wrong(q); wrong != "" {
		return a, "", "", no("%s", wrong)
	}
	return a, id, prefix, p.allows(a.needs)
}

// allows says whether what changes something was allowed at all.
func (p *Proxy) allows(n need) *refusal {
	switch {
	case n == restart && len(p.o.Restart) == 0:
		return no("no container may be restarted: see --allow-restart")
	case n == pruneImages && !p.o.PruneImages:
		return no("images may not be removed: see --allow-prune-images")
	case n == pruneCache && !p.o.PruneCache:
		return no("build cache may not be removed: see --allow-prune-cache")
	}
	return nil
}

// carry asks the engine, and answers with what may be shown of it.
func (p *Proxy) carry(ctx context.Context, w http.ResponseWriter, r *http.Request, a ask, id, prefix string) *refusal {
	name := ""
	if a.needs == restart {
		var not *refusal
		if id, name, not = p.restartable(ctx, prefix, id); not != nil {
			return not
		}
	}
	resp, err := p.engine(ctx, r.Method, prefix+strings.ReplaceAll(a.path, "{id}", id), r.URL.Query())
	if err != nil {
		return unreached(err)
	}
	defer resp.Body.Close()
	if a.needs != nothing {
		p.record.changed(a, name, id, resp.StatusCode)
	}
	if a.stream && resp.StatusCode == http.StatusOK {
		p.stream(w, resp, a.show)
		return nil
	}
	return answer(w, r, resp, a.show)
}

// engine asks one thing of the engine; redirects are not followed.
func (p *Proxy) engine(ctx context.Context, method, path string, q url.Values) (*http.Response, error) {
	to := url.URL{Scheme: "http", Host: "engine", Path: path, RawQuery: q.Encode()}
	req, err := http.NewRequestWithContext(ctx, method, to.String(), nil)
	if err != nil {
		return nil, err
	}
	return p.base.RoundTrip(req)
}

// restartable finds the container that is meant, by the engine's own word, and says whether
// it is one of those that were named. It is then spoken of by its ID: a name may go to another
// container meanwhile.
func (p *Proxy) restartable(ctx context.Context, prefix, ref string) (id, name string, not *refusal) {
	resp, err := p.engine(ctx, "GET", prefix+"/containers/"+ref+"/json", nil)
	if err != nil {
		return "", "", unreached(err)
	}
	defer resp.Body.Close()
	text, err := whole(resp.Body)
	if err != nil {
		return "", "", unreached(err)
	}
	if resp.StatusCode == http.StatusNotFound {
		return "", "", &refusal{http.StatusNotFound, "there is no such container"}
	}
	var c struct{ ID, Name string }
	if err := json.Unmarshal(text, &c); err != nil || resp.StatusCode != http.StatusOK || !isID(c.ID) {
		return "", "", &refusal{http.StatusBadGateway, "the engine does not say which container that is"}
	}
	name = strings.TrimPrefix(c.Name, "/")
	if !slices.Contains(p.o.Restart, name) {
		return "", "", no("container %.64q is none of those that may be restarted: see --allow-restart", name)
	}
	return c.ID, name, nil
}

// isID says whether a text may stand in a path as the ID of a container.
func isID(text string) bool { return reference.MatchString(text) }

func unreached(err error) *refusal {
	if errors.Is(err, context.Canceled) {
		return &refusal{http.StatusServiceUnavailable, "who asked has gone"}
	}
	return &refusal{http.StatusBadGateway, "the engine cannot be asked: " + err.Error()}
}

var errLong = fmt.Errorf("its answer has more than %d MiB", most>>20)

// whole reads an answer.
func whole(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && len(text) > most {
		return nil, errLong
	}
	return text, err
}

func decode(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// carried are the headers of an answer that go on to who asked: by Date Custos tells the
// time at the engine, by Api-Version which API it speaks.
func carried() []string { return []string{"Api-Version", "Date", "Ostype"} }

func copyHeader(w http.ResponseWriter, resp *http.Response) {
	for _, name := range carried() {
		if v := resp.Header.Get(name); v != "" {
			w.Header().Set(name, v)
		}
	}
}

// answer says what the engine said, as far as it is shown.
func answer(w http.ResponseWriter, r *http.Request, resp *http.Response, show fields) *refusal {
	if resp.StatusCode < 200 || resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return &refusal{http.StatusBadGateway, "the engine answers with something else than an answer: " + resp.Status}
	}
	text, err := whole(resp.Body)
	if err != nil {
		return unreached(err)
	}
	text, err = toShow(text, resp.StatusCode, show)
	if err != nil {
		return &refusal{http.StatusBadGateway, "the engine's answer cannot be read: " + err.Error()}
	}
	copyHeader(w, resp)
	if len(text) > 0 {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(resp.StatusCode)
	if r.Method != http.MethodHead {
		_, _ = w.Write(text)
	}
	return nil
}

func toShow(text []byte, status int, show fields) ([]byte, error) {
	switch {
	case status >= 400:
		show = errorFields()
	case show == nil:
		return nil, nil
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	return show.only(text)
}

// refuse says why something was not done, to who asked and to the log.
func (p *Proxy) refuse(w http.ResponseWriter, r *http.Request, why *refusal) {
	p.record.refused(r, why)
	text, err := json.Marshal(map[string]string{"message": "custos engine-proxy: " + why.why})
	if err != nil {
		text = []byte(`{}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Connection", "close") // what follows on it may be a body that was not read
	w.WriteHeader(why.status)
	_, _ = w.Write(text)
}
