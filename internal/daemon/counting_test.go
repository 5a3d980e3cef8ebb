package daemon

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/catalog"
	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/onewriter"
)

// TestTwelveWaysToCountWrong: each of the ways in which other tools counted what models used wrong, as files of the CLIs
// themselves, with the exact sums.
func TestTwelveWaysToCountWrong(t *testing.T) {
	const file, other = ".claude/projects/-w/s.jsonl", ".claude/projects/-w/t.jsonl"
	at := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339Nano)
	line := func(id, request, model, usage string, more ...string) string {
		if request != "" {
			request = `"requestId":"` + request + `",`
		}
		return fmt.Sprintf(`{"type":"assistant","sessionId":"s","timestamp":%q,%s"message":{"id":%q,"role":"assistant","model":%q,"usage":{%s}}%s}`+"\n", at, request, id, model, usage, strings.Join(more, ""))
	}
	used := func(input, output int) string {
		return fmt.Sprintf(`"input_tokens":%d,"output_tokens":%d`, input, output)
	}
	const opus, sonnet = "claude-opus-4-5", "claude-sonnet-4-5-20250929"
	one := line("m1", "r1", opus, used(1000, 200))
	cost := func(key string, calls, tokens, table, unpriced int64) fleet.Cost {
		return fleet.Cost{Key: key, Calls: calls, Tokens: tokens, Table: table, Unpriced: unpriced}
	}
	cached := cost(opus, 1, 100_000+2000+500, 5000*10+10_000+12_500, 0)
	cached.Cached = 100_000
	told := fleet.Cost{Key: "gpt-5", Calls: 1, Tokens: 1010, Told: 2805}
	pi := func(stop, usage string) string {
		return fmt.Sprintf(`{"type":"message","id":%q,"timestamp":%q,"message":{"role":"assistant","provider":"openai","model":"gpt-5","stopReason":%q,"responseId":%q,"timestamp":1,"usage":{%s}}}`+"\n", stop, at, stop, stop, usage)
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []fleet.Cost // by model, without what was written
	}{
		{"1 the first of several lines of a response has two tokens of output, the last one all", map[string]string{file: line("m1", "r1", opus, used(1000, 2)) + line("m1", "r1", opus, used(1000, 2)) + one},
			[]fleet.Cost{cost(opus, 1, 1200, 10_000, 0)}},
		{"2 a proxy tells no requestId", map[string]string{file: strings.Repeat(line("m1", "", opus, used(1000, 200)), 3) + line("m2", "", opus, used(1000, 200))}, []fleet.Cost{cost(opus, 2, 2400, 20_000, 0)}},
		{"3 a resumed conversation repeats the old one in a new file", map[string]string{file: one, other: strings.ReplaceAll(one, `"s"`, `"t"`) + line("m2", "r2", opus, used(1000, 200))}, []fleet.Cost{cost(opus, 2, 2400, 20_000, 0)}},
		{"4 the same conversation lies under two paths", map[string]string{file: one, ".claude/projects/-w-copy/s.jsonl": one}, []fleet.Cost{cost(opus, 1, 1200, 10_000, 0)}},
		{"5 sub-agents have files of their own, and are told of in that of their parent", map[string]string{
			file: one + line("m2", "r2", sonnet, used(1000, 100), `,"isSidechain":true`), ".claude/projects/-w/s/subagents/agent-1.jsonl": line("m2", "r2", sonnet, used(1000, 100), `,"isSidechain":true`) + line("m3", "r3", sonnet, used(1000, 100), `,"isSidechain":true`)},
			[]fleet.Cost{cost(opus, 1, 1200, 10_000, 0), cost(sonnet, 2, 2200, 9000, 0)}},
		{"6 <synthetic> is no model, and opus is one whose price is not known", map[string]string{file: line("m1", "", "<synthetic>", used(0, 0)) + line("m2", "r2", "opus", used(1000, 200))}, []fleet.Cost{cost("opus", 1, 1200, 0, 1)}},
		{"7 the dominant model is unknown, which is not free", map[string]string{file: one + line("m2", "r2", "brand-new-9", used(900_000, 100_000))}, []fleet.Cost{cost("brand-new-9", 1, 1_000_000, 0, 1), cost(opus, 1, 1200, 10_000, 0)}},
		{"8 another model answered than was configured", map[string]string{".claude/settings.json": `{"model":"claude-opus-4-5"}`, file: line("m1", "r1", sonnet, used(1000, 200))}, []fleet.Cost{cost(sonnet, 1, 1200, 6000, 0)}},
		{"9 nearly all is read from the cache", map[string]string{file: line("m1", "r1", opus, `"input_tokens":2000,"output_tokens":500,"cache_read_input_tokens":100000`)}, []fleet.Cost{cached}},
		{"10 the price of a model that is called alike is another one's", map[string]string{file: line("m1", "r1", "claude-opus-4-5-mini", used(1000, 200)) + line("m2", "r2", "gpt-5-pro", used(1000, 200))},
			[]fleet.Cost{cost("claude-opus-4-5-mini", 1, 1200, 0, 1), cost("gpt-5-pro", 1, 1200, 0, 1)}},
		{"11 what is cached for an hour costs twice, for five minutes 1.25 times the input, and a long prompt is of a higher tier", map[string]string{
			file: line("m1", "r1", opus, `"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":3000,"cache_creation":{"ephemeral_5m_input_tokens":1000,"ephemeral_1h_input_tokens":2000}`) +
				line("m2", "r2", "gemini-2.5-pro", used(200_000, 1000)) + line("m3", "r3", "gemini-2.5-pro", used(200_001, 1000))},
			[]fleet.Cost{cost(opus, 1, 3000, 6250+20_000, 0), cost("gemini-2.5-pro", 2, 402_001, 250_000+10_000+500_003+15_000, 0)}},
		{"12 a turn that failed is told of with a price of nothing", map[string]string{".pi/agent/sessions/--w--/2026_s.jsonl": `{"type":"session","id":"s","timestamp":"` + at + `","cwd":"/w"}` + "\n" +
			pi("stop", `"input":1000,"output":10,"cost":{"total":0.002805}`) + pi("error", `"input":1000,"output":10,"cost":{"total":0}`)},
			[]fleet.Cost{{Key: "gpt-5", Calls: 2, Tokens: told.Tokens + 1010, Told: told.Told, Table: 1250 + 100}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := countedSystem(t, c.files)
			list, err := s.costs(t.Context(), s.world.Now().Add(-time.Hour), "model")
			if err != nil {
				t.Fatal(err)
			}
			for i := range list {
				list[i].Output = 0
			}
			if fmt.Sprintf("%+v", list) != fmt.Sprintf("%+v", c.want) {
				t.Errorf("\n got %+v\nwant %+v", list, c.want)
			}
			budget := fleet.Budget{Name: "cap", By: fleet.SpendByFleet, Window: fleet.WindowTotal, Tokens: 50_000, Hold: 100}
			if name, _, _ := strings.Cut(c.name, " "); name != "9" {
				return
			}
			st, err := s.ledger.reader(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			sums, err := st.Spending(t.Context(), []fleet.SpendScope{{Budget: "cap", By: fleet.SpendByFleet, At: time.Now()}})
			if err != nil || len(sums) != 1 || budget.Facts(sums[0], nil, s.world.Now()).Stage != fleet.StageUnder {
				t.Errorf("2 500 tokens of work reach a limit of 50 000: %+v, %v", sums, err)
			}
		})
	}
}

// countedSystem is a system in whose home some files lie, and that has read them.
func countedSystem(t *testing.T, files map[string]string) *system {
	t.Helper()
	home := t.TempDir()
	putFiles(t, home, files)
	s := countedIn(t, home, "")
	t.Cleanup(func() { s.Close() })
	return s
}

func putFiles(t *testing.T, home string, files map[string]string) {
	t.Helper()
	for path, text := range files {
		full := filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// countedIn is a system with a home and a custos.toml, that has read the conversations there.
func countedIn(t *testing.T, home, toml string) *system {
	t.Helper()
	env := map[string]string{"HOME": home}
	cfg, err := config.Load(config.Options{Getenv: func(k string) string { return env[k] }, Sections: Sections(), ReadFile: func(string) ([]byte, error) { return []byte(toml), nil }})
	if err != nil {
		t.Fatal(err)
	}
	s, err := build(cfg, Options{Version: "test", Stderr: io.Discard, Log: slog.New(slog.DiscardHandler)}, as{what: "custos test", wait: onewriter.Patience, tell: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	u, err := catalog.NewUsage(s.world, s.usageLedger(), s.holders.Of)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}
