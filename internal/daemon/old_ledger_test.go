package daemon_test

import (
	"compress/gzip"
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

// olds are the commits whose programs made what lies in testdata/old, each in a world of
// its own: two agents at work, work, gates, convoys, mail, a trigger, silences, and runs of
// formulas, by hand and by a schedule. Of each, the run that goes on.
var olds = map[string]string{"e7223a3": "nightly-b341c13f", "d56459e": "nightly-704833d8"}

// TestALedgerOfAnOlderCustosGoesOn: everything is still there, passes run, and each noun
// can be changed.
func TestALedgerOfAnOlderCustosGoesOn(t *testing.T) {
	for commit, run := range olds {
		t.Run(commit, func(t *testing.T) {
			dir := t.TempDir()
			oldState(t, dir, commit)
			for _, step := range oldSteps {
				args := strings.Fields(strings.ReplaceAll(step.do, "RUN", run))
				out, code := says(t, dir, args...)
				for _, want := range step.says {
					if !regexp.MustCompile(strings.ReplaceAll(want, "RUN", run)).MatchString(out) {
						t.Errorf("custos %s does not say %q:\n%s", step.do, want, out)
					}
				}
				if code != 0 {
					t.Errorf("custos %s ended with %d:\n%s", step.do, code, out)
				}
			}
		})
	}
}

// TestARecordingOfAnOlderCustosIsRead: it is judged like one of today.
func TestARecordingOfAnOlderCustosIsRead(t *testing.T) {
	for commit := range olds {
		dir := t.TempDir()
		lay(t, dir, "custos.toml", "")
		lay(t, dir, "old.json", unzipped(t, commit+".recording.json.gz"))
		out, code := says(t, dir, "plan", "--recording", filepath.Join(dir, "old.json"))
		if code != 0 || !strings.Contains(out, "gate g6  open → closed") || !strings.Contains(out, "mail m4  new → told") {
			t.Errorf("%s: plan ended with %d and said\n%s", commit, code, out)
		}
	}
}

// TestARecordingWithBrokenRules: what is said is about the recording, and no file of rules.
func TestARecordingWithBrokenRules(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, "custos.toml", "")
	for commit := range olds {
		lay(t, dir, "old.json", strings.Replace(unzipped(t, commit+".recording.json.gz"), `"rules": "[rule]`, `"rules": "[rule`, 1))
		out, code := says(t, dir, "plan", "--recording", filepath.Join(dir, "old.json"))
		if code != 2 || !strings.Contains(out, "cannot read the recording's rules:1: ") {
			t.Errorf("%s: plan ended with %d and said\n%s", commit, code, out)
		}
	}
}

// oldSteps are commands, and what each says.
var oldSteps = []struct {
	do   string
	says []string
}{
	{"patrol", []string{`Patrol 4`, `convoy c1 +convoy-stranded`}}, // it brings the tables up to date: until then looks are refused
	{"work list --all", []string{`w1 +P2 +in progress +root +Mend the uploader`, `w2 +P3 +waits +w1 shop#12 +Release`, `w3 +P3 +closed +Old thing`}},
	{"gate list --all", []string{`g1 +human +waits +builder`, `g2 +timer +waits`, `g3 +event +waits`, `g4 +condition`, `g5 +mail +waits`, `g6 +gh:pr`, `g7 +human +passed +Closed +read and approved`}},
	{"convoy list --all", []string{`c1 +open +0 of 3 closed`, `c2 +done +1 of 1 closed`}},
	{"mail inbox", []string{`m1 +P3 +told .* Convoy done: c2`}},
	{"formula ps --all", []string{`hello-2026\S+ +done +1/1`, `RUN +needs a person +1/3`, `hello-\w{8} +done`}},
	{"schedule list", []string{`hello +hello +every 20h`, `night +nightly +cron`}},
	{"show builder", []string{`task +T-1`, `instance +a\w{15}`, `The port is 8080 now: use it`}},
	{"show helper", []string{`parent +builder`}},
	{"orders", []string{`not`}},

	{"work close w1 --why mended", []string{`w1 is closed`}},
	{"work reopen w3", []string{`w3 `}},
	{"work dep w3 --needs w1 --drop", nil},
	{"work dep w3 --needs w2", []string{`w3`}},
	{"gate close g1 --why approved", []string{`g1 passed`}},
	{"trigger deployed", []string{`t2: deployed`}},
	{"convoy add c1 w3", []string{`c1`}},
	{"mail read m1", []string{`All 1 members of convoy c2`}},
	{"mail send helper Noon", []string{`m\d+ to helper`}},
	{"silence agent/builder --for 1h", []string{`Silenced until`}},
	{"pause builder", nil},
	{"formula cancel RUN", []string{`RUN`}},
	{"patrol", []string{`Patrol 5`}},
	{"patrol", []string{`Patrol 6`}},

	{"work list --all", []string{`w1 +P2 +closed`, `w3 +P3 +waits +w2`}},
	{"gate list --all", []string{`g1 +human +passed`, `g3 +event +passed`}},
	{"convoy list --all", []string{`c1 +open +1 of 4 closed`}},
	{"formula ps --all", []string{`RUN +cancelled`}},
	{"show builder", []string{`paused`}},
	{"work add Anew", []string{`w4: Anew`}},
	{"gate add human Anew", []string{`g8 `}},
	{"convoy create Anew w4", []string{`c3 `}},
}

// oldState is a state folder with an old ledger, as if it had been written just now.
func oldState(t *testing.T, dir, commit string) {
	t.Helper()
	lay(t, dir, "custos.toml", "state_dir = \""+dir+"/state\"\njournal_dir = \""+dir+"/journal\"\n[schedule.night]\nformula = \"nightly\"\ncron = \"0 3 * * *\"\n")
	lay(t, dir, "formulas/nightly.toml", "name = \"nightly\"\n[[steps]]\nid = \"build\"\nrun = \"echo built\"\n")
	lay(t, dir, "formulas/hello.toml", "name = \"hello\"\n[[schedule]]\nevery = \"20h\"\n[[steps]]\nid = \"measure\"\nrun = \"echo 1\"\n")
	if err := os.Mkdir(filepath.Join(dir, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "state", "custos.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(asOfNow(unzipped(t, commit+".ledger.sql.gz")) + "PRAGMA user_version = 6;"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// lay writes a file below dir.
func lay(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func unzipped(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "old", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var moment = regexp.MustCompile(`2026-1[12]-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// asOfNow moves every moment of a dump by what lies between its making and now. It was
// written by another boot, whatever this one is.
func asOfNow(dump string) string {
	dump = strings.ReplaceAll(dump, "9d15af4d-d18e-4554-ba00-c1ed79b5d357", "the boot before")
	by := time.Since(time.Date(2026, 11, 23, 17, 20, 0, 0, time.UTC))
	return moment.ReplaceAllStringFunc(dump, func(text string) string {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return text
		}
		return at.Add(by).UTC().Format("2006-01-02T15:04:05.000000000Z")
	})
}
