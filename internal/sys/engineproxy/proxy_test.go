package engineproxy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
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

	"custos/internal/sys/engine"
	"custos/internal/sys/engineproxy"
	"custos/internal/sys/enginetest"
)

// notes is a log that a test reads.
type notes struct {
	mu   sync.Mutex
	text strings.Builder
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

// proxied serves a proxy of an engine until the test ends, and returns its socket.
func proxied(t *testing.T, o engineproxy.Options) (socket string, log *notes) {
	t.Helper()
	dir, err := os.MkdirTemp("", "ep")
	if err != nil {
		t.Fatal(err)
	}
	log = &notes{}
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	socket = filepath.Join(dir, "p.sock")
	l, err := engineproxy.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- engineproxy.New(o).Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		os.RemoveAll(dir)
	})
	return socket, log
}

func everything(f *enginetest.Fake) engineproxy.Options {
	return engineproxy.Options{Socket: f.Socket, Restart: []string{"web"}, PruneImages: true, PruneCache: true}
}

// send writes a request as it stands, and returns the status and the body.
func send(t *testing.T, socket, request string) (int, string) {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(enginetest.Patience))
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(request, " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func get(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n" }

func post(path string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
}

// All that Custos asks of an engine goes through, and says the same.
func TestAllThatCustosAsks(t *testing.T) {
	f := enginetest.New(t)
	began := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	f.Set(enginetest.Container{ID: "abc", Name: "web", Image: "web:1", ImageID: "sha256:used", State: "running", Started: began, Created: began,
		Health: "unhealthy", Said: "no answer", Policy: "on-failure", Retries: 5, Limit: 1 << 20, Memory: 400, CPU: 3 * time.Second, OOM: true, Exit: 3,
		Labels: map[string]string{"com.docker.compose.project": "shop"}})
	f.SetImages(enginetest.Image{ID: "sha256:old", Size: 1000, Shared: 600})
	f.SetCache(enginetest.Record{ID: "a", Type: "regular", Size: 70, Used: began, Parents: []string{"b"}}, enginetest.Record{ID: "b", Type: "regular", Size: 7, Used: time.Now()})
	f.Behind(10 * time.Minute)
	socket, log := proxied(t, everything(f))
	for _, version := range []string{enginetest.Version, "1.52"} {
		f.Speak(version)
		if straight, through := looks(t, f.Socket), looks(t, socket); straight != through || !strings.Contains(straight, "shop") {
			t.Errorf("by API %s the engine says\n%s\nand through the proxy\n%s", version, straight, through)
		}
	}
	w, err := engine.NewWriter(socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Restart(t.Context(), "abc"); err != nil || f.Get("web").Started.Equal(began) {
		t.Errorf("the restart: %v, and it runs since %s", err, f.Get("web").Started)
	}
	if freed, err := w.Prune(t.Context()); err != nil || freed != 400 {
		t.Errorf("images: freed %d, %v", freed, err)
	}
	if freed, err := w.PruneCache(t.Context(), 24*time.Hour); err != nil || freed != 70 {
		t.Errorf("cache: freed %d, %v", freed, err)
	}
	if n := strings.Count(log.String(), "Let through"); n != 3 || strings.Contains(log.String(), "Refused") {
		t.Errorf("want three changes in the log, and no refusal:\n%s", log)
	}
}

// looks asks all that a Reader can.
func looks(t *testing.T, socket string) string {
	t.Helper()
	r, err := engine.NewReader(socket)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	say := func(v any, err error) {
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(&out, "%+v\n", v)
	}
	list, err := r.List(t.Context())
	say(list, err)
	detail, err := r.Inspect(t.Context(), "abc")
	say(detail, err)
	info, err := r.Info(t.Context())
	info.Server = "" // who answers is all that the proxy says otherwise
	say(info, err)
	usage, err := r.Usage(t.Context(), "abc")
	usage.At = time.Time{}
	say(usage, err)
	images, err := r.Dangling(t.Context(), nil)
	say(images, err)
	cache, err := r.BuildCache(t.Context(), 24*time.Hour)
	say(cache, err)
	now, told := r.Now()
	fmt.Fprint(&out, told, time.Since(now).Round(time.Minute))
	return out.String()
}

// Nothing else goes through: the engine is not even asked.
func TestNothingElse(t *testing.T) {
	f := enginetest.New(t)
	f.Set(enginetest.Container{ID: "abc", Name: "web", State: "running"}, enginetest.Container{ID: "def", Name: "web2", State: "running"},
		enginetest.Container{ID: "db", Name: "db", State: "running"})
	unnamed, unused := `%7B%22dangling%22%3A%7B%22true%22%3Atrue%7D%7D`, `%7B%22until%22%3A%7B%2224h%22%3Atrue%7D%7D`
	socket, log := proxied(t, everything(f))
	for name, request := range map[string]string{
		"create":                   "POST /v1.41/containers/create HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
		"create without a body":    post("/containers/create"),
		"exec":                     post("/containers/abc/exec"),
		"start":                    post("/containers/abc/start"),
		"stop":                     post("/containers/abc/stop"),
		"kill":                     post("/containers/abc/kill"),
		"attach":                   post("/containers/abc/attach?stream=1"),
		"logs":                     get("/containers/abc/logs?stdout=1"),
		"top":                      get("/containers/abc/top"),
		"files":                    get("/containers/abc/archive?path=/etc/shadow"),
		"export":                   get("/containers/abc/export"),
		"delete":                   "DELETE /containers/abc HTTP/1.1\r\nHost: x\r\n\r\n",
		"build":                    post("/build"),
		"pull":                     post("/images/create?fromImage=x"),
		"volumes":                  get("/volumes"),
		"prune volumes":            post("/volumes/prune"),
		"prune containers":         post("/containers/prune"),
		"prune networks":           post("/networks/prune"),
		"secrets":                  get("/secrets"),
		"swarm":                    post("/swarm/init"),
		"plugins":                  get("/plugins"),
		"session":                  post("/session"),
		"grpc":                     post("/grpc"),
		"prune all images":         post("/images/prune?filters=%7B%22dangling%22%3A%7B%22false%22%3Atrue%7D%7D"),
		"prune without a filter":   post("/images/prune"),
		"prune by two":             post("/images/prune?filters=%7B%22dangling%22%3A%7B%22true%22%3Atrue%2C%22false%22%3Atrue%7D%7D"),
		"prune, said twice":        post("/images/prune?filters=%7B%22dangling%22%3A%7B%22false%22%3Atrue%7D%2C%22dangling%22%3A%7B%22true%22%3Atrue%7D%7D"),
		"prune with two filters":   post("/images/prune?filters=" + unnamed + "&filters=" + unused),
		"cache, all":               post("/build/prune?all=1&filters=" + unused),
		"cache, of now":            post("/build/prune?filters=%7B%22until%22%3A%7B%221s%22%3Atrue%7D%7D"),
		"cache without a filter":   post("/build/prune"),
		"cache, kept":              post("/build/prune?keep-storage=1&filters=" + unused),
		"a restart of another":     post("/containers/db/restart"),
		"a restart by its ID":      post("/containers/def/restart"),
		"a restart with a signal":  post("/containers/web/restart?signal=SIGKILL"),
		"a restart with a body":    "POST /containers/web/restart HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
		"a restart with chunks":    "POST /containers/web/restart HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"a restart by GET":         get("/containers/web/restart"),
		"an upgrade":               "POST /containers/web/restart HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n",
		"an upgrade of a look":     "GET /events HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, upgrade\r\n\r\n",
		"a way up":                 get("/containers/json/../../images/abc/json"),
		"a way up, hidden":         get("/containers/%2e%2e/secrets/json"),
		"a slash, hidden":          get("/containers/abc%2Fexec/json"),
		"two slashes":              get("//containers/json"),
		"slash at the end":         get("/containers/json/"),
		"two versions":             get("/v1.41/v1.41/containers/json"),
		"no such version":          get("/v9/containers/json"),
		"a version with more":      get("/v1.41x/containers/json"),
		"a name with a question":   get("/containers/web%3fx/json"),
		"a name that is two dots":  post("/containers/../restart"),
		"another server":           "GET http://elsewhere/containers/json HTTP/1.1\r\nHost: x\r\n\r\n",
		"a tunnel":                 "CONNECT elsewhere:80 HTTP/1.1\r\nHost: x\r\n\r\n",
		"all":                      "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
		"endless figures":          get("/containers/abc/stats"),
		"endless figures, by word": get("/containers/abc/stats?stream=true"),
		"sizes of all":             get("/system/df"),
		"sizes of volumes":         get("/system/df?type=volume"),
		"sizes of containers":      get("/containers/json?size=1"),
		"no filters":               get("/containers/json?filters=x"),
		"a long filter":            get("/containers/json?filters=" + strings.Repeat("x", 5000)),
		"a query that is none":     get("/containers/json?%zz"),
		"an image":                 get("/images/web:1/json"),
	} {
		t.Run(name, func(t *testing.T) {
			before := len(f.Asked())
			status, body := send(t, socket, request)
			if status != http.StatusForbidden && status != http.StatusBadRequest {
				t.Errorf("the answer is %d %s", status, body)
			}
			asked := f.Asked()[before:]
			if slices.ContainsFunc(asked, func(a string) bool {
				return !strings.HasSuffix(a, "/json") || !strings.HasPrefix(a, "GET /containers/")
			}) {
				t.Errorf("the engine was asked %q", asked)
			}
			if status == http.StatusForbidden && !strings.Contains(body, `"message":"custos engine-proxy: `) {
				t.Errorf("it does not say why: %s", body)
			}
		})
	}
	if n := strings.Count(log.String(), "msg=Refused "); n < 40 {
		t.Errorf("only %d refusals were written down:\n%s", n, log)
	}
}

// What was not allowed when the proxy was started is refused.
func TestNothingIsAllowedByItself(t *testing.T) {
	f := enginetest.New(t)
	f.Set(enginetest.Container{ID: "abc", Name: "web", State: "running"})
	f.SetImages(enginetest.Image{ID: "sha256:old", Size: 1000})
	socket, _ := proxied(t, engineproxy.Options{Socket: f.Socket})
	w, err := engine.NewWriter(socket)
	if err != nil {
		t.Fatal(err)
	}
	_, images := w.Prune(t.Context())
	_, cache := w.PruneCache(t.Context(), 24*time.Hour)
	for flag, err := range map[string]error{"--allow-restart": w.Restart(t.Context(), "abc"), "--allow-prune-images": images, "--allow-prune-cache": cache} {
		if err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("want a refusal that names %s, not %v", flag, err)
		}
	}
	if slices.ContainsFunc(f.Asked(), func(a string) bool { return strings.HasPrefix(a, "POST") }) {
		t.Errorf("the engine was asked %q", f.Asked())
	}
}

