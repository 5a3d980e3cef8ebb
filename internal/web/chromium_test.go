package web

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"custos/internal/api"
	"custos/internal/web/chromiumtest"
)

// served is a page of a world at a real port, for a real browser.
type served struct {
	*world
	base string

	mu      sync.Mutex
	changes chan struct{} // each tells the browser of a change
}

func serve(t testing.TB) *served {
	t.Helper()
	return serveWorld(t, newWorld(t))
}

func serveWorld(t testing.TB, w *world) *served {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &served{world: w, base: "http://" + l.Addr().String(), changes: make(chan struct{})}
	s.Site.Port = l.Addr().(*net.TCPAddr).Port
	s.API = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/changes" {
			s.tell(rw, r)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.answer(rw, r)
	})
	server := httptest.NewUnstartedServer(s.made(t))
	server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return s
}

// tell is the stream of changes.
func (s *served) tell(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("Content-Type", "text/event-stream")
	for n := 1; ; n++ {
		_, _ = fmt.Fprintf(rw, "event: change\ndata: %d\n\n", n)
		_ = http.NewResponseController(rw).Flush()
		select {
		case <-s.changes:
		case <-r.Context().Done():
			return
		}
	}
}

// says has every text of the answers be one of texts, each in its turn, from one of them on.
func (s *served) says(texts []string, from int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	saying(s.world, "harmless")
	for _, at := range slices.Sorted(maps.Keys(s.answers)) {
		v := s.answers[at]
		said := reflect.New(reflect.TypeOf(v))
		said.Elem().Set(reflect.ValueOf(v))
		spread(said.Elem(), texts, &from)
		if o, ok := said.Interface().(*api.Order); ok {
			o.Agent = "builder"
		}
		named(said.Interface())
		s.answers[at] = said.Elem().Interface()
	}
}

// spread puts texts in the places of those that a value has.
func spread(v reflect.Value, texts []string, next *int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(texts[*next%len(texts)])
		*next++
	case reflect.Pointer:
		if !v.IsNil() && v.Type() != reflect.TypeFor[*api.Error]() {
			spread(v.Elem(), texts, next)
		}
	case reflect.Slice:
		for i := range v.Len() {
			spread(v.Index(i), texts, next)
		}
	case reflect.Struct:
		for f, in := range v.Fields() {
			if f.IsExported() {
				spread(in, texts, next)
			}
		}
	}
}

// coloured has the lists show each state and each priority.
func (s *served) coloured() {
	s.mu.Lock()
	defer s.mu.Unlock()
	agents, alerts := api.Agents{Seen: api.PartSeen{Status: "ok"}}, api.Alerts{}
	for _, state := range api.AgentStates() {
		agents.Agents = append(agents.Agents, api.AgentRow{Name: "is-" + state, State: state, Since: "3m", Reason: "as its screen says", Kind: "claude"})
	}
	for n := range 5 {
		alerts.Alerts = append(alerts.Alerts, api.Alert{Number: int64(n + 1), Priority: fmt.Sprintf("P%d", n), Summary: "something is so", Subject: "agent/builder", Rule: "a-rule", Status: "firing", For: "3m"})
	}
	s.answers["GET /v1/agents"], s.answers["GET /v1/alerts"] = agents, alerts
	colouredRecords(s.world)
}

// enters opens the page in a browser of a person.
func (s *served) enters(c *chromiumtest.Tab) {
	s.mu.Lock()
	s.token = "t"
	s.mu.Unlock()
	c.Goes(s.base + "/enter?token=t")
}

