package daemon_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/daemon"
	"custos/internal/sys/procstat"
	"custos/internal/web/chromiumtest"
)

// onlookers are how many browsers look at once, terminals how many terminals are watched.
const onlookers, terminals = 50, 10

// BenchmarkWebPage is what the page costs and how soon it shows, with so many real agents
// (CUSTOS_WEB_BENCH; 500 is the number of docs/performance.md) and a real Chromium: the first
// paint, an event until it is on the screen, and the CPU and memory of the daemon's process
// alone, without the page, with it and nobody who looks, with fifty who do, and with ten more
// that watch a terminal each, which changes five times a second. Beside the
// last, fifty that ask for all agents each two seconds, which is the obvious way. It takes a quarter of
// an hour; with CUSTOS_WEB_BENCH_SHORT each cost is measured for five seconds only, and
// CUSTOS_WEB_BENCH_ONLY=terminals leaves out all that needs no terminal.
func BenchmarkWebPage(b *testing.B) {
	n := 0
	if _, err := fmt.Sscan(os.Getenv("CUSTOS_WEB_BENCH"), &n); err != nil {
		b.Skip("CUSTOS_WEB_BENCH says with how many agents")
	}
	g := openGraveyard(b, strings.Replace(graveyardToml, "max_agents = 500", "max_agents = 1000", 1))
	written := g.writer()
	g.people(n-1, func(i int) *api.SpawnRequest {
		if i < terminals {
			return &api.SpawnRequest{Kind: "claude", Argv: []string{written}}
		}
		return atWork(i)
	})
	p := &pageBench{graveyard: g, speaks: g.speaker()}
	if os.Getenv("CUSTOS_WEB_BENCH_SHORT") == "" {
		<-time.After(idleAfter)
	}
	for first := true; b.Loop(); first = false {
		if first {
			p.measures()
		}
	}
	b.ReportMetric(0, "ns/op") // means nothing
}

// pageBench measures the page of a daemon.
type pageBench struct {
	*graveyard
	speaks *os.File // a line makes the agent that speaks call that hook
	base   string
	asked  http.Client // with the session of a person
}

func (p *pageBench) measures() {
	calm, loud := 40*time.Second, 40*time.Second
	if os.Getenv("CUSTOS_WEB_BENCH_SHORT") != "" {
		calm, loud = 5*time.Second, 5*time.Second
	}
	p.spends("off", calm, 0)
	p.spends("off-events", loud, time.Second)
	p.opens()
	p.spends("nobody", calm, 0)
	if os.Getenv("CUSTOS_WEB_BENCH_ONLY") != "terminals" {
		p.paints()
		p.reaches()
		p.crowd("viewers", p.watches, calm, loud)
		p.crowd("pollers", p.polls, calm, 0)
	}
	p.watched(calm, loud)
}

// watched has ten watch a terminal each, alone and beside the fifty.
func (p *pageBench) watched(calm, loud time.Duration) {
	p.Helper()
	ctx, cancel := context.WithCancel(p.Context())
	var all sync.WaitGroup
	var frames [terminals]atomic.Int64
	for i := range frames {
		all.Go(func() { p.follows(ctx, fmt.Sprintf("a%03d", i), &frames[i]) })
	}
	least := func() int64 {
		least := frames[0].Load()
		for i := range frames {
			least = min(least, frames[i].Load())
		}
		return least
	}
	await(p, func() string { return "not every terminal is shown" }, func() bool { return least() > 0 })
	server := p.tmuxServer()
	began, tmux, before := time.Now(), p.cpu(server), least()
	p.spends("terminals", calm, 0)
	p.ReportMetric(float64(p.cpu(server)-tmux)/time.Since(began).Seconds(), "terminals-tmux-%")
	p.ReportMetric(float64(least()-before)/time.Since(began).Seconds(), "terminals-frames/s")
	p.crowd("terminals-viewers", p.watches, calm, loud)
	cancel()
	all.Wait()
}

// follows does what a browser with a terminal on the page does, until ctx ends.
func (p *pageBench) follows(ctx context.Context, name string, frames *atomic.Int64) {
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, p.base+"/agents/"+name+"/terminal", nil)
	resp, err := p.asked.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		if lines.Text() == "event: frame" {
			frames.Add(1)
		}
	}
}

// writer is a program whose terminal changes five times a second.
func (g *graveyard) writer() (script string) {
	g.Helper()
	script = filepath.Join(g.dir, "writer.sh")
	const text = "#!/bin/bash\nexec 3<>/dev/tty\nfor ((i = 0; ; i++)); do printf 'line %d \\033[32mof what it does\\033[0m\\n' $i; read -r -t 0.2 -u 3; done\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		g.Fatal(err)
	}
	return script
}