// What an engine says beside what was asked for does not get out.
func TestAnswersAreCut(t *testing.T) {
	f := enginetest.New(t)
	const secret = "hunter2"
	answers := map[string]string{
		"/containers/json":     `[{"Id":"abc","Names":["/web"],"Command":"x --token=hunter2","Labels":{"key":"hunter2","com.docker.compose.service":"web"},"Mounts":[{"Source":"hunter2"}]}]`,
		"/containers/abc/json": `{"Id":"abc","Name":"/web","Args":["hunter2"],"Path":"hunter2","State":{"Status":"running","Pid":7,"Health":{"Log":[{"Output":"web"}]}},"Config":{"Image":"web:1","Env":["A=hunter2"],"Cmd":["hunter2"],"Labels":{"a":"hunter2"},"Healthcheck":{"Test":["hunter2"]}},"HostConfig":{"Binds":["/hunter2:/x"]},"Mounts":["hunter2"],"NetworkSettings":{"a":"hunter2"},"State2":{"a":["hunter2"]}}`,
		"/info":                `{"ServerVersion":"web","HttpProxy":"http://hunter2@x","Labels":["hunter2"],"RegistryConfig":{"a":"hunter2"}}`,
		"/images/json":         `[{"Id":"web","Labels":{"a":"hunter2"},"RepoTags":["hunter2"]}]`,
		"/system/df":           `{"BuildCache":[{"ID":"web","Description":"RUN x hunter2"}],"Volumes":[{"Name":"hunter2"}]}`,
		"/version":             `{"Version":"web","Components":[{"Details":{"a":"hunter2"}}]}`,
	}
	f.Break(func(w http.ResponseWriter, r *http.Request) bool {
		text, ok := answers[r.URL.Path]
		w.Header().Set("X-Secret", secret)
		_, _ = io.WriteString(w, text)
		return ok
	})
	socket, _ := proxied(t, everything(f))
	for path := range answers {
		ask := path
		if path == "/system/df" {
			ask += "?type=build-cache"
		}
		if status, body := send(t, socket, get(ask)); status != http.StatusOK || strings.Contains(body, secret) || !strings.Contains(body, "web") {
			t.Errorf("%s is %d %s", path, status, body)
		}
	}
}