// Each page that there is is one of those that are tried.
func TestEveryPageIsTried(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "web.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	ast.Inspect(file, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if pattern, err := strconv.Unquote(l.Value); err == nil && strings.HasPrefix(pattern, "GET /") {
				want = append(want, pattern)
			}
		}
		return true
	})
	if len(want) < 9 {
		t.Fatalf("the routes of web.go are %q", want)
	}
	w := newWorld(t)
	routes := (&site{Options: w.Options, shared: &shared{}}).routes()
	tried := []string{"GET /assets/", "GET /enter", "GET /changes", "GET /assets/terminal.css", "GET /agents/{name}/terminal"} // which show nothing that anybody says
	for _, path := range everyPage() {
		_, pattern := routes.Handler(httptest.NewRequestWithContext(context.Background(), http.MethodGet, path, nil))
		tried = append(tried, pattern)
	}
	for _, pattern := range want {
		if !slices.Contains(tried, pattern) {
			t.Errorf("%s is a page that no path of everyPage leads to", pattern)
		}
	}
}

// strange are elements that no page of ours has, and attributes that nothing of ours has.
const strange = `(() => {
  const found = Array.from(document.querySelectorAll('script:not([src="/assets/page.js"]):not([src="/assets/terminal.js"]), iframe, frame, object, embed, img, base, meta[http-equiv], style, math, video, audio, [style], [srcdoc], [autofocus], [formaction]'));
  for (const e of document.querySelectorAll("*")) {
    if (Array.from(e.attributes).some(a => a.name.startsWith("on"))) { found.push(e); }
    for (const name of ["href", "src", "action"]) {
      const v = e.getAttribute(name);
      if (v !== null && new URL(v, location.href).origin !== location.origin) { found.push(e); }
    }
  }
  return found.map(e => e.outerHTML.slice(0, 200)).join("\n");
})()`

// In a real browser no text of a name, a title, a mail, a log, a branch, an alert or a screen
// is a script or an element, on no page, neither when that is opened nor when it is kept up
// to date; and the browser complains of nothing.
func TestNoTextIsAScriptInARealBrowser(t *testing.T) {
	b := chromiumtest.Start(t, chromiumtest.Options{})
	s, c := serve(t), b.Tab(t)
	texts := slices.DeleteFunc(hostile(), func(text string) bool { return len(text) > 10000 }) // the parser has had those
	var later []string
	for _, text := range texts {
		later = append(later, "another "+text)
	}
	s.says([]string{"harmless"}, 0)
	s.enters(c)
	for i, path := range everyPage() {
		s.says(texts, 7*i)
		status := c.Goes(s.base + path)
		checkTame(t, c, path+" opened")
		if status != http.StatusOK { // of which nothing is kept up to date
			if said := c.Complaints(); !strings.Contains(said, fmt.Sprint(status)) || strings.Contains(said, "CSP") {
				t.Errorf("%s: %d, and the browser complains of %s", path, status, said)
			}
			continue
		}
		if chromiumtest.Evaluate[bool](c, `document.querySelector("main[data-still]") !== null`) { // what is past stays as it is
			continue
		}
		s.says(later, 7*i+len(texts)/2)
		chromiumtest.Evaluate[int](c, `document.getElementById("main").append(document.createComment("kept")), 0`)
		s.changes <- struct{}{}
		c.Awaits("main", "another")
		checkTame(t, c, path+" kept up to date")
		if !chromiumtest.Evaluate[bool](c, `Array.from(document.getElementById("main").childNodes).some(n => n.nodeType === 8)`) {
			t.Errorf("%s was loaded again", path)
		}
		if said := c.Complaints(); said != "" {
			t.Errorf("%s: the browser complains of %s", path, said)
		}
	}
	if found := c.Elsewhere(s.base); len(found) > 0 {
		t.Errorf("it asked for %q", found)
	}
}

func checkTame(t *testing.T, c *chromiumtest.Tab, what string) {
	t.Helper()
	if found := chromiumtest.Evaluate[string](c, strange); found != "" {
		t.Errorf("%s has\n%s", what, found)
	}
}

