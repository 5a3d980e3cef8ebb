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

// keysElsewhere reads the pages that have the keys of [triage], and of a kind.
func keysElsewhere(t *testing.T) (keys []configKey) {
	t.Helper()
	table := regexp.MustCompile("(?m)^\\| ((?:`[a-z_.]+`(?:, )?)+) \\|")
	for _, at := range []struct{ file, from, to, section string }{
		{"triage.md", "## `[triage]`", "## `[triage.judge]`", "triage"},
		{"triage.md", "## `[triage.judge]`", "Code: ", "triage.judge"},
		{"adding-a-kind.md", "## The keys", "**Title marks**", "kind.NAME"},
		{"adding-a-kind.md", "**How it is started**", "**Dialogs**", "kind.NAME.launch"},
		{"rules.md", "| key | meaning |", "Durations are written", "rule.name"},
	} {
		page, err := os.ReadFile("../../docs/" + at.file)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(page), at.from)
		part, _, _ := strings.Cut(rest, at.to)
		for _, row := range table.FindAllStringSubmatch(part, -1) {
			for _, key := range strings.Split(row[1], ", ") {
				keys = append(keys, configKey{at.section, strings.Trim(key, "`")})
			}
		}
	}
	for section, all := range marks() {
		for _, key := range strings.Fields(all) {
			if !strings.Contains(string(kindPage(t)), "`"+key+"`") {
				t.Errorf("docs/adding-a-kind.md does not name %s of %s", key, section)
			}
			keys = append(keys, configKey{section, key})
		}
	}
	return keys
}