// Events come as they are, without the command lines of what is run in containers.
func TestEvents(t *testing.T) {
	f := enginetest.New(t)
	f.Break(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/events") {
			return false
		}
		for _, line := range []string{
			`{"Type":"container","Action":"exec_create: sh -c hunter2","status":"exec_create: sh -c hunter2","Actor":{"ID":"abc","Attributes":{"name":"web","execID":"1","token":"hunter2"}},"time":7}`,
			`{"Type":"container","Action":"health_status: healthy","Actor":{"ID":"abc"}}`, `["hunter2"]`, `no JSON: hunter2`, `{"Action":"die"}`} {
			_, _ = io.WriteString(w, line+"\n")
		}
		return true
	})
	socket, log := proxied(t, everything(f))
	status, body := send(t, socket, get("/v1.41/events?filters=%7B%22type%22%3A%7B%22container%22%3Atrue%7D%7D"))
	lines := strings.Split(strings.TrimSpace(body), "\n")
	if status != http.StatusOK || len(lines) != 3 || strings.Contains(body, "hunter2") {
		t.Fatalf("the events are %d\n%s", status, body)
	}
	var first, second struct {
		Action string
		Actor  struct{ Attributes map[string]string }
	}
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil || first.Action != "exec_create" || len(first.Actor.Attributes) != 1 || first.Actor.Attributes["name"] != "web" {
		t.Errorf("the first is %s (%v)", lines[0], err)
	}
	if err := json.Unmarshal([]byte(lines[1]), &second); err != nil || second.Action != "health_status: healthy" {
		t.Errorf("the second is %s (%v)", lines[1], err)
	}
	if !strings.Contains(log.String(), "an event of the engine cannot be read") {
		t.Errorf("that they ended is not written down:\n%s", log)
	}
}

