//go:build conformance

package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/agent/price"
	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/sys/procstat"
)

// A corpus is what a year of many agents leaves behind: so many files with so many responses.
const (
	corpusFiles     = 3000
	corpusResponses = 150_000
	maxDiffers      = 0.5 // percent
)

// coldLimit is what a daemon may take of a core for coldRows lines that tell of tokens, from when it answers until
// all is counted, all else that it does meanwhile among that. On a machine that has a core for it, it is how long that
// takes; on one that is busy, time says nothing.
const (
	coldLimit = 5 * time.Second
	coldRows  = 150_000
)

// ccusage is the tool that people add up their conversations with. scripts/conformance does
// not install it: npm install --prefix …/custos-conformance/ccusage@18.0.11 ccusage@18.0.11.
const ccusage = "ccusage@18.0.11"

// corpus is what is written, with what it used in truth.
type corpus struct {
	rng   *rand.Rand
	rough bool // with what ccusage counts otherwise: see docs/costs.md
	rows  int  // lines that tell of tokens
	table price.Table
	truth fleet.Tokens
	micro int64 // what that costs at list prices
}

// models are those that both tools have a price of. The last one answers nothing.
func (c *corpus) model() string {
	return []string{"claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001"}[c.rng.IntN(3)]
}

// response is a line of a response, as Claude Code writes it.
type response struct {
	id, request, model, session string
	side                        bool
	at                          time.Time
	tokens                      fleet.Tokens
}

func (r response) line(output int64) []byte {
	t := r.tokens
	line := object{"type": "assistant", "timestamp": r.at.UTC().Format("2006-01-02T15:04:05.000Z"), "sessionId": r.session, "cwd": "/home/dev/project", "version": "2.1.330",
		"isSidechain": r.side, "uuid": r.id, "message": object{"id": r.id, "type": "message", "role": "assistant", "model": r.model, "content": []any{object{"type": "text", "text": "words"}},
			"usage": object{"input_tokens": t.Input, "output_tokens": output, "cache_read_input_tokens": t.CacheRead, "cache_creation_input_tokens": t.CacheWrite5m + t.CacheWrite1h,
				"cache_creation": object{"ephemeral_5m_input_tokens": t.CacheWrite5m, "ephemeral_1h_input_tokens": t.CacheWrite1h}}}}
	if r.request != "" {
		line["requestId"] = r.request
	}
	return append(encode(line), '\n')
}

// response draws one, and counts it.
func (c *corpus) response(n int, session string, side bool, at time.Time) response {
	r := response{id: fmt.Sprintf("msg_%08d", n), request: fmt.Sprintf("req_%08d", n), model: c.model(), session: session, side: side, at: at,
		tokens: fleet.Tokens{Input: c.rng.Int64N(500), CacheRead: c.rng.Int64N(90_000), CacheWrite5m: c.rng.Int64N(5000), Output: 3 + c.rng.Int64N(2000)}}
	if c.rough && n%7 == 0 {
		r.request = "" // as behind a proxy
	}
	if c.rough && n%5 == 0 {
		r.tokens.CacheWrite1h, r.tokens.CacheWrite5m = r.tokens.CacheWrite5m, 0
	}
	c.truth = c.truth.Add(r.tokens)
	c.micro += price.Of(c.table, fleet.Usage{Model: r.model, At: at, Tokens: r.tokens}).MicroUSD
	return r
}