func kindPage(t *testing.T) []byte {
	t.Helper()
	page, err := os.ReadFile("../../docs/adding-a-kind.md")
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// marks are the keys of a kind that its page tells in prose.
func marks() map[string]string {
	return map[string]string{
		"kind.NAME.title":         "state says match",
		"kind.NAME.screen":        "state says ends",
		"kind.NAME.dialog":        "id says ends default",
		"kind.NAME.dialog.choice": "name keys match",
		"kind.NAME.composer":      "ends placeholder",
	}
}

// lists are the sections that may stand several times.
func lists() []string {
	return []string{"agents.places", "kind.NAME.title", "kind.NAME.screen", "kind.NAME.dialog", "merge.NAME.gate", "merge.NAME.regenerate"}
}

// around is what else a section needs before one of its keys can be read.
func around() map[string]string {
	const token = "token_env = \"T\"\n"
	return map[string]string{
		"agents.places":     "path = \"/w/{name}\"\nrole = \"worker\"\n",
		"heartbeat.NAME":    "agent = \"a\"\nevery = \"1m\"\n",
		"schedule.NAME":     "formula = \"patrol\"\nevery = \"1h\"\n",
		"mail.NAME":         "work = \"close\"\n",
		"budget.NAME":       "usd = 1\ntokens = 1\nscope = \"agent\"\n",
		"prices.NAME":       "input = 1\noutput = 1\n",
		"pool.NAME":         "kind = \"claude\"\nprompt = \"work\"\nrepo = \"/w\"\n",
		"notifier.NAME":     "type = \"telegram\"\nchat = \"-100\"\n" + token,
		"route.NAME":        "to = [\"terminal\"]\n",
		"maintenance.NAME":  "cron = \"0 2 * * *\"\nfor = \"1h\"\n",
		"metrics":           "listen = \"127.0.0.1:9911\"\n",
		"publish":           "socket = \"/nowhere/s\"\ntoken_env = \"T\"\n",
		"webhook":           "listen = \"127.0.0.1:9912\"\nsecret_env = \"T\"\n",
		"web":               "listen = \"127.0.0.1:9913\"\n",
		"journal":           "ops_repo = \"/\"\n",
		"forge.NAME":        "kind = \"gitea\"\nurl = \"https://x.example\"\nrepo = \"a/b\"\n" + token,
		"ci.NAME":           "kind = \"woodpecker\"\nurl = \"https://x.example\"\nrepo = \"a/b\"\n" + token,
		"probe.NAME":        "run = [\"true\"]\n",
		"rule.name":         "priority = \"P4\"\nover = \"host\"\nexpr = \"true\"\n",
		"agents.roles.ROLE": "start = [\"true\"]\n",
	}
}

// file is a custos.toml that gives keys of one section a value, and the line of each.
func file(section string, keys []string, value string) (text string, lines map[string]int) {
	text = "# a remark\n"
	switch {
	case section == "":
	case section == "kind.NAME.dialog.choice":
		text += "[[kind.NAME.dialog]]\n[[kind.NAME.dialog.choice]]\n"
	case slices.Contains(lists(), section):
		text += "[[" + section + "]]\n"
	case section == "mail.NAME":
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
	if err := readKeys(cfg); err != nil {
		return &config.Mistake{Err: err}
	}
	return nil
}

// oneRule is a table of rules that is soon read.
const oneRule = "[rule.host-load]\npriority = \"P2\"\nover = \"host\"\nexpr = \"true\"\n"

// readKeys reads every section as build does, and the rules of the file without those
// that Custos comes with, which read no section and take long.
func readKeys(cfg config.Config) error {
	w, err := catalog.NewWorld(cfg, os.Getenv, io.Discard, "test")
	if err != nil {
		return err
	}
	s := &system{cfg: cfg, world: w, o: Options{Log: slog.New(slog.DiscardHandler)}}
	s.ledger = &ledgerFile{cfg: cfg, started: w.StartedAt}
	if _, err := s.readAll(as{tell: io.Discard}); err != nil {
		return err
	}
	_, err = parseRules(cfg, oneRule)
	return err
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
	for _, k := range append(configKeys(t), keysElsewhere(t)...) {
		all[k.section] = append(all[k.section], k.key)
	}
	if len(all) < 44 || len(all["rule.name"]) < 16 || len(all["kind.NAME"]) < 20 || len(all["kind.NAME.launch"]) < 9 || len(all["triage"]) < 11 {
		t.Fatalf("the pages have keys of %d sections: %v", len(all), all)
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

// TestKeysThatDoNotGoTogether: what several keys say together is told at the line of
// one of them, and a name that is nearly known is guessed.
func TestKeysThatDoNotGoTogether(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	for text, want := range map[string]string{
		"[schedule.x]\nformula = \"patrol\"\nevery = \"1h\"\ncron = \"1 1 1 1 1\"":                `4: [schedule.x]: cannot use schedule "x": not allowed: it must have exactly one of every, cron, on and when`,
		"[schedule.x]\nformula = \"patrol\"\nevery = \"1h\"\nhosts = \"one\"":                     `5: [schedule.x]: cannot use schedule "x": not allowed: hosts = "one" needs cron: no other time is the same on each host`,
		"[schedule.x]\nformula = \"patrol\"\nhosts = \"two\"":                                     `4: [schedule.x] hosts: "two" is neither each nor one`,
		"[schedule.x]\n\nformula = \"patrol\"\nproject = \"nope\"\nevery = \"1h\"":                `5: [schedule.x] project: there is no project "nope" in [formulas] projects`,
		"[pool.x]\nkind = \"claude\"\nprompt = \"x\"\nrepo = \"/w\"\nlost_after = \"1h\"":         `6: [pool.x] lost_after needs hosts = "one": each host starts its own workers otherwise`,
		"[pool.x]\nkind = \"claude\"\nprompt = \"x\"\nrepo = \"/w\"\nmin = 5\nmax = 2":            `6: [pool.x] min = 5 and max = 2`,
		"[notifier.x]\ntype = \"telegram\"\nchat = \"1\"\ntoken_env = \"A\"\ntoken_file = \"/b\"": `6: [notifier.x] token_file, token_command, token_env: want exactly one`,
		"[triage.judge]\nkind = \"command\"":                                                      `3: [triage] `,
		"[triage.judge]\nmodel = \"x\"\nkind = \"anthropic\"\nkey.env = \"A\"\nkey.file = \"/x\"": `6: [triage] `,
		"[web]\nlisten = \"0.0.0.0:7777\"":                                                        `3: [web] listen: "0.0.0.0:7777" is reached by other machines: give tls_cert and tls_key, name the proxy`,
		"[web]\nlisten = \"[::]:7777\"\ntls_cert = \"/x\"":                                        `4: [web] tls_key: want the key that belongs to tls_cert`,
		"[web]\nlisten = \"0.0.0.0:7777\"\nbehind_proxy = \"http://box.example\"":                 `4: [web] behind_proxy: "http://box.example" is not how a browser calls the proxy, like "https://box.example"`,
		"[web]\nnames = [\"box:80\"]":                                                             `3: [web] names: "box:80" is no name of a machine, like "box.example", without a port`,
		"[mail.HELP]\n\nwork = \"cloes\"":                                                         `4: [mail.HELP] work: "cloes" is none of add, close, reopen, release, did you mean "close"?`,
		"[mail.HELPP]\nwork = \"close\"":                                                          `2: [mail.HELPP]: there is no type of mail "HELPP", did you mean "HELP"?`,
		"[handoff]\n\ndeadline = \"1s\"":                                                          `4: [handoff] deadline: 1s is too short`,
		"[rule.host-lod]\n\nenabled = false":                                                      `2: there is no rule "host-lod", did you mean "host-load"?`,
		"[rule.of-my-own-making]\npriority = \"P1\"\nexpr = \"true\"":                             `2: rule "of-my-own-making" has no over`,
		"[kind.claud]\ndisabled = true":                                                           `2: there is no kind "claud", did you mean "claude"?`,
		"[kind.mine]\nregistry = \"x\"":                                                           `2: kind "mine" matches no process: give it names, titles, programs, scripts or modules`,
		"[kind.claude]\n\nsilent_title = \"idel\"":                                                `4: kind "claude": silent_title: state "idel" cannot be told by a mark`,
	} {
		err := answerTo(t, "# a remark\n"+text+"\n")
		plainly(t, text, err)
		if _, said, _ := strings.Cut(fmt.Sprint(err), "custos.toml:"); !strings.HasPrefix(said, want) {
			t.Errorf("%s:\n%v\nwant\n%s", text, err, want)
		}
	}
}