// Who goes before a look is answered is refused nothing; of a restart it is written down.
func TestWhoAskedHasGone(t *testing.T) {
	f := enginetest.New(t)
	o, log := everything(f), &notes{}
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	p := engineproxy.New(o)
	gone, leave := context.WithCancel(t.Context())
	leave()
	p.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/info", nil).WithContext(gone))
	if log.String() != "" {
		t.Errorf("of a look that nobody waits for is written down:\n%s", log)
	}
	p.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/containers/abc/restart", nil).WithContext(gone))
	if !strings.Contains(log.String(), "who asked has gone") {
		t.Errorf("of a restart that nobody waits for is written down: %q", log)
	}
}

// Who answers says so: an engine, or the proxy, whatever the engine calls itself.
func TestItSaysThatItIsAProxy(t *testing.T) {
	f := enginetest.New(t)
	socket, _ := proxied(t, everything(f))
	for at, want := range map[string]string{f.Socket: enginetest.Server, socket: engineproxy.Name} {
		r, err := engine.NewReader(at)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := r.Info(t.Context()); err != nil || info.Server != want {
			t.Errorf("at %s there is %q (%v), want %q", at, info.Server, err, want)
		}
	}
}

// A watcher hears what happens, and that the engine has gone.
func TestListeningThroughIt(t *testing.T) {
	f := enginetest.New(t)
	socket, _ := proxied(t, everything(f))
	r, err := engine.NewReader(socket)
	if err != nil {
		t.Fatal(err)
	}
	heard, ended := make(chan struct{}, 100), make(chan error, 1)
	go func() { ended <- r.Listen(t.Context(), func() { heard <- struct{}{} }) }()
	wait(t, heard)
	f.Tell("die", "abc")
	wait(t, heard)
	f.Stop()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the engine went away, and nothing was said")
		}
	case <-time.After(enginetest.Patience):
		t.Fatal("the engine went away, and it is still listened to")
	}
	if status, body := send(t, socket, get("/info")); status != http.StatusBadGateway {
		t.Errorf("an engine that is gone says %d %s", status, body)
	}
}

