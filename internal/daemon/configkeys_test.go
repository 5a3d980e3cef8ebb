package daemon

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"custos/internal/catalog"
	"custos/internal/config"
)

// configKey is a row of docs/config.md: a key, and the section that it is of.
type configKey struct{ section, key string }

// configKeys reads the page: each heading of a key, and each row of a table of keys.
func configKeys(t *testing.T) (keys []configKey) {
	t.Helper()
	page, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	section, rows := "", false
	named := regexp.MustCompile("`([^`]+)`")
	for _, line := range strings.Split(string(page), "\n") {
		switch first, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|"); {
		case strings.HasPrefix(line, "### `["):
			section, rows = strings.Trim(line, "# `[]"), false
		case strings.HasPrefix(line, "### `"):
			keys = append(keys, configKey{"", strings.Trim(line, "# `")})
		case strings.HasPrefix(line, "| key of `["):
			section, rows = strings.Trim(named.FindStringSubmatch(first)[1], "[]"), true
		case strings.HasPrefix(line, "| key |"):
			rows = true
		case strings.HasPrefix(line, "| `") && rows:
			for _, m := range named.FindAllStringSubmatch(first, -1) {
				keys = append(keys, configKey{section, m[1]})
			}
		}
	}
	return keys
}

// around is what else a section needs before one of its keys can be read.
func around() map[string]string {
	const token = "token_env = \"T\"\n"
	return map[string]string{
		"agents.places":     "path = \"/w/{name}\"\nrole = \"worker\"\n",
		"heartbeat.NAME":    "agent = \"a\"\nevery = \"1m\"\n",
		"schedule.NAME":     "formula = \"patrol\"\nevery = \"1h\"\n",
		"mail.NAME":         "work = \"close\"\n",
		"pool.NAME":         "kind = \"claude\"\nprompt = \"work\"\nrepo = \"/w\"\n",
		"notifier.NAME":     "type = \"telegram\"\nchat = \"-100\"\n" + token,
		"route.NAME":        "to = [\"terminal\"]\n",
		"maintenance.NAME":  "cron = \"0 2 * * *\"\nfor = \"1h\"\n",
		"metrics":           "listen = \"127.0.0.1:9911\"\n",
		"webhook":           "listen = \"127.0.0.1:9912\"\nsecret_env = \"T\"\n",
		"journal":           "ops_repo = \"/\"\n",
		"forge.NAME":        "kind = \"gitea\"\nurl = \"https://x.example\"\nrepo = \"a/b\"\n" + token,
		"ci.NAME":           "kind = \"woodpecker\"\nurl = \"https://x.example\"\nrepo = \"a/b\"\n" + token,
		"probe.NAME":        "run = [\"true\"]\n",
		"agents.roles.ROLE": "start = [\"true\"]\n",
	}
}

// file is a custos.toml that gives keys of one section a value, and the line of each.
func file(section string, keys []string, value string) (text string, lines map[string]int) {
	text = "# a remark\n"
	switch section {
	case "":
	case "agents.places":
		text += "[[agents.places]]\n"
	case "mail.NAME":
		text += "[mail.HELP]\n"
	default:
		text += "[" + section + "]\n"
	}
	for _, line := range strings.SplitAfter(around()[section], "\n") {
		if name, _, _ := strings.Cut(line, " ="); !slices.Contains(keys, name) {
			text += line
		}
	}
	lines = map[string]int{}
	for _, key := range keys {
		lines[key] = strings.Count(text, "\n") + 1
		text += key + " = " + value + "\n"
	}
	return text, lines
}

// answerTo is what is said of a configuration; nil when it is good.
func answerTo(t *testing.T, text string) error {
	t.Helper()
	cfg, err := config.Load(config.Options{Sections: Sections(), ReadFile: func(string) ([]byte, error) { return []byte(text), nil }})
	if err != nil {
		return err
	}
	if err := readAll(cfg); err != nil {
		return &config.Mistake{Err: err}
	}
	return nil
}