// What is clicked on is not exchanged between the pressing and the letting go of the button:
// the click would be lost. What has changed meanwhile is shown afterwards.
func TestAClickIsNotLostInARealBrowser(t *testing.T) {
	b := chromiumtest.Start(t, chromiumtest.Options{})
	s, c := serve(t), b.Tab(t)
	s.says([]string{"first"}, 0)
	s.enters(c)
	c.Resize(1440, 1800) // what is pressed must be on the screen
	c.Goes(s.base + "/agents")
	c.Awaits("#agents", "first")
	at := chromiumtest.Evaluate[map[string]float64](c, `(() => { const r = document.querySelector("#agents a").getBoundingClientRect(); return {x: r.x + 9, y: r.y + r.height / 2}; })()`)
	c.Does(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at["x"], at["y"], chromedp.ButtonLeft, chromedp.ClickCount(1)))
	s.says([]string{"second"}, 0)
	s.changes <- struct{}{}
	chromiumtest.Evaluate[bool](c, `new Promise(is => { const x = new XMLHttpRequest(); x.open("GET", location.href); x.onloadend = () => setTimeout(is, 50, true); x.send(); })`) // what was asked for before it has come
	if !c.Shows("#agents", "first") {
		t.Error("it was exchanged while the button was pressed")
	}
	c.Does(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at["x"], at["y"], chromedp.ButtonLeft, chromedp.ClickCount(1)))
	c.Awaits("#notice", `cannot show host "first"`)
	c.Goes(s.base + "/agents")
	at = chromiumtest.Evaluate[map[string]float64](c, `(() => { const r = document.querySelector("h1").getBoundingClientRect(); return {x: r.x + 9, y: r.y + r.height / 2}; })()`)
	c.Does(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at["x"], at["y"], chromedp.ButtonLeft, chromedp.ClickCount(1)))
	s.says([]string{"third"}, 0)
	s.changes <- struct{}{}
	c.Does(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at["x"], at["y"], chromedp.ButtonLeft, chromedp.ClickCount(1)))
	c.Awaits("#agents", "third")
}

// Each page fits a screen of 320 pixels and up, and axe-core finds nothing that keeps
// anybody from using it, light and dark, on a phone and at a desk.
func TestEverybodyCanUseEachPage(t *testing.T) {
	b := chromiumtest.Start(t, chromiumtest.Options{})
	axe, err := chromiumtest.Axe()
	if err != nil {
		t.Fatal(err)
	}
	s, c := serve(t), b.Tab(t)
	s.says([]string{"harmless", "P2", "a longer text, as reasons are", "/home/ann/a/path/that/is/somewhat/long/and-has-a-name-without-spaces-in-it", "working"}, 0)
	s.coloured()
	s.enters(c)
	c.Audited()
	for _, path := range everyPage() {
		c.Goes(s.base + path)
		name := strings.Trim(strings.NewReplacer("/", "-", "?", "-", "=", "-").Replace(path), "-")
		for _, width := range []int64{1440, 700, 390, 320} {
			if over := c.Overflow(width); over != "" {
				t.Errorf("%s is wider than the screen: %s", path, over)
			}
			for _, dark := range []bool{false, true} {
				c.Dark(dark)
				c.Picture(fmt.Sprintf("page-%s-%d-%v", name, width, dark))
				if axe == "" || width != 390 && (width != 1440 || dark) { // of colours a phone tells all
					continue
				}
				if found, kept := c.Faults(axe); found != "" || !slices.Contains(kept, "color-contrast") {
					t.Errorf("%s, %d wide, dark %v; it keeps %q and breaks\n%s", path, width, dark, kept, found)
				}
			}
		}
	}
	if axe == "" {
		t.Skip("what keeps people from using a page was not looked for: CUSTOS_AXE=$(scripts/axe)")
	}
}