func wait(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(enginetest.Patience):
		t.Fatal("nothing was heard")
	}
}

// What an engine answers that is no answer is none through the proxy, either.
func TestBrokenEngines(t *testing.T) {
	f := enginetest.New(t)
	socket, _ := proxied(t, everything(f))
	for name, fault := range map[string]func(http.ResponseWriter){
		"a web page": func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") },
		"redirect":   func(w http.ResponseWriter) { w.Header().Set("Location", "/secrets"); w.WriteHeader(302) },
		"hung up":    func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"endless": func(w http.ResponseWriter) {
			row := []byte(strings.Repeat(`{"Id":"a"},`, 4096))
			for _, err := w.Write([]byte("[")); err == nil; {
				_, err = w.Write(row)
			}
		},
	} {
		f.Break(func(w http.ResponseWriter, _ *http.Request) bool { fault(w); return true })
		for _, ask := range []string{get("/containers/json"), post("/containers/web/restart")} {
			if status, body := send(t, socket, ask); status != http.StatusBadGateway {
				t.Errorf("%s: %d %.200s", name, status, body)
			}
		}
	}
}

// A container that is restarted is the one whose name was looked at, though another has it by then.
func TestARestartIsOfTheContainerThatWasLookedAt(t *testing.T) {
	f := enginetest.New(t)
	f.Set(enginetest.Container{ID: "abc", Name: "web", State: "running"})
	f.Break(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != "GET" || !strings.HasSuffix(r.URL.Path, "/containers/web/json") {
			return false
		}
		_, _ = io.WriteString(w, `{"Id":"abc","Name":"/web"}`)
		return true
	})
	socket, _ := proxied(t, everything(f))
	if status, body := send(t, socket, post("/v1.41/containers/web/restart")); status != http.StatusNoContent {
		t.Errorf("the restart is %d %s", status, body)
	}
	if asked := f.Asked(); asked[len(asked)-1] != "POST /containers/abc/restart" {
		t.Errorf("the engine was asked %q", asked)
	}
	if status, _ := send(t, socket, post("/containers/nobody/restart")); status != http.StatusNotFound {
		t.Errorf("a restart of nobody is %d", status)
	}
}

// The socket is its user's alone; what lies there is not taken away while it is used.
func TestThePlaceOfTheSocket(t *testing.T) {
	f := enginetest.New(t)
	socket, _ := proxied(t, everything(f))
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v, %v", info.Mode(), err)
	}
	if _, err := engineproxy.Listen(socket); err == nil || !strings.Contains(err.Error(), "another process listens there") {
		t.Errorf("a second one began: %v", err)
	}
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := engineproxy.Listen(file); err == nil {
		t.Error("a file was replaced")
	}
	left := filepath.Join(filepath.Dir(socket), "left")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: left})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	again, err := engineproxy.Listen(left)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