// write fills a home folder. A response is some lines: with all of its tokens, or of a rough corpus with two
// tokens of output first. Every tenth conversation goes on with an older one, and repeats it.
func (c *corpus) write(t *testing.T, home string) {
	t.Helper()
	var err error
	if c.table, err = price.Shipped(); err != nil {
		t.Fatal(err)
	}
	var last []byte
	perFile, start := corpusResponses/corpusFiles, time.Now().Add(-60*24*time.Hour)
	for f := range corpusFiles {
		session := fmt.Sprintf("%08x-0000-4000-8000-000000000000", f)
		name, side := fmt.Sprintf("-home-dev-p%d/%s.jsonl", f%60, session), f%12 == 5
		if side {
			name = fmt.Sprintf("-home-dev-p%d/%s/subagents/agent-%d.jsonl", f%60, session, f)
		}
		var text []byte
		if f%10 == 9 {
			text = append(text, last...)
		}
		for i := range perFile {
			at := start.Add(time.Duration(f*perFile+i) * 30 * time.Second)
			text = append(text, encode(object{"type": "user", "timestamp": at.UTC().Format(time.RFC3339Nano), "sessionId": session, "cwd": "/home/dev/project", "message": object{"role": "user", "content": "words of a person, or what a tool said"}})...)
			text = append(text, '\n')
			r := c.response(f*perFile+i, session, side, at)
			if c.rough && i%3 == 0 {
				text = append(text, r.line(2)...)
			}
			for range 1 + i%3 {
				text = append(text, r.line(r.tokens.Output)...)
			}
			if i%25 == 0 { // an error that no model answered
				text = append(text, response{id: fmt.Sprintf("%s-%d", session, i), model: "<synthetic>", session: session, at: at}.line(0)...)
			}
		}
		c.rows += bytes.Count(text, []byte(`"usage"`))
		path := filepath.Join(home, ".claude/projects", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		last = text
	}
}

// TestCorpus has Custos count what 150 000 responses used, to the token; and
// holds its sums against those of ccusage.
func TestCorpus(t *testing.T) {
	for name, rough := range map[string]bool{"clean": false, "rough": true} {
		t.Run(name, func(t *testing.T) {
			f := newCorpus(t)
			c := &corpus{rng: rand.New(rand.NewPCG(1, 2)), rough: rough}
			c.write(t, f.home.dir)
			took, cpu := f.counts(t, corpusResponses)
			if limit := coldLimit * time.Duration(c.rows) / coldRows; cpu > limit {
				t.Errorf("counting took %v of a core, and may take %v", cpu, limit)
			}
			var costs api.Costs
			f.run(t, &costs, "cost", "--by", "model", "--since", "100d")
			got, want := costs.Total, c.truth
			if int64(got.Calls) != corpusResponses || got.Tokens != want.All() || got.Cached != want.CacheRead || got.Output != want.Output {
				t.Errorf("Custos counted %+v; in truth %d responses used %+v", got, corpusResponses, want)
			}
			if usd := float64(c.micro) / 1e6; differs(got.Dollars, usd) > 0.001 {
				t.Errorf("Custos says %v dollars; by the table it is %v", got.Dollars, usd)
			}
			load, _ := os.ReadFile("/proc/loadavg") // only said
			t.Logf("%s: %d lines counted in %v, %v of a core, at a load of %.5s: %d tokens, $%.2f", name, c.rows, took.Round(10*time.Millisecond), cpu, load, got.Tokens, got.Dollars)
			f.holdAgainst(t, rough, got)
		})
	}
}

// newCorpus is a Custos whose daemon does not run yet.
func newCorpus(t *testing.T) *custos {
	t.Helper()
	h := newHome(t, claudeCLI(), nil)
	h.write(t, ".config/custos/custos.toml", "")
	return &custos{cli: claudeCLI(), home: h, who: name, env: h.env()}
}

// countAfter is how long after its start the daemon begins to read.
const countAfter = 2 * time.Second

// counts starts the daemon, and returns how long it took until all was counted, and what of a core.
func (f *custos) counts(t *testing.T, want int) (took, cpu time.Duration) {
	t.Helper()
	f.up(t)
	began, before := time.Now().Add(countAfter), f.cpu(t)
	f.until(t, "all is counted", 2*time.Minute, func() bool {
		calls, all := f.counted()
		return all && calls >= want
	})
	return time.Since(began), f.cpu(t) - before
}

// counted is how many responses are counted by now, and whether that is said to be all: until then
// the command says what there is with the exit code of what could not be looked at.
func (f *custos) counted() (calls int, all bool) {
	var costs api.Costs
	said, err := f.try(nil, "cost", "--since", "100d")
	if json.NewDecoder(strings.NewReader(said)).Decode(&costs) != nil {
		return 0, false
	}
	return costs.Total.Calls, err == nil
}

// cpu is what the daemon has used.
func (f *custos) cpu(t *testing.T) time.Duration {
	t.Helper()
	s, err := procstat.Read("/proc", f.daemon.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(s.CPU+s.CPUOfChildren) * 10 * time.Millisecond
}

// TestCorpusKilled kills a daemon twice, by signal 9, while it counts: nothing is counted twice, and nothing is lost.
func TestCorpusKilled(t *testing.T) {
	f := newCorpus(t)
	c := &corpus{rng: rand.New(rand.NewPCG(3, 4)), rough: true}
	c.write(t, f.home.dir)
	for _, from := range []int{1, corpusResponses / 3} {
		f.killedFrom(t, from)
	}
	f.counts(t, corpusResponses)
	var costs api.Costs
	f.run(t, &costs, "cost", "--by", "model", "--since", "100d")
	if got := costs.Total; int64(got.Calls) != corpusResponses || got.Tokens != c.truth.All() || got.Output != c.truth.Output || differs(got.Dollars, float64(c.micro)/1e6) > 0.001 {
		t.Errorf("Custos counted %+v; in truth %d responses used %+v", got, corpusResponses, c.truth)
	}
}

// killedFrom starts a daemon and kills it as soon as it has counted so many responses, and not all.
func (f *custos) killedFrom(t *testing.T, from int) {
	t.Helper()
	daemon := f.command("up")
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	calls := 0
	f.until(t, fmt.Sprintf("%d are counted", from), 2*time.Minute, func() bool {
		calls, _ = f.counted()
		return calls >= from
	})
	_ = daemon.Process.Kill()
	_ = daemon.Wait() // it was killed
	if calls >= corpusResponses {
		t.Errorf("all was counted before it was killed")
	}
	t.Logf("killed when %d responses were counted", calls)
}

// ccusageSum is what ccusage tells.
type ccusageSum struct {
	Totals struct {
		Input  int64   `json:"inputTokens"`
		Output int64   `json:"outputTokens"`
		Write  int64   `json:"cacheCreationTokens"`
		Read   int64   `json:"cacheReadTokens"`
		All    int64   `json:"totalTokens"`
		Cost   float64 `json:"totalCost"`
	} `json:"totals"`
}

// holdAgainst: of a clean corpus both tell the same. Of a rough one ccusage counts responses
// without a request's name as often as they are written down, two tokens for those
// whose first line says so, and what is kept for an hour as if for five minutes.
func (f *custos) holdAgainst(t *testing.T, rough bool, ours api.CostRow) {
	t.Helper()
	program := installed(ccusage, "node_modules/ccusage/dist/index.js")
	if _, err := os.Stat(program); err != nil {
		t.Skipf("%s is not installed", ccusage)
	}
	cmd := exec.Command("node", program, "daily", "--offline", "--json", "--timezone", "UTC")
	cmd.Dir, cmd.Env = f.home.project, append(f.env, "LOG_LEVEL=0")
	began := time.Now()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("ccusage: %v", err)
	}
	var sum ccusageSum
	if err := json.Unmarshal(out, &sum); err != nil {
		t.Fatalf("ccusage: %v: %.300s", err, out)
	}
	theirs := sum.Totals
	tokens, money, output := differs(float64(theirs.All), float64(ours.Tokens)), differs(theirs.Cost, ours.Dollars), differs(float64(theirs.Output), float64(ours.Output))
	t.Logf("ccusage took %v and counts %d tokens (%.2f %% off), %d of output (%.2f %%), $%.2f (%.2f %%)", time.Since(began).Round(time.Second), theirs.All, tokens, theirs.Output, output, theirs.Cost, money)
	if rough != (tokens > maxDiffers || money > maxDiffers || output > maxDiffers) {
		t.Errorf("ccusage %+v, Custos %+v", theirs, ours)
	}
}

// differs is by how many percent.
func differs(a, b float64) float64 { return 100 * math.Abs(a-b) / max(b, 1e-9) }