// readAll reads every section as build does, without the rules, which read none and
// take long.
func readAll(cfg config.Config) error {
	w, err := catalog.NewWorld(cfg, os.Getenv, io.Discard, "test")
	if err != nil {
		return err
	}
	s := &system{cfg: cfg, world: w, o: Options{Log: slog.New(slog.DiscardHandler)}}
	s.ledger = &ledgerFile{cfg: cfg, started: w.StartedAt}
	if s.formulas, err = newFormulary(cfg, w.Kinds.Names(), newCodeShelf(cfg, nothingPinned)); err != nil {
		return err
	}
	if s.timetable, err = newTimetable(cfg, s.formulas, func(string, ...any) {}); err != nil {
		return err
	}
	if s.plugins, err = newPluginShelf(cfg, s.formulas, func(string, ...any) {}); err != nil {
		return err
	}
	s.know(0)
	readers := []func() error{
		func() error { _, err := catalog.Limits(cfg); return err },
		func() error { _, err := catalog.Triage(cfg); return err },
		func() error { _, err := catalog.Handoff(cfg); return err },
		func() error { _, err := catalog.Pools(cfg, w.Kinds); return err },
		func() error { _, err := mailActions(cfg); return err },
		func() error { _, err := catalog.Interpreter(cfg); return err },
		func() error { _, err := catalog.Coordination(cfg); return err },
		func() error { _, err := catalog.Probes(w); return err },
		func() error { _, err := catalog.Actions(w); return err },
		func() error { _, err := catalog.NewPeople(w, io.Discard); return err },
		func() error { _, err := catalog.Ops(w); return err },
		func() error { _, err := newGauges(w); return err },
		func() error { _, _, err := catalog.Webhook(w); return err },
	}
	for _, read := range readers {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

var (
	placed   = regexp.MustCompile(`^cannot read \S+custos\.toml:[1-9]\d*: `)
	goWords  = regexp.MustCompile(`unmarshal|Go struct|Go value|\[\]string|\[\]interface|map\[|time\.|strconv|parsing |toml: |int64|float64|syntax error in pattern`)
	meantOne = regexp.MustCompile(`"([^"]*)"[^"]*, did you mean "([^"]*)"`)
)

// saidPlainly looks for what no refusal may be: without its place, in the words of the
// language that Custos is written in, or a guess that is the word itself.
func saidPlainly(err error) (fault string) {
	var mistake *config.Mistake
	if !errors.As(err, &mistake) {
		return "is no mistake of the configuration: its command does not end with 2"
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		if !placed.MatchString(line) {
			return "has no file and line"
		}
		if w := goWords.FindString(line); w != "" {
			return "speaks Go: " + w
		}
		if m := meantOne.FindStringSubmatch(line); m != nil && m[1] == m[2] {
			return "guesses the word itself"
		}
	}
	return ""
}

// TestEveryKeyRefusesWhatItIsNot: each key of docs/config.md is one, and refuses what no
// key is; whatever it refuses is said with file and line, in plain words.
func TestEveryKeyRefusesWhatItIsNot(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("T", "secret")
	all := map[string][]string{}
	for _, k := range configKeys(t) {
		all[k.section] = append(all[k.section], k.key)
	}
	if len(all) < 40 {
		t.Fatalf("docs/config.md has keys of %d sections", len(all))
	}
	for section, keys := range all {
		for _, value := range []string{"1979-05-27", "-5", "nan"} {
			refusesEach(t, section, keys, value)
		}
		for _, value := range []string{"9223372036854775807", `"-5m"`, `["a b", ""]`, "{ a = 1 }", `""`, "[]", "0"} {
			text, _ := file(section, keys, value)
			plainly(t, section+" = "+value, answerTo(t, text))
		}
		for _, key := range keys {
			text, _ := file(section, []string{key}, `"ä 💥"`)
			plainly(t, section+"."+key, answerTo(t, text))
		}
	}
}

// refusesEach gives every key of a section a value that none takes, in one file.
func refusesEach(t *testing.T, section string, keys []string, value string) {
	text, lines := file(section, keys, value)
	err := answerTo(t, text)
	plainly(t, section+" = "+value, err)
	for _, key := range keys {
		of := regexp.MustCompile(fmt.Sprintf(`(?m)^.*custos\.toml:%d: (.*)$`, lines[key]))
		m := of.FindStringSubmatch(fmt.Sprint(err))
		if m == nil || strings.Contains(m[1], "unknown key") {
			t.Errorf("[%s] %s = %s: not refused at line %d, or unknown: %v", section, key, value, lines[key], m)
		}
	}
}

func plainly(t *testing.T, what string, err error) {
	if err == nil {
		return
	}
	if fault := saidPlainly(err); fault != "" {
		t.Errorf("%s: what is said %s: %v", what, fault, err)
	}
}