// A real engine behind it: what is in a container's environment stays there, and nothing is begun.
func TestReal(t *testing.T) {
	e := enginetest.Real(t)
	id := e.Run(t, enginetest.Run{Name: "web", Command: []string{"/inside", "run"}, Policy: "unless-stopped"})
	other := e.Run(t, enginetest.Run{Name: "db", Command: []string{"/inside", "run"}})
	socket, log := proxied(t, engineproxy.Options{Socket: e.Socket, Restart: []string{"web"}, PruneImages: true, PruneCache: true})
	w, err := engine.NewWriter(socket)
	if err != nil {
		t.Fatal(err)
	}
	list, err := w.List(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("the list is %+v, %v", list, err)
	}
	before, err := w.Inspect(t.Context(), id)
	if err != nil || before.State != "running" || before.Policy != "unless-stopped" {
		t.Fatalf("the container is %+v, %v", before, err)
	}
	if u, err := w.Usage(t.Context(), id); err != nil || u.CPU <= 0 {
		t.Errorf("it uses %+v, %v", u, err)
	}
	if i, err := w.Info(t.Context()); err != nil || i.Version == "" {
		t.Errorf("the engine is %+v, %v", i, err)
	}
	if err := w.Restart(t.Context(), id); err != nil {
		t.Errorf("the restart: %v", err)
	}
	if after, err := w.Inspect(t.Context(), id); err != nil || after.Run == before.Run || after.State != "running" {
		t.Errorf("after its restart it is %+v, %v", after, err)
	}
	if err := w.Restart(t.Context(), other); err == nil || !strings.Contains(err.Error(), "none of those that may be restarted") {
		t.Errorf("the restart of another: %v", err)
	}
	e.Dangle(t, 1<<20)
	if freed, err := w.Prune(t.Context()); err != nil || freed < 1<<20 {
		t.Errorf("freed %d, %v", freed, err)
	}
	if _, err := w.PruneCache(t.Context(), 24*time.Hour); err != nil {
		t.Errorf("the build cache: %v", err)
	}
	if _, err := w.BuildCache(t.Context(), 24*time.Hour); err != nil {
		t.Errorf("the build cache: %v", err)
	}
	_, body := send(t, socket, get("/containers/"+id+"/json"))
	if strings.Contains(body, "PATH=") || strings.Contains(body, "Cmd") {
		t.Errorf("too much is shown: %s", body)
	}
	if n := strings.Count(log.String(), "msg=Refused "); n != 1 {
		t.Errorf("want one refusal in the log:\n%s", log)
	}
}

// Whatever is asked, either it is refused or a request of the table comes out.
func FuzzRequests(f *testing.F) {
	fake := enginetest.New(f)
	proxy := engineproxy.New(everything(fake))
	f.Add("GET", "/v1.41/containers/json?all=1")
	f.Add("POST", "/containers/web/restart")
	f.Add("POST", "/containers/../secrets/restart")
	f.Add("GET", "/containers/%2e%2e/json?x=y")
	f.Fuzz(func(t *testing.T, method, path string) {
		if strings.HasSuffix(path, "/events") || strings.Contains(path, "/events?") {
			return // which has no end
		}
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(method + " " + path + " HTTP/1.1\r\nHost: x\r\n\r\n")))
		if err != nil {
			return
		}
		before := len(fake.Asked())
		proxy.ServeHTTP(&nowhere{h: http.Header{}}, r)
		for _, asked := range fake.Asked()[before:] {
			if !known(asked) {
				t.Errorf("%s %q became %q", method, path, asked)
			}
		}
	})
}

// known says whether a request that reached the engine is one of the table.
func known(asked string) bool {
	method, path, _ := strings.Cut(asked, " ")
	parts := strings.Split(path, "/")
	switch {
	case method == "POST":
		return path == "/images/prune" || path == "/build/prune" || len(parts) == 4 && parts[1] == "containers" && parts[3] == "restart"
	case method != "GET" && method != "HEAD":
		return false
	case slices.Contains([]string{"/_ping", "/version", "/info", "/containers/json", "/images/json", "/system/df"}, path):
		return true
	}
	return len(parts) == 4 && parts[1] == "containers" && (parts[3] == "json" || parts[3] == "stats")
}

type nowhere struct{ h http.Header }

func (n *nowhere) Header() http.Header         { return n.h }
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n *nowhere) WriteHeader(int)             {}