// crowd is fifty of a kind, while nothing happens and with an event each second.
func (p *pageBench) crowd(name string, one func(ctx context.Context, got *atomic.Int64), calm, loud time.Duration) {
	p.Helper()
	ctx, cancel := context.WithCancel(p.Context())
	var all sync.WaitGroup
	var got atomic.Int64
	for range onlookers {
		all.Go(func() { one(ctx, &got) })
	}
	await(p, func() string { return fmt.Sprintf("%d answers", got.Load()) }, func() bool { return got.Load() >= onlookers })
	p.spends(name, calm, 0)
	if loud > 0 {
		before := got.Load()
		p.spends(name+"-events", loud, time.Second)
		p.ReportMetric(float64(got.Load()-before)/onlookers, name+"-pages-each")
	}
	cancel()
	all.Wait()
}

// spends reports what of a core the daemon's own process uses for a while, with an event at
// each beat, and its memory at the end.
func (p *pageBench) spends(name string, lasting, beat time.Duration) {
	p.Helper()
	before := p.own()
	until := time.Now().Add(lasting)
	for i := 0; beat > 0 && time.Now().Before(until); i++ {
		p.says([]string{"UserPromptSubmit", "Stop"}[i%2])
		<-time.After(beat)
	}
	<-time.After(time.Until(until))
	p.ReportMetric(float64(p.own()-before)/lasting.Seconds(), name+"-%")
	p.ReportMetric(p.memory(), name+"-MiB")
}

// own is what the daemon's process has used, in hundredths of a second, its children not.
func (p *pageBench) own() uint64 {
	p.Helper()
	s, err := procstat.Read("/proc", p.pid)
	if err != nil {
		p.Fatal(err)
	}
	return s.CPU
}

// speaker starts an agent that calls the hook that is written to a pipe.
func (g *graveyard) speaker() *os.File {
	g.Helper()
	pipe, script := filepath.Join(g.dir, "says"), filepath.Join(g.dir, "speaker.sh")
	bin, err := binaries()
	if err != nil {
		g.Fatal(err)
	}
	text := fmt.Sprintf("#!/bin/bash\nmkfifo %[1]s\nexec 3<>%[1]s\nwhile read -r event <&3; do echo '{\"session_id\":\"s\",\"prompt\":\"go on\"}' | CUSTOS_RUN=%[2]s %[3]s/custos-hook claude $event; done\n", pipe, g.cfg.RuntimeDir, bin)
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		g.Fatal(err)
	}
	c, err := api.Dial(context.Background(), daemon.Socket(g.cfg))
	if err != nil {
		g.Fatal(err)
	}
	defer c.Close()
	o := api.OrderRequest{Do: "spawn", Agent: "speaker", Spawn: &api.SpawnRequest{Kind: "claude", Argv: []string{script}, Dir: filepath.Join(g.dir, "work"), Headless: true, Prompt: "go"}}
	if _, err := c.Order(context.Background(), o); err != nil {
		g.Fatal(err)
	}
	await(g, func() string { return "it does not run" }, func() bool {
		v, err := c.Agent(context.Background(), "speaker")
		if err == nil {
			g.pids["speaker"] = v.Agent.PID
		}
		_, none := os.Stat(pipe)
		return err == nil && v.Agent.PID > 0 && none == nil
	})
	f, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() { _ = f.Close() })
	return f
}

func (p *pageBench) says(event string) {
	p.Helper()
	if _, err := p.speaks.WriteString(event + "\n"); err != nil {
		p.Fatal(err)
	}
}

// address is one of the page that lets a browser in.
func (p *pageBench) address() string {
	p.Helper()
	c, err := api.Dial(context.Background(), daemon.Socket(p.cfg))
	if err != nil {
		p.Fatal(err)
	}
	defer c.Close()
	v, err := c.WebAddress(context.Background(), api.WebRequest{})
	if err != nil {
		p.Fatal(err)
	}
	return v.URL
}

// opens has the page served, and lets a person in.
func (p *pageBench) opens() {
	p.Helper()
	address := p.address()
	u, err := url.Parse(address)
	if err != nil {
		p.Fatal(err)
	}
	p.base = "http://" + u.Host
	p.asked.Jar, _ = cookiejar.New(nil) // without options it does not fail
	p.asked.Transport = &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: onlookers}
	resp, err := p.asked.Get(address)
	if err != nil || resp.StatusCode != http.StatusOK {
		p.Fatalf("%+v, %v", resp, err)
	}
	_ = resp.Body.Close()
}

// paints reports how soon a browser shows the first page, and what it is sent for it.
func (p *pageBench) paints() {
	p.Helper()
	c := chromiumtest.Start(p, chromiumtest.Options{}).Tab(p)
	c.Resize(390, 844)
	c.Goes(p.address())
	type load struct {
		Server, Paint, Sent float64
	}
	var server, paint []float64
	var sent float64
	for range 21 {
		c.Goes(p.base + "/alerts")
		c.Goes(p.base + "/")
		c.Awaits("h1", "What needs you")
		l := chromiumtest.Evaluate[load](c, `new Promise(done => {
  const look = () => {
    const p = performance.getEntriesByName("first-contentful-paint")[0];
    if (!p) { setTimeout(look, 20); return; }
    const n = performance.getEntriesByType("navigation")[0];
    const all = [n].concat(performance.getEntriesByType("resource"));
    done({Server: n.responseStart - n.requestStart, Paint: p.startTime, Sent: all.reduce((sum, e) => sum + e.encodedBodySize, 0)});
  };
  look();
})`)
		server, paint, sent = append(server, l.Server), append(paint, l.Paint), max(sent, l.Sent)
	}
	p.tells("paint-server", server[1:]) // the first one reads what is shown from then on
	p.tells("paint", paint[1:])
	p.ReportMetric(sent/1000, "paint-kB")
}

