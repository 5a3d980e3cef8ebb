// Package enginetest gives tests a container engine: a fake one that speaks the
// API over a unix socket and can be broken in every way, built from the public
// description of the Docker Engine API; and a real one of the test's own (Real),
// where the machine has one and lets it run.
package enginetest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Container is one container of the fake.
type Container struct {
	ID, Name, Image, ImageID string
	Labels                   map[string]string

	State             string
	Started, Finished time.Time
	Created           time.Time
	Exit              int
	OOM               bool
	Error             string
	Health, Said      string // "" for no health check
	Restarts          int
	Policy            string
	Retries           int
	Limit, Memory     int64
	CPU               time.Duration
}

// Image is one image that nothing names.
type Image struct {
	ID           string
	Size, Shared int64
}

// Fake is an engine that runs nothing.
type Fake struct {
	Socket string

	mu         sync.Mutex
	containers []Container
	images     []Image
	cache      []Record
	version    string        // of the API
	behind     time.Duration // how much its clock is behind ours
	news       chan struct{} // closed when something was said
	said       []string
	asked      []string // METHOD /path, without the version
	fault      func(w http.ResponseWriter, r *http.Request) bool
	onRestart  func(c *Container)
	server     *httptest.Server
}

// New starts a fake engine that ends with the test.
func New(t testing.TB) *Fake {
	t.Helper()
	f := &Fake{Socket: filepath.Join(short(t), "e.sock"), news: make(chan struct{}), version: Version}
	f.onRestart = func(c *Container) { c.State, c.Started, c.Exit, c.Restarts, c.Error = "running", f.Clock(), 0, 0, "" }
	f.Start(t)
	t.Cleanup(f.Stop)
	return f
}

// short is a folder whose name is short enough for a socket.
func short(t testing.TB) string {
	dir, err := os.MkdirTemp("", "ce")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Start has the engine listen, again after Stop.
func (f *Fake) Start(t testing.TB) {
	t.Helper()
	l, err := net.Listen("unix", f.Socket)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(f.handler())
	s.Listener.Close()
	s.Listener = l
	s.Start()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.server = s
}

// Stop ends it, and every stream of events with it. The socket goes too.
func (f *Fake) Stop() {
	f.mu.Lock()
	s := f.server
	f.server = nil
	f.mu.Unlock()
	if s != nil {
		s.CloseClientConnections()
		s.Close()
	}
}

// Set puts containers in place of those of the same names.
func (f *Fake) Set(list ...Container) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range list {
		f.containers = slices.DeleteFunc(f.containers, func(old Container) bool { return old.Name == c.Name })
		if c.ID == "" {
			c.ID = fmt.Sprintf("%064x", len(f.containers)+1)
		}
		f.containers = append(f.containers, c)
	}
}

// Remove takes a container away.
func (f *Fake) Remove(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.containers = slices.DeleteFunc(f.containers, func(c Container) bool { return c.Name == name })
}

// Get returns a container by its name.
func (f *Fake) Get(name string) Container {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.containers {
		if c.Name == name {
			return c
		}
	}
	return Container{}
}

// Change changes one container.
func (f *Fake) Change(name string, change func(*Container)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.containers {
		if f.containers[i].Name == name {
			change(&f.containers[i])
		}
	}
}

// OnRestart says what becomes of a container that is restarted.
func (f *Fake) OnRestart(do func(*Container)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.onRestart = do
}

// SetImages says which images nothing names.
func (f *Fake) SetImages(list ...Image) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.images = list
}

// Behind sets its clock back.
func (f *Fake) Behind(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.behind = d
}

// Clock is the time at the engine.
func (f *Fake) Clock() time.Time { return time.Now().Add(-f.behind).UTC() }

// Break answers requests in the engine's place where it returns true; nil mends it.
func (f *Fake) Break(fault func(w http.ResponseWriter, r *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// Tell sends an event to whoever listens.
func (f *Fake) Tell(action, id string) {
	event, _ := json.Marshal(map[string]any{"Type": "container", "Action": action, "Actor": map[string]any{"ID": id}, "time": time.Now().Unix()})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said = append(f.said, string(event))
	close(f.news)
	f.news = make(chan struct{})
}

// Asked lists what was asked, as METHOD /path.
func (f *Fake) Asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

// Fingerprint describes all that could be changed.
func (f *Fake) Fingerprint() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprintf("%+v\n%+v\n%+v", f.containers, f.images, f.cache)
}

// path is the path without the version of the API.
func path(r *http.Request) string {
	p := r.URL.Path
	if rest, ok := strings.CutPrefix(p, "/v1."); ok {
		_, p, _ = strings.Cut(rest, "/")
		p = "/" + p
	}
	return p
}

// Version is the version of the API that the fake speaks unless Speak says otherwise.
const Version = "1.44"

// Server is what the fake says that it is, as an engine does with each answer (moby/moby,
// daemon/server/middleware/version.go at v28.2.2).
const Server = "Docker/fake (linux)"

func (f *Fake) handler() http.Handler {
	api := http.NewServeMux()
	api.HandleFunc("/_ping", func(http.ResponseWriter, *http.Request) {})
	api.HandleFunc("GET /info", f.info)
	api.HandleFunc("GET /containers/json", f.list)
	api.HandleFunc("GET /containers/{id}/json", f.with(f.inspect))
	api.HandleFunc("GET /containers/{id}/stats", f.with(f.stats))
	api.HandleFunc("POST /containers/{id}/restart", f.restart)
	api.HandleFunc("GET /images/json", f.listImages)
	api.HandleFunc("POST /images/prune", f.prune)
	api.HandleFunc("GET /system/df", f.diskUsage)
	api.HandleFunc("POST /build/prune", f.pruneCache)
	api.HandleFunc("GET /events", f.events)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.asked = append(f.asked, r.Method+" "+path(r))
		fault, version := f.fault, f.version
		w.Header().Set("Date", time.Now().Add(-f.behind).UTC().Format(http.TimeFormat))
		f.mu.Unlock()
		w.Header().Set("Api-Version", version)
		w.Header().Set("Server", Server)
		if fault != nil && fault(w, r) {
			return
		}
		r.URL.Path = path(r)
		api.ServeHTTP(w, r)
	})
}

func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": why})
}

func (f *Fake) info(w http.ResponseWriter, _ *http.Request) {
	write(w, map[string]any{"ServerVersion": "fake", "DockerRootDir": "/var/lib/docker"})
}