// What is short can be pressed with a finger, too, and the words of tables stay whole at a desk.
func TestShortNamesAndWholeWords(t *testing.T) {
	b := chromiumtest.Start(t, chromiumtest.Options{})
	s, c := serve(t), b.Tab(t)
	s.enters(c)
	for _, path := range everyPage() {
		s.says([]string{"i"}, 0)
		c.Goes(s.base + path)
		c.Overflow(320)
		if small := chromiumtest.Evaluate[string](c, `[...document.querySelectorAll("th a, td a")].filter(a => a.getClientRects().length && (a.getBoundingClientRect().width < 24 || a.getBoundingClientRect().height < 24)).map(a => a.outerHTML).join("\n")`); small != "" {
			t.Errorf("%s has links that are too small to be pressed:\n%.300s", path, small)
		}
		s.says([]string{"coordination"}, 0)
		c.Goes(s.base + path)
		for _, width := range []int64{912, 1120, 1440} {
			if over := c.Overflow(width); over != "" {
				t.Errorf("%s is wider than the screen: %s", path, over)
			}
		}
		if broken := chromiumtest.Evaluate[string](c, `[...document.querySelectorAll(".cards th[scope=row] *")].filter(e => e.children.length === 0 && /^\S{1,12}$/.test(e.textContent.trim()) && new Set([...(r => { r.selectNodeContents(e); return r.getClientRects(); })(document.createRange())].map(r => r.top)).size > 1).map(e => e.outerHTML).join("\n")`); broken != "" {
			t.Errorf("%s breaks words of tables:\n%.300s", path, broken)
		}
	}
}

// No text makes a page wider than a phone, however long it is without a place to break: a name,
// a path, a reason, a command, and what is in a list to choose from. A command is read whole without moving it.
func TestNoTextIsWiderThanAPhone(t *testing.T) {
	b := chromiumtest.Start(t, chromiumtest.Options{})
	s, c := serve(t), b.Tab(t)
	s.enters(c)
	for i, long := range []string{"/home/ann/" + strings.Repeat("lock", 75), strings.Repeat("W", 300)} {
		s.says([]string{long}, 0)
		for _, path := range everyPage() {
			c.Goes(s.base + path)
			chromiumtest.Evaluate[int](c, `document.querySelectorAll("details").forEach(d => { d.open = true; }), 0`)
			for _, width := range []int64{320, 390} {
				if over := c.Overflow(width); over != "" {
					t.Errorf("text %d: %s is wider than the screen: %s", i, path, over)
				}
				if wide := chromiumtest.Evaluate[string](c, `[...document.querySelectorAll("pre:has(code)")].filter(e => e.scrollWidth > e.clientWidth).map(e => e.outerHTML.slice(0, 200)).join("\n")`); wide != "" {
					t.Errorf("text %d: %s has commands that are wider than the screen: %s", i, path, wide)
				}
			}
		}
	}
}

// BenchmarkFirstPaint is how soon a real Chromium of a phone's size shows the first page of 500
// agents, without a daemon: by the browser's clock, and its parts.
func BenchmarkFirstPaint(b *testing.B) {
	s := serve(b)
	s.answers["GET /v1/look"] = api.FirstLook{Agents: many()}
	c := chromiumtest.Start(b, chromiumtest.Options{}).Tab(b)
	c.Resize(390, 844)
	s.enters(c)
	type load struct{ Server, Arrived, Parsed, Paint float64 }
	var all []load
	for b.Loop() {
		c.Goes(s.base + "/doctor")
		c.Goes(s.base + "/")
		all = append(all, chromiumtest.Evaluate[load](c, `new Promise(done => {
  const look = () => {
    const p = performance.getEntriesByName("first-contentful-paint")[0], n = performance.getEntriesByType("navigation")[0];
    if (!p || !n.domComplete) { setTimeout(look, 20); return; }
    done({Server: n.responseStart, Arrived: n.responseEnd, Parsed: n.domInteractive, Paint: p.startTime});
  };
  look();
})`))
	}
	for name, of := range map[string]func(load) float64{"server": func(l load) float64 { return l.Server }, "arrived": func(l load) float64 { return l.Arrived }, "parsed": func(l load) float64 { return l.Parsed }, "paint": func(l load) float64 { return l.Paint }} {
		var ms []float64
		for _, l := range all {
			ms = append(ms, of(l))
		}
		slices.Sort(ms)
		b.ReportMetric(ms[len(ms)/2], name+"-p50-ms")
		b.ReportMetric(ms[len(ms)*95/100], name+"-p95-ms")
	}
}