// tells reports the median and what 95 of 100 are within, of milliseconds.
func (p *pageBench) tells(name string, ms []float64) {
	p.Helper()
	slices.Sort(ms)
	p.ReportMetric(ms[len(ms)/2], name+"-p50-ms")
	p.ReportMetric(ms[len(ms)*95/100], name+"-p95-ms")
	p.Logf("%s: %.0f", name, ms)
}

// reaches reports how long it takes from an event until a browser shows it; and who asks
// for all agents each two seconds has it.
func (p *pageBench) reaches() {
	p.Helper()
	c := chromiumtest.Start(p, chromiumtest.Options{}).Tab(p)
	c.Resize(1440, 900)
	c.Goes(p.address())
	c.Awaits("h1", "What needs you")
	p.says("Stop") // the first event has to change something: what was said last depends on how long it was said for
	c.Awaits(`tr[data-agent="speaker"] .state`, "idle")
	chromiumtest.Evaluate[int](c, `window.shown = [], new MutationObserver(() => {
  const row = document.querySelector('tr[data-agent="speaker"] .state'), says = row ? row.textContent : "", last = window.shown[window.shown.length - 1];
  if (!last || last.Says !== says) { window.shown.push({Says: says, At: Date.now()}); }
}).observe(document.body, {childList: true, subtree: true, characterData: true}), 0`)
	type shown struct {
		Says string
		At   int64
	}
	ctx, cancel := context.WithCancel(p.Context())
	polled := p.polled(ctx)
	var screen, poll []float64
	for i := range 42 {
		event, want := "UserPromptSubmit", "working"
		if i%2 == 1 {
			event, want = "Stop", "idle"
		}
		<-time.After(time.Duration(1500+i*37%700) * time.Millisecond)
		began := time.Now()
		p.says(event)
		var last shown
		await(p, func() string { return fmt.Sprintf("%s is not shown: %+v", want, last) }, func() bool {
			all := chromiumtest.Evaluate[[]shown](c, `window.shown`)
			if len(all) > 0 {
				last = all[len(all)-1]
			}
			return last.Says == want && last.At >= began.UnixMilli()
		})
		screen = append(screen, float64(last.At-began.UnixMilli()))
		for at := range polled {
			if at.Says == want && at.At >= began.UnixMilli() {
				poll = append(poll, float64(at.At-began.UnixMilli()))
				break
			}
		}
	}
	cancel()
	p.tells("event", screen[2:])
	p.tells("event-polled", poll[2:])
}

// seenState is a state of the agent that speaks, and when it was told, in milliseconds.
type seenState = struct {
	Says string
	At   int64
}

// polled asks for all agents each two seconds, as the obvious page does.
func (p *pageBench) polled(ctx context.Context) <-chan seenState {
	out := make(chan seenState, 1000)
	c, err := api.Dial(ctx, daemon.Socket(p.cfg))
	if err != nil {
		p.Fatal(err)
	}
	go func() {
		defer c.Close()
		defer close(out)
		for ctx.Err() == nil {
			v, err := c.Agents(ctx)
			if err != nil {
				return
			}
			for _, a := range v.Agents {
				if a.Name == "speaker" {
					out <- seenState{a.State, time.Now().UnixMilli()}
				}
			}
			<-time.After(2 * time.Second)
		}
	}()
	return out
}

// watches does what a browser with the page open does, until ctx ends.
func (p *pageBench) watches(ctx context.Context, got *atomic.Int64) {
	looks := make(chan struct{}, 1)
	go func() {
		for range looks {
			began := time.Now()
			p.gets(ctx, "/", got)
			<-time.After(min(2*time.Second, 4*time.Since(began))) // as page.js rests
		}
	}()
	defer close(looks)
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, p.base+"/changes", nil)
	resp, err := p.asked.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data:") {
			select {
			case looks <- struct{}{}:
			default: // one is asked for already
			}
		}
	}
}

func (p *pageBench) gets(ctx context.Context, path string, got *atomic.Int64) {
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, p.base+path, nil)
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := p.asked.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err == nil && resp.StatusCode == http.StatusOK {
		got.Add(1)
	}
}

// polls asks for all agents each two seconds, until ctx ends.
func (p *pageBench) polls(ctx context.Context, got *atomic.Int64) {
	c, err := api.Dial(ctx, daemon.Socket(p.cfg))
	if err != nil {
		return
	}
	defer c.Close()
	for ctx.Err() == nil {
		if v, err := c.Agents(ctx); err == nil && len(v.Agents) > 0 {
			got.Add(1)
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
}
